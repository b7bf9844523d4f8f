//! What the schedulers of the literature have in common, so that the file of each holds its rule and nothing else.
//!
//! Textbooks know a queue and an arm: which of the waiting requests is next? The rest (merges, requeued requests, where the
//! arm is) is bookkeeping that the books leave out, and it is the same for all of them. [`Textbook`] does it around a [`Rule`].
//!
//! Distances are in cylinders of the configured geometry; without one, sectors stand for cylinders. Evidence: the tie-break
//! and everything about merges are our proposal. The arm is where the last dispatched request ended, which is all that a host
//! can know: it cannot see that the drive has reordered its queue.

use std::fmt;

use crate::geometry::Geometry;
use crate::kind::Build;
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator, InsertAt};
use crate::vocabulary::Time;

/// A request that waits, with what a rule may want to know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) request: BlockRequest,
    /// Position of its first sector.
    pub(crate) position: u64,
    /// Order of arrival. A request that took a neighbour in has the earlier of the two.
    pub(crate) rank: u64,
    /// When the oldest part of it was handed to the queue.
    pub(crate) since: Time,
    /// It was sent before and came back; it goes before all others and no rule sees it.
    requeued: bool,
}

/// Where the arm is, as far as the host can tell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arm {
    /// Position of the last sector of the last dispatched request; distances count from here.
    pub(crate) head: u64,
    /// Position of its first sector; what a sweep has reached. It differs from `head` for a request that crosses a cylinder
    /// border; comparing starts with starts keeps the order of a sweep ascending even if requests overlap.
    pub(crate) start: u64,
    /// Number of positions: cylinders, or, without a geometry, the end of the highest request that was seen.
    pub(crate) positions: u64,
}

/// What a rule decides upon.
pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) arm: Arm,
    table: &'a [Option<Held>],
}

impl View<'_> {
    pub(crate) fn held(&self, tag: u32) -> &Held {
        self.table[tag as usize].as_ref().expect("a rule keeps tags of held requests only")
    }
}

/// The rule of a scheduler: keeps tags in an order that suits it, and names the next.
pub(crate) trait Rule: fmt::Debug + Send {
    fn insert(&mut self, held: &Held);

    /// Takes out what was inserted with the same position and rank.
    fn remove(&mut self, held: &Held);

    /// The tag of the next request. Called only while there is one; [`Rule::remove`] follows.
    fn choose(&mut self, view: &View<'_>) -> u32;

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("this scheduler has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("this scheduler has no tunable {tunable}")
    }
}

/// An elevator around a rule.
#[derive(Debug)]
pub(crate) struct Textbook<R> {
    rule: R,
    geometry: Geometry,
    arm: Arm,
    /// By tag.
    table: Vec<Option<Held>>,
    /// Tags of requests that came back, the next one last. Nearly always empty.
    requeued: Vec<u32>,
    len: usize,
    arrived: u64,
}

impl<R: Rule + 'static> Textbook<R> {
    pub(crate) fn boxed(build: &Build, rule: R) -> Box<dyn Elevator> {
        let geometry = build.geometry.clone();
        let arm = Arm { positions: geometry.cylinders, ..Arm::default() };
        let table = vec![None; build.nr_tags as usize];
        Box::new(Textbook { rule, geometry, arm, table, requeued: Vec::new(), len: 0, arrived: 0 })
    }
}

impl<R: Rule> Textbook<R> {
    fn position(&self, sector: u64) -> u64 {
        if self.has_arm() { self.geometry.cylinder(sector) } else { sector }
    }

    fn has_arm(&self) -> bool {
        self.geometry.cylinders > 0 && self.geometry.sectors_per_cylinder > 0
    }

    /// Holds it, in the rule's order unless it was requeued.
    fn put(&mut self, held: Held) {
        if !self.has_arm() {
            self.arm.positions = self.arm.positions.max(held.request.end());
        }
        let tag = held.request.tag as usize;
        if self.table.len() <= tag {
            self.table.resize(tag + 1, None);
        }
        assert!(self.table[tag].is_none(), "a tag is held once: {:?}", held.request);
        if !held.requeued {
            self.rule.insert(&held);
        }
        self.table[tag] = Some(held);
        self.len += 1;
    }

    /// Lets go of it. Whoever takes a requeued one sees to `requeued`.
    fn take(&mut self, tag: u32) -> Held {
        let held = self.table[tag as usize].take().expect("the request is held");
        if !held.requeued {
            self.rule.remove(&held);
        }
        self.len -= 1;
        held
    }
}

impl<R: Rule> Elevator for Textbook<R> {
    fn insert(&mut self, _now: Time, request: BlockRequest, at: InsertAt) {
        let requeued = at == InsertAt::Head;
        if requeued {
            self.requeued.push(request.tag);
        }
        let position = self.position(request.sector);
        self.put(Held { request, position, rank: self.arrived, since: request.allocated, requeued });
        self.arrived += 1;
    }

    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest> {
        if self.len == 0 {
            return None;
        }
        let tag = match self.requeued.pop() {
            Some(tag) => tag,
            None => self.rule.choose(&View { now, disk, arm: self.arm, table: &self.table }),
        };
        let held = self.take(tag);
        self.arm.start = held.position;
        self.arm.head = self.position(held.request.end() - 1);
        Some(held.request)
    }

    fn complete(&mut self, _now: Time, _done: &Finished) {}

    fn len(&self) -> usize {
        self.len
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let held = self.take(before.tag);
        let since = held.since.min(after.allocated);
        self.put(Held { request: *after, position: self.position(after.sector), since, ..held });
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (kept, gone) = (self.take(survivor.tag), self.take(gone.tag));
        match (kept.requeued, gone.requeued) {
            (_, false) => {}
            (false, true) => {
                let at = self.requeued.iter().position(|tag| *tag == gone.request.tag);
                self.requeued[at.expect("a requeued request is in the list")] = kept.request.tag;
            }
            (true, true) => {
                // The one nearer to the end of the list is the earlier; both names stand for the survivor from now on.
                let pair = [kept.request.tag, gone.request.tag];
                let later = self.requeued.iter().position(|tag| pair.contains(tag));
                self.requeued.remove(later.expect("both requests are in the list"));
                let left = self.requeued.iter_mut().find(|tag| pair.contains(tag));
                *left.expect("one of both is left") = kept.request.tag;
            }
        }
        let (rank, since) = (kept.rank.min(gone.rank), kept.since.min(gone.since));
        self.put(Held { rank, since, requeued: kept.requeued || gone.requeued, ..kept });
    }

    fn get(&self, tunable: &str) -> u64 {
        self.rule.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.rule.set(tunable, value);
    }
}

/// What the tests of these schedulers share: the textbook's queue, and a drive to play it on.
#[cfg(test)]
pub(crate) mod vectors {
    use super::*;
    use crate::kind::ElevatorKind;
    use crate::scheduler::NoDisk;
    use crate::testing::request;

    /// Sectors of a cylinder in tests: not 1, so that sectors taken for cylinders are seen.
    pub(crate) const PER_CYLINDER: u64 = 10;

    /// The textbook's queue in order of arrival: cylinders 0 to 199, head at 53.
    pub(crate) const QUEUE: [u64; 8] = [98, 183, 37, 122, 14, 124, 65, 67];

    pub(crate) fn drive(cylinders: u64) -> Build {
        let sectors_per_cylinder = if cylinders == 0 { 0 } else { PER_CYLINDER };
        let geometry = Geometry { cylinders, sectors_per_cylinder, ..Geometry::default() };
        Build { geometry, ..Build::default() }
    }

    /// A scheduler whose last request was at `head` (a cylinder; a sector on a drive without), tunables set afterwards.
    pub(crate) fn at(row: &ElevatorKind, cylinders: u64, head: u64, set: &[(&str, u64)]) -> Box<dyn Elevator> {
        let mut elevator = (row.build)(&drive(cylinders));
        elevator.insert(Time::ZERO, cylinder(99, head, cylinders), InsertAt::Sorted);
        elevator.dispatch(Time::ZERO, &NoDisk).expect("the only request");
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        elevator
    }

    /// A request of one sector in this cylinder.
    pub(crate) fn cylinder(tag: u32, at: u64, cylinders: u64) -> BlockRequest {
        let sector = if cylinders == 0 { at } else { at * PER_CYLINDER + u64::from(tag) % PER_CYLINDER };
        BlockRequest { nr_sectors: 1, ..request(tag, sector) }
    }

    /// What is left, in the order in which it is dispatched.
    pub(crate) fn drain(elevator: &mut dyn Elevator) -> Vec<BlockRequest> {
        std::iter::from_fn(|| elevator.dispatch(Time::ZERO, &NoDisk)).collect()
    }

    /// The order of these cylinders from `head`: on a drive of 200 cylinders, where all sectors of one are the same place, and
    /// without a geometry, where it must be the same.
    pub(crate) fn order(row: &ElevatorKind, head: u64, set: &[(&str, u64)], queue: &[u64]) -> Vec<u64> {
        let orders = [200, 0].map(|cylinders| {
            let mut elevator = at(row, cylinders, head, set);
            for (tag, place) in queue.iter().enumerate() {
                elevator.insert(Time::ZERO, cylinder(tag as u32, *place, cylinders), InsertAt::Sorted);
            }
            let all = drain(elevator.as_mut());
            all.iter().map(|request| queue[request.tag as usize]).collect::<Vec<u64>>()
        });
        assert_eq!(orders[0], orders[1], "cylinders and, without them, sectors are the same positions here");
        orders[0].clone()
    }

    /// How far the arm moves over these cylinders.
    pub(crate) fn movement(head: u64, order: &[u64]) -> u64 {
        std::iter::once(&head).chain(order).zip(order).map(|(from, to)| from.abs_diff(*to)).sum()
    }

    /// The same order with a stop at `edge` (and then at `back`, for a return stroke) before the first step against `up`.
    pub(crate) fn with_edge(head: u64, order: &[u64], up: bool, stops: &[u64]) -> Vec<u64> {
        let turn = (0..order.len())
            .find(|at| {
                let from = if *at == 0 { head } else { order[*at - 1] };
                if up { order[*at] < from } else { order[*at] > from }
            })
            .expect("the order turns");
        [&order[..turn], stops, &order[turn..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::vectors::*;
    use super::*;
    use crate::algorithm::{asptf, c_look, c_scan, fcfs, fscan, look, scan, sptf, sstf, vscan_r};
    use crate::kind::{ElevatorKind, Promise};
    use crate::scheduler::NoDisk;
    use crate::testing::request;

    const ROWS: [ElevatorKind; 10] = [
        fcfs::ROW,
        sstf::ROW,
        scan::ROW,
        c_scan::ROW,
        look::ROW,
        c_look::ROW,
        fscan::ROW,
        vscan_r::ROW,
        sptf::ROW,
        asptf::ROW,
    ];

    fn tags(elevator: &mut dyn Elevator) -> Vec<u32> {
        drain(elevator).iter().map(|request| request.tag).collect()
    }

    #[test]
    fn a_merged_request_is_found_at_its_new_place_and_comes_out_as_it_has_become() {
        for row in &ROWS {
            for cylinders in [0, 200] {
                let mut elevator = at(row, cylinders, 0, &[]);
                let before = BlockRequest { sector: 100, nr_sectors: 8, ..cylinder(0, 0, 0) };
                let after = BlockRequest { sector: 12, nr_sectors: 96, ..before };
                elevator.insert(Time::ZERO, before, InsertAt::Sorted);
                elevator.insert(Time::ZERO, BlockRequest { sector: 50, ..cylinder(1, 0, 0) }, InsertAt::Sorted);
                elevator.merged(Time::ZERO, &before, &after);
                let all = drain(elevator.as_mut());
                assert_eq!(all[0], after, "{}: it is the oldest, and now the nearest too", row.name);
                assert_eq!((all.len(), elevator.len()), (2, 0), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_request_that_was_taken_in_is_gone_and_its_age_passes_to_the_survivor() {
        for row in &ROWS {
            let mut elevator = at(row, 200, 0, &[]);
            // All in one cylinder: the seek-only rules fall back on the order of arrival, as the others do without a disk.
            let all = [0, 1, 2].map(|tag| cylinder(tag, 20, 200));
            all.iter().for_each(|request| elevator.insert(Time::ZERO, *request, InsertAt::Sorted));
            elevator.coalesced(Time::ZERO, &all[2], &all[0]);
            assert_eq!(elevator.len(), 2, "{}", row.name);
            assert_eq!(tags(elevator.as_mut()), [2, 1], "{}: the survivor stands where the older one stood", row.name);
        }
    }

    #[test]
    fn requests_that_came_back_go_first_the_last_one_before_the_others_also_when_they_grow_together() {
        for row in &ROWS {
            let filled = || {
                let mut elevator = at(row, 200, 0, &[]);
                let all = [100, 190, 150, 180, 7].map(|place| cylinder(place as u32 % 97, place, 200));
                elevator.insert(Time::ZERO, all[0], InsertAt::Sorted);
                all[1..4].iter().for_each(|request| elevator.insert(Time::ZERO, *request, InsertAt::Head));
                elevator.insert(Time::ZERO, all[4], InsertAt::Sorted);
                (elevator, all)
            };
            let first = |elevator: &mut dyn Elevator, count: usize| {
                let all = tags(elevator);
                (all.len(), all[..count].to_vec())
            };
            let (mut elevator, all) = filled();
            let [old, a, b, c, young] = all.map(|request| request.tag);
            assert_eq!(first(elevator.as_mut(), 3), (5, vec![c, b, a]), "{}", row.name);
            let (mut elevator, all) = filled();
            elevator.coalesced(Time::ZERO, &all[1], &all[3]);
            assert_eq!(first(elevator.as_mut(), 2), (4, vec![a, b]), "{}", row.name);
            let (mut elevator, all) = filled();
            elevator.coalesced(Time::ZERO, &all[0], &all[2]);
            assert_eq!(first(elevator.as_mut(), 4), (4, vec![c, old, a, young]), "{}", row.name);
            let (mut elevator, all) = filled();
            elevator.coalesced(Time::ZERO, &all[2], &all[4]);
            assert_eq!(first(elevator.as_mut(), 4), (4, vec![c, b, a, old]), "{}", row.name);
        }
    }

    #[test]
    fn every_tunable_is_read_back_at_both_ends_of_its_range() {
        for row in &ROWS {
            for tunable in row.tunables {
                let mut elevator = at(row, 200, 53, &[]);
                let usual = elevator.get(tunable.name);
                assert!((tunable.min..=tunable.max).contains(&usual), "{} {}", row.name, tunable.name);
                for value in [tunable.min, tunable.max] {
                    elevator.set(tunable.name, value);
                    assert_eq!(elevator.get(tunable.name), value, "{} {}", row.name, tunable.name);
                    (0..8).for_each(|tag| {
                        elevator.insert(Time::ZERO, cylinder(tag, 25 * u64::from(tag), 200), InsertAt::Sorted)
                    });
                    assert_eq!(drain(elevator.as_mut()).len(), 8, "{} {}", row.name, tunable.name);
                }
            }
        }
    }

    fn random(seed: &mut u64, below: u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) % below
    }

    #[test]
    fn sweeps_turn_as_seldom_as_promised_over_requests_that_overlap_and_repeat() {
        let mut seed = 5;
        for row in &ROWS {
            for _ in 0..200 {
                let mut elevator = at(row, 0, random(&mut seed, 400), &[]);
                for tag in 0..30 {
                    let nr_sectors = 1 + random(&mut seed, 60) as u32;
                    let piece = BlockRequest { nr_sectors, ..request(tag, random(&mut seed, 400)) };
                    elevator.insert(Time::ZERO, piece, InsertAt::Sorted);
                }
                let sectors: Vec<u64> = drain(elevator.as_mut()).iter().map(|request| request.sector).collect();
                let descents = sectors.windows(2).filter(|pair| pair[1] < pair[0]).count() as u32;
                let moves: Vec<bool> =
                    sectors.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[0] < pair[1]).collect();
                let turns = moves.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32;
                for promise in row.promises {
                    match promise {
                        Promise::Ascending { descents: most } => assert!(descents <= *most, "{} {sectors:?}", row.name),
                        Promise::Sweeping { turns: most } => assert!(turns <= *most, "{} {sectors:?}", row.name),
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn nobody_is_passed_by_more_later_arrivals_than_promised_while_the_arm_is_held_in_one_place() {
        for row in &ROWS {
            let bound = row.promises.iter().find_map(|promise| match promise {
                Promise::PassedAtMost { requests } => Some(*requests),
                _ => None,
            });
            let Some(bound) = bound else { continue };
            let mut elevator = at(row, 200, 0, &[]);
            let mut seed = 9;
            let mut arrival = vec![0; 256];
            let mut passed = vec![0; 256];
            for (seq, tag) in (0..256).enumerate() {
                arrival[tag as usize] = seq;
                elevator.insert(Time::ZERO, cylinder(tag, random(&mut seed, 200), 200), InsertAt::Sorted);
            }
            for seq in 256..20_000 {
                let served = elevator.dispatch(Time::ZERO, &NoDisk).expect("the queue is full").tag as usize;
                for other in (0..256).filter(|other| arrival[*other] < arrival[served]) {
                    passed[other] += 1;
                    assert!(passed[other] <= bound, "{}: {} passes", row.name, passed[other]);
                }
                (arrival[served], passed[served]) = (seq, 0);
                // Half of all arrivals are where the arm is.
                let place = if seq % 2 == 0 { 100 } else { random(&mut seed, 200) };
                elevator.insert(Time::ZERO, cylinder(served as u32, place, 200), InsertAt::Sorted);
            }
        }
    }
}
