//! A hard disk: one arm, a segmented cache with read-ahead, a write cache, and command queueing.
//!
//! Sources: Ruemler & Wilkes, IEEE Computer 27(3), 1994, and DiskSim's parameters (algorithms.md
//! §3.6, §3.7); NCQ is shortest positioning time first (§5.2, a proposal). Also proposals: a
//! command's overhead precedes its movement and, with commands queued, overlaps the previous one;
//! the bus starts at a read's watermark. Statistics exclude read-ahead. All consequences of a
//! command are known when its arm starts, so a request costs one event.

mod choice;
mod dirty;
mod divisor;
mod electronics;
mod mechanics;
mod read;
mod reading;
mod segments;
mod survey;
mod writing;

use std::collections::VecDeque;

use elevator::{BlockRequest, Disk, Geometry, Op, SECTOR_BYTES, Survey, Time};

use super::model::{Command, DeviceModel, DeviceStats, OwnClock, check};
use super::tables::{Kind, Tables};
use dirty::{Dirty, Extent};
use electronics::Electronics;
use mechanics::{Arm, Costs, Head, Mechanics};
use segments::Segments;

pub(super) use read::read;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    tag: u32,
    write: bool,
    sector: u64,
    nr: u64,
    /// When its overhead ends.
    ready_ns: u64,
}

impl Waiting {
    fn end(&self) -> u64 {
        self.sector + self.nr
    }
}

#[derive(Debug, Clone, Copy)]
enum Work {
    Read {
        tag: u32,
        sector: u64,
        end: u64,
        /// The segment to extend; `None`: a new one.
        segment: Option<usize>,
        media_end_ns: u64,
        /// Whether it was overwritten during the read, so that it must not be cached.
        stale: bool,
    },
    Write {
        tag: u32,
        sector: u64,
        end: u64,
    },
    Destage(Extent),
}

#[derive(Debug, Clone, Copy)]
struct Ahead {
    head: Head,
    arm: Arm,
    updated_ns: u64,
    limit: u64,
    segment: usize,
}

#[derive(Debug)]
pub(super) struct Hdd {
    mechanics: Mechanics,
    electronics: Electronics,
    segments: Segments,
    dirty: Dirty,
    arm: Arm,
    ahead: Option<Ahead>,
    current: Option<(u64, Work)>,
    waiting: Vec<Waiting>,
    /// Tag, and the last write covered.
    flushes: VecDeque<(u32, u64)>,
    /// Completion time, tag, whether a flush; no arm needed any more.
    leaving: VecDeque<(u64, u32, bool)>,
    /// ns per sector for reads and writes: quotient and remainder.
    bus_sector: [(u64, u64); 2],
    bus_free_ns: u64,
    after_write: bool,
    /// Transfers inside, and all commands inside.
    transfers: u32,
    commands: u32,
    clock: OwnClock,
    stats: DeviceStats,
}

impl Hdd {
    fn new(
        mechanics: Mechanics,
        electronics: Electronics,
        segments: Segments,
        write_cache: u64,
    ) -> Hdd {
        let sector = SECTOR_BYTES * 1_000_000_000;
        Hdd {
            bus_sector: electronics.bus_bytes_per_s.map(|by| (sector / by, sector % by)),
            mechanics,
            electronics,
            segments,
            dirty: Dirty::new(write_cache, electronics.write_runs),
            arm: Arm::default(),
            ahead: None,
            current: None,
            waiting: Vec::with_capacity(electronics.queue_depth as usize),
            flushes: VecDeque::new(),
            leaving: VecDeque::with_capacity(electronics.queue_depth as usize + 1),
            bus_free_ns: 0,
            after_write: false,
            transfers: 0,
            commands: 0,
            clock: OwnClock::default(),
            stats: DeviceStats::default(),
        }
    }

    fn pass_time(&mut self, now: u64) {
        self.clock.advance(now, self.commands > 0, &mut self.stats);
    }

    fn bus_ns(&self, write: bool, sectors: u64) -> u64 {
        let (whole, rest) = self.bus_sector[usize::from(write)];
        // Most buses take a whole number of nanoseconds per sector.
        let by = self.electronics.bus_bytes_per_s[usize::from(write)];
        whole * sectors + if rest == 0 { 0 } else { rest * sectors / by }
    }

    /// Needs only the bus once its overhead is over.
    fn leave(&mut self, command: &Waiting) {
        self.bus_free_ns = command.ready_ns.max(self.clock.ns).max(self.bus_free_ns)
            + self.bus_ns(command.write, command.nr);
        let completion = if command.write { 0 } else { self.electronics.read_completion_ns };
        self.leave_at(self.bus_free_ns + completion, command.tag, false);
    }

    fn overhead_ns(&self, write: bool) -> u64 {
        let of = if write {
            &self.electronics.write_overhead_ns
        } else {
            &self.electronics.read_overhead_ns
        };
        of[usize::from(self.after_write)]
    }

    fn leave_at(&mut self, done: u64, tag: u32, flush: bool) {
        let at = self.leaving.partition_point(|(other, ..)| *other <= done);
        self.leaving.insert(at, (done, tag, flush));
    }

    fn start(&mut self, now: u64, command: Waiting) {
        if command.write { self.start_write(now, command) } else { self.start_read(now, command) }
    }

    fn account(&mut self, costs: Costs) {
        self.stats.seeks += costs.seeks;
        self.stats.seek_cylinders += costs.cylinders;
        self.stats.seek_ns += costs.move_ns;
        self.stats.rotation_ns += costs.rotation_ns;
        self.stats.transfer_ns += costs.transfer_ns;
    }

    fn finish(&mut self, work: Work, done: &mut Vec<u32>) {
        match work {
            Work::Read { tag, stale: true, .. } => self.done(tag, done),
            Work::Read { tag, sector, end, segment, media_end_ns, stale: false } => {
                if let Some(segment) = segment {
                    self.segments.grow(segment, end);
                }
                if let Some(segment) = segment.or_else(|| self.segments.fill(sector, end)) {
                    self.read_on(Head { next: end, at_ns: media_end_ns, arm: self.arm }, segment);
                }
                self.done(tag, done);
            }
            Work::Write { tag, sector, end } => {
                if self.dirty.room > 0 {
                    self.segments.fill(sector, end);
                }
                self.done(tag, done);
            }
            Work::Destage(extent) => {
                self.dirty.finish(extent);
                self.segments.fill(extent.sector, extent.sector + extent.nr);
            }
        }
    }

    fn done(&mut self, tag: u32, done: &mut Vec<u32>) {
        self.commands -= 1;
        self.transfers -= 1;
        done.push(tag);
    }

    fn take_transfer(&mut self, now: u64, tag: u32, op: Op, sector: u64, nr: u64) {
        let write = op == Op::Write;
        self.transfers += 1;
        self.stats.transfers += 1;
        self.stats.bytes += nr * SECTOR_BYTES;
        let overhead = self.overhead_ns(write);
        let hit_overhead = self.electronics.hit_overhead_ns[usize::from(self.after_write)];
        self.after_write = write;
        let mut command = Waiting { tag, write, sector, nr, ready_ns: now + overhead };
        if write {
            if !self.caches(nr) {
                self.invalidate(now, sector, nr);
            }
        } else {
            self.catch_up(now);
            command.ready_ns = now + hit_overhead;
            if self.hit(now, &command, now + overhead) {
                return;
            }
            let partial = self.partial(sector);
            if partial.is_none() || partial != self.reading_segment() {
                command.ready_ns = now + overhead;
            }
        }
        if self.current.is_some() || write && self.caches(nr) || !self.waiting.is_empty() {
            self.waiting.push(command);
            if self.current.is_none() {
                self.pick(now);
            } else {
                self.admit_writes(now);
            }
        } else {
            self.start(now, command);
        }
    }
}

impl Hdd {
    /// Returns when the arm could start, and the delay after the overhead.
    fn departure_for(&self, now: Time, write: bool) -> (u64, u64) {
        let overhead = self.overhead_ns(write);
        let free = self.current.map_or(0, |(done, _)| done);
        let begin = (now.as_ns() + overhead).max(free);
        (begin, begin - (now.as_ns() + overhead))
    }
}

impl Disk for Hdd {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        let write = request.op == Op::Write;
        let (begin, known) = self.departure_for(now, write);
        known + self.positioning(begin, request.sector, u64::from(request.nr_sectors), write)
    }

    fn survey(&self, now: Time, search: &mut dyn FnMut(&dyn Survey)) {
        search(&self.moment(now));
    }
}

impl DeviceModel for Hdd {
    fn queue_depth(&self) -> u32 {
        self.electronics.queue_depth
    }

    fn sectors(&self) -> u64 {
        self.mechanics.sectors
    }

    fn geometry(&self) -> Geometry {
        let cylinders = u64::from(self.mechanics.cylinders);
        let sectors_per_cylinder = self.mechanics.sectors.div_ceil(cylinders);
        let revolution_ns = self.mechanics.revolution_ns;
        Geometry {
            cylinders,
            sectors_per_cylinder,
            seek: self.mechanics.curve().clone(),
            revolution_ns,
            sector_ns: revolution_ns * u64::from(self.mechanics.heads) / sectors_per_cylinder,
        }
    }

    fn has_volatile_cache(&self) -> bool {
        self.electronics.immediate_reporting
    }

    fn submit(&mut self, now: Time, command: Command) {
        assert!(
            self.next_event().is_none_or(|due| due >= now),
            "what is due must happen before the next command comes"
        );
        let now = now.as_ns();
        self.pass_time(now);
        self.commands += 1;
        match command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                let depth = self.electronics.queue_depth;
                check(tag, sector, nr_sectors, self.mechanics.sectors, self.transfers, depth);
                self.take_transfer(now, tag, op, sector, nr_sectors.into());
            }
            Command::Flush { tag } => {
                self.flushes.push_back((tag, self.dirty.writes()));
                if self.current.is_none() {
                    self.pick(now);
                } else {
                    self.end_flushes(now);
                }
            }
        }
    }

    fn next_event(&self) -> Option<Time> {
        let arm = self.current.map(|(at, _)| at);
        let bus = self.leaving.front().map(|(at, ..)| *at);
        let first = match (arm, bus) {
            (Some(arm), Some(bus)) => Some(arm.min(bus)),
            (arm, bus) => arm.or(bus),
        };
        first.map(Time::from_ns)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now).map(Time::as_ns) {
            self.pass_time(at);
            if self.leaving.front().is_some_and(|(leaves, ..)| *leaves == at) {
                let (_, tag, flush) = self.leaving.pop_front().expect("it was just looked at");
                self.commands -= 1;
                self.transfers -= u32::from(!flush);
                done.push(tag);
                continue;
            }
            let (_, work) =
                self.current.take().expect("what is due and does not leave occupies the arm");
            self.finish(work, done);
            self.pick(at);
        }
        self.pass_time(now.as_ns());
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }

    fn tables(&self) -> Vec<u8> {
        let e = &self.electronics;
        let of_mechanics = self.mechanics.numbers();
        let of_electronics = [
            u64::from(e.nearest_first),
            e.read_overhead_ns[0],
            e.hit_overhead_ns[0],
            e.write_overhead_ns[0],
            e.bus_bytes_per_s[0],
            e.read_ahead,
            u64::from(e.immediate_reporting),
            self.segments.count() as u64,
            self.segments.size,
            self.dirty.room,
        ];
        let (zones, near) = (&self.mechanics.zones, self.mechanics.near());
        let mut tables = Tables::new(Kind::Hdd, self.mechanics.sectors, e.queue_depth)
            .numbers(&of_mechanics)
            .numbers(&of_electronics)
            .numbers(&e.later_numbers())
            .numbers(&[self.mechanics.write_lead_ns])
            .numbers(&[zones.len() as u64, near.len() as u64]);
        for zone in zones {
            let skews = [zone.track_skew, zone.skew_per_cylinder];
            let layout =
                [zone.phase, zone.reserved_tracks, zone.spare_tracks, zone.slipped.len() as u64];
            tables = tables
                .numbers(&[zone.cylinders.into(), zone.sectors_per_track])
                .numbers(&skews)
                .numbers(&layout);
        }
        for zone in zones {
            tables = tables.numbers(&zone.slipped);
        }
        tables.words(near).finish()
    }

    fn trial_ms(&self) -> u64 {
        self.electronics.trial_ms
    }
}

#[cfg(test)]
mod tests;
