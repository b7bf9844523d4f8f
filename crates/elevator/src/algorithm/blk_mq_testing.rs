//! Random tests of the blk-mq schedulers: requests, merges, priorities and devices from a small
//! generator. Keeps the block layer's part of the contract and checks the elevator's.

use std::collections::BTreeMap;

use crate::kind::{Build, ElevatorKind};
use crate::request::{BlockRequest, Finished, PrioClass, Priority};
use crate::scheduler::{Elevator, InsertAt, Merge, NoDisk};
use crate::testing::request;
use crate::vocabulary::{Op, Time};

/// A linear congruential generator; use its high bits.
pub(super) struct Lcg(pub(super) u64);

impl Lcg {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) inserted: u64,
    pub(super) dispatched: u64,
    pub(super) merged: u64,
    pub(super) coalesced: u64,
    pub(super) timers: u64,
    pub(super) end: Time,
}

struct Drive<'a> {
    elevator: &'a mut dyn Elevator,
    random: Lcg,
    now: Time,
    held: BTreeMap<u32, BlockRequest>,
    flying: Vec<Finished>,
    free: Vec<u32>,
    seq: u64,
    totals: Totals,
}

/// Twice the depth, but enough for merges.
fn nr_tags(depth: u32) -> u32 {
    (2 * depth).max(24)
}

pub(super) fn make(row: &ElevatorKind, depth: u32, rotational: bool) -> Box<dyn Elevator> {
    (row.build)(&Build {
        nr_tags: nr_tags(depth),
        queue_depth: depth,
        rotational,
        ..Build::default()
    })
}

/// Ends drained.
pub(super) fn drive(elevator: &mut dyn Elevator, depth: u32, seed: u64, count: u64) -> Totals {
    let mut drive = Drive {
        elevator,
        random: Lcg(seed),
        now: Time::from_ns(1),
        held: BTreeMap::new(),
        flying: Vec::new(),
        free: (0..nr_tags(depth)).rev().collect(),
        seq: 0,
        totals: Totals::default(),
    };
    let mut left = count;
    while left > 0 || !drive.held.is_empty() || !drive.flying.is_empty() {
        drive.now = drive.now + drive.random.below(3_000_000);
        drive.timers();
        let arrivals = drive.random.below(4).min(left);
        for _ in 0..arrivals {
            if !drive.free.is_empty() {
                drive.arrive();
                left -= 1;
            }
        }
        drive.fill(depth);
        if drive.random.below(3) > 0 {
            drive.finish_one();
            drive.fill(depth);
        }
        if drive.flying.is_empty() && !drive.held.is_empty() {
            let timer = drive
                .elevator
                .next_timer()
                .expect("a scheduler that idles with nothing in flight has a timer");
            drive.now = drive.now.max(timer);
            drive.timers();
            drive.fill(depth);
        }
        if drive.random.below(50) == 0 {
            let process = drive.random.below(5) as u32;
            drive.elevator.exited(drive.now, process);
        }
        assert_eq!(drive.elevator.len(), drive.held.len(), "held requests are counted");
    }
    drive.totals.end = drive.now;
    drive.totals
}

impl Drive<'_> {
    fn timers(&mut self) {
        for _ in 0..3 {
            if self.elevator.next_timer().is_some_and(|timer| timer <= self.now) {
                self.elevator.on_timer(self.now);
                self.totals.timers += 1;
            }
        }
        assert!(
            self.elevator.next_timer().is_none_or(|timer| timer > self.now),
            "a timer that has fired is over"
        );
    }

    fn bio(&mut self) -> BlockRequest {
        let random = &mut self.random;
        let near =
            self.held.values().nth(random.below(self.held.len().max(1) as u64) as usize).copied();
        let nr_sectors = 1 + random.below(64) as u32;
        let (op, sector) = match (near, random.below(4)) {
            (Some(near), 0) => (near.op, near.end()),
            (Some(near), 1) => (near.op, near.sector.saturating_sub(u64::from(nr_sectors))),
            _ => {
                (if random.below(3) == 0 { Op::Write } else { Op::Read }, random.below(100_000) * 8)
            }
        };
        let class = match random.below(12) {
            0 => PrioClass::RealTime,
            1 => PrioClass::Idle,
            _ => PrioClass::BestEffort,
        };
        let priority =
            Priority { class, level: if random.below(4) == 0 { random.below(8) as u8 } else { 4 } };
        let priority = near
            .map_or(priority, |near| if random.below(3) > 0 { near.priority } else { priority });
        let process = random.below(6) as u32;
        let sync = op == Op::Read || random.below(2) == 0;
        let meta = random.below(8) == 0;
        BlockRequest {
            process,
            op,
            sector,
            nr_sectors,
            sync,
            meta,
            priority,
            allocated: self.now,
            ..request(0, 0)
        }
    }

    fn arrive(&mut self) {
        let bio = self.bio();
        let touching = self.held.values().copied().find_map(|held| {
            let how = if held.end() == bio.sector {
                Merge::Back
            } else if bio.end() == held.sector {
                Merge::Front
            } else {
                return None;
            };
            let fits = held.op == bio.op && held.nr_sectors + bio.nr_sectors <= 1024;
            (fits && self.elevator.allow_merge(&held, &bio, how)).then_some((held, how))
        });
        match touching {
            Some((held, how)) => self.join(held, &bio, how),
            None => {
                let tag = self.free.pop().expect("a tag is free");
                let new = BlockRequest { tag, seq: self.seq, ..bio };
                let at = if self.random.below(40) == 0 { InsertAt::Head } else { InsertAt::Sorted };
                self.seq += 1;
                self.totals.inserted += 1;
                self.held.insert(tag, new);
                self.elevator.insert(self.now, &new, at);
            }
        }
    }

    fn join(&mut self, held: BlockRequest, bio: &BlockRequest, how: Merge) {
        let sector = if how == Merge::Back { held.sector } else { bio.sector };
        let grown = self.grow(held, sector, bio.nr_sectors);
        self.totals.merged += 1;
        let neighbour = self.held.values().copied().find(|other| {
            let fits = other.op == grown.op && other.nr_sectors + grown.nr_sectors <= 1024;
            fits && other.sector == grown.end()
                && self.elevator.allow_merge(&grown, other, Merge::Back)
        });
        if let Some(gone) = neighbour {
            self.held.remove(&gone.tag);
            self.elevator.coalesced(self.now, &grown, &gone);
            self.grow(grown, grown.sector, gone.nr_sectors);
            self.free.push(gone.tag);
            self.totals.coalesced += 1;
        }
    }

    fn grow(&mut self, before: BlockRequest, sector: u64, by: u32) -> BlockRequest {
        let after = BlockRequest { sector, nr_sectors: before.nr_sectors + by, ..before };
        self.held.insert(before.tag, after);
        self.elevator.merged(self.now, &before, &after);
        after
    }

    fn fill(&mut self, depth: u32) {
        while self.flying.len() < depth as usize {
            let Some(tag) = self.elevator.dispatch(self.now, &NoDisk) else {
                assert_eq!(
                    self.elevator.dispatch(self.now, &NoDisk),
                    None,
                    "asking again changes nothing"
                );
                return;
            };
            let request = self.held.remove(&tag).expect("what is dispatched is held");
            self.flying.push(Finished { request, issued: self.now });
            self.totals.dispatched += 1;
        }
    }

    fn finish_one(&mut self) {
        if !self.flying.is_empty() {
            let at = self.random.below(self.flying.len() as u64) as usize;
            let done = self.flying.swap_remove(at);
            self.elevator.complete(self.now, &done);
            self.free.push(done.request.tag);
        }
    }
}

/// Runs a row with several depths, device kinds and seeds.
pub(super) fn check_random_drives(row: &ElevatorKind) {
    let mut coalesced = 0;
    for (depth, rotational) in [(1, true), (1, false), (32, true), (32, false)] {
        for seed in 0..12 {
            let run = || drive(make(row, depth, rotational).as_mut(), depth, seed, 600);
            let totals = run();
            assert_eq!(
                totals.inserted,
                totals.dispatched + totals.coalesced,
                "{} at depth {depth}, seed {seed}",
                row.name
            );
            assert!(totals.merged > 5, "merges happen: {totals:?}");
            assert_eq!(totals, run(), "the same input gives the same output");
            coalesced += totals.coalesced;
        }
    }
    assert!(coalesced > 0, "requests are taken into neighbours");
}

/// Runs a row with both ends of every tunable's range.
pub(super) fn check_extremes(row: &ElevatorKind) {
    for tunable in row.tunables {
        for value in [tunable.min, tunable.max] {
            for (depth, rotational) in [(1, true), (32, false)] {
                let mut elevator = make(row, depth, rotational);
                let default = elevator.get(tunable.name);
                assert!(
                    (tunable.min..=tunable.max).contains(&default),
                    "{}: {default}",
                    tunable.name
                );
                elevator.set(tunable.name, value);
                assert_eq!(elevator.get(tunable.name), value, "{}", tunable.name);
                let totals = drive(elevator.as_mut(), depth, value, 300);
                assert_eq!(totals.inserted, totals.dispatched + totals.coalesced);
            }
        }
    }
}
