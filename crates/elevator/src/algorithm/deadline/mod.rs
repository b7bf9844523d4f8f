//! deadline: one sorted list and one FIFO per direction; prefers reads without starving writes.
//! Linux 2.6. Batches follow a direction's sorted list, from the oldest request if it has expired.
//!
//! Source: Linux 2.6.20 block/deadline-iosched.c; confirmed. Parameters as in sysfs; milliseconds
//! are stored in jiffies, rounded up:
//!
//! | name | unit | default | meaning |
//! |---|---|---|---|
//! | `read_expire` | ms | HZ/2 | age from which a read is taken out of order |
//! | `write_expire` | ms | 5·HZ | the same for writes |
//! | `writes_starved` | decisions | 2 | reads preferred while writes wait, before a write's turn |
//! | `fifo_batch` | requests | 16 | length of a contiguous batch |
//! | `front_merges` | switch | 1 | whether bios join at a request's start |
//!
//! A direction is a data direction, regardless of synchrony. Consequences of the source (derived):
//! a batch continues only over strictly contiguous requests, so random I/O decides for each request
//! (read read write …) and `fifo_batch` has no effect. Each decision discards the other direction's
//! position, so a switch starts at the lowest sector, and a mixed random backlog reaches high
//! sectors only by expiry. Expiry is checked only between batches. When a younger request starts at
//! the same sector, the older is dispatched at once, so rewriting one sector monopolises the
//! device.
//!
//! The row's bound on waits is derived: 5 s, then at most 64 turns of the direction, each after two
//! of the other, 16 requests of 20 ms per turn. Not against a stream of requests to one sector.
//!
//! Departures: `writes_starved` below 0, which acts as 0, is out of range.

use crate::clock::Clock;
use crate::dispatch_list::DispatchList;
use crate::fifo::Fifo;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, InsertAt, Legacy, Merge};
use crate::starts::Starts;
use crate::vocabulary::{Op, Time};

const INT_MAX: u64 = i32::MAX as u64;

const fn tunable(name: &'static str, unit: &'static str, max: u64, help: &'static str) -> Tunable {
    Tunable { name, unit, min: 0, max, evidence: Evidence::Confirmed, help, role: Role::Knob }
}

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "deadline",
    origin: Origin::LegacyLinux,
    help: "sorts by sector, prefers reads, and takes expired requests out of order; Linux 2.6",
    source: "Linux 2.6.20 block/deadline-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::WaitsAtMostMs(66_500)],
    tunables: &[
        tunable("read_expire", "ms", INT_MAX, "age from which a read is taken out of order"),
        tunable("write_expire", "ms", INT_MAX, "age from which a write is taken out of order"),
        tunable("writes_starved", "decisions", INT_MAX, "decisions for reads while writes wait"),
        tunable(
            "fifo_batch",
            "requests",
            INT_MAX,
            "contiguous requests dispatched without a new decision",
        ),
        tunable(
            "front_merges",
            "switch",
            1,
            "1: front and back merges; 0: front merges by the one-hit cache only",
        ),
    ],
    build,
};

#[derive(Debug)]
struct Direction {
    sorted: Starts,
    fifo: Fifo,
    /// At most one direction has one.
    next: Option<u32>,
    /// In jiffies.
    expire: u64,
}

#[derive(Debug)]
struct Deadline {
    clock: Clock,
    reads: Direction,
    writes: Direction,
    /// Sorted requests with their expiry in jiffies.
    held: Vec<Option<(BlockRequest, u64)>>,
    list: DispatchList,
    /// Requests since the last decision; beyond `fifo_batch` after a sweep has left contiguity.
    batching: u64,
    last_sector: u64,
    /// Decisions for reads while writes waited.
    starved: u64,
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: bool,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Deadline::new(build))
}

impl Deadline {
    fn new(build: &Build) -> Deadline {
        let clock = Clock::new(build.hz);
        let direction = |expire| Direction {
            sorted: Starts::default(),
            fifo: Fifo::new(build.nr_tags),
            next: None,
            expire,
        };
        Deadline {
            clock,
            reads: direction(clock.hz() / 2),
            writes: direction(5 * clock.hz()),
            held: vec![None; build.nr_tags as usize],
            list: DispatchList::default(),
            batching: 0,
            last_sector: 0,
            starved: 0,
            writes_starved: 2,
            fifo_batch: 16,
            front_merges: true,
        }
    }

    fn direction(&mut self, op: Op) -> &mut Direction {
        match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        }
    }

    fn sorted(&self, op: Op) -> &Starts {
        match op {
            Op::Read => &self.reads.sorted,
            Op::Write => &self.writes.sorted,
        }
    }

    /// Whether a request is in tree and FIFO; otherwise it is on the dispatch list.
    fn is_sorted(&self, request: &BlockRequest) -> bool {
        match request.op {
            Op::Read => self.reads.fifo.contains(request.tag),
            Op::Write => self.writes.fifo.contains(request.tag),
        }
    }

    fn held(&self, tag: u32) -> (BlockRequest, u64) {
        self.held[tag as usize].expect("trees and FIFOs hold the same requests")
    }

    /// deadline_add_rq_rb: a request with the same start is dispatched at once.
    fn add(&mut self, request: &BlockRequest, expiry: u64) {
        if let Some(alias) = self.direction(request.op).sorted.tag_at(request.sector) {
            self.send(alias);
        }
        self.direction(request.op).sorted.insert(request.sector, request.tag);
        let at = request.tag as usize;
        if at >= self.held.len() {
            self.held.resize(at + 1, None);
        }
        self.held[at] = Some((*request, expiry));
    }

    /// Removes a request; the sweep continues after it.
    fn remove(&mut self, request: &BlockRequest) {
        let direction = self.direction(request.op);
        if direction.next == Some(request.tag) {
            direction.next = direction.sorted.above(request.sector);
        }
        direction.sorted.remove(request.sector);
        direction.fifo.remove(request.tag);
        self.held[request.tag as usize] = None;
    }

    /// deadline_move_request: discards the other direction's position.
    fn send(&mut self, tag: u32) {
        let (request, _) = self.held(tag);
        (self.reads.next, self.writes.next) = (None, None);
        let direction = self.direction(request.op);
        direction.next = direction.sorted.above(request.sector);
        self.remove(&request);
        self.last_sector = request.end();
        self.list.add_tail((&request).into());
    }

    /// deadline_dispatch_requests.
    fn decide(&mut self, now: Time) -> Option<()> {
        if let Some(next) = self.writes.next.or(self.reads.next) {
            if self.held(next).0.sector != self.last_sector {
                self.batching = self.batching.saturating_add(self.fifo_batch);
            }
            if self.batching < self.fifo_batch {
                self.batching += 1;
                self.send(next);
                return Some(());
            }
        }
        let op = self.turn()?;
        let now = self.clock.jiffies(now);
        let direction = self.direction(op);
        let (next, lowest) = (direction.next, direction.sorted.first());
        let oldest =
            direction.fifo.head().expect("the direction that has its turn holds a request");
        let expired = now > self.held(oldest).1;
        let tag = if expired {
            oldest
        } else if let Some(next) = next {
            // Counting continues: the sweep is not contiguous, so each request is decided.
            self.batching = self.batching.saturating_add(1);
            self.send(next);
            return Some(());
        } else {
            lowest.expect("trees and FIFOs hold the same requests")
        };
        self.batching = 1;
        self.send(tag);
        Some(())
    }

    fn turn(&mut self) -> Option<Op> {
        let (reads, writes) = (!self.reads.fifo.is_empty(), !self.writes.fifo.is_empty());
        if reads {
            let starved = self.starved;
            self.starved += u64::from(writes);
            if !(writes && starved >= self.writes_starved) {
                return Some(Op::Read);
            }
        }
        if writes {
            self.starved = 0;
            return Some(Op::Write);
        }
        None
    }
}

impl Legacy for Deadline {
    fn is_sorted(&self, tag: u32) -> bool {
        self.held.get(tag as usize).is_some_and(Option::is_some)
    }

    fn front(&self, bio: &BlockRequest) -> Option<u32> {
        self.sorted(bio.op).tag_at(bio.end()).filter(|_| self.front_merges)
    }

    fn former(&self, tag: u32) -> Option<u32> {
        let (request, _) = self.held(tag);
        self.sorted(request.op).below(request.sector)
    }

    fn latter(&self, tag: u32) -> Option<u32> {
        let (request, _) = self.held(tag);
        self.sorted(request.op).above(request.sector)
    }
}

impl Elevator for Deadline {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        if at == InsertAt::Head {
            self.list.add_head(request.into());
            return;
        }
        let expiry = self.clock.jiffies(now) + self.direction(request.op).expire;
        self.add(request, expiry);
        self.direction(request.op).fifo.push_back(request.tag);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if self.list.is_empty() {
            self.decide(now)?;
        }
        self.list.pop()
    }

    fn legacy(&self) -> Option<&dyn Legacy> {
        Some(self)
    }

    fn len(&self) -> usize {
        self.reads.sorted.len() + self.writes.sorted.len() + self.list.len()
    }

    fn allow_merge(&self, request: &BlockRequest, _bio: &BlockRequest, how: Merge) -> bool {
        // Dispatched requests have left the tree and the hash of ends.
        self.is_sorted(request) && (how == Merge::Back || self.front_merges)
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        if !self.is_sorted(before) {
            self.list.replace(after.into());
            return;
        }
        // A next request remains so regardless of its new start.
        let (_, expiry) = self.held(before.tag);
        self.direction(before.op).sorted.remove(before.sector);
        self.add(after, expiry);
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        if !self.is_sorted(gone) {
            self.list.remove(gone.tag);
            return;
        }
        let (_, young) = self.held(gone.tag);
        if let Some((_, old)) =
            self.held[survivor.tag as usize].as_mut().filter(|(_, old)| young < *old)
        {
            *old = young;
            let fifo = &mut self.direction(gone.op).fifo;
            fifo.remove(survivor.tag);
            fifo.insert_before(survivor.tag, gone.tag);
        }
        self.remove(gone);
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "read_expire" => self.clock.to_ms(self.reads.expire),
            "write_expire" => self.clock.to_ms(self.writes.expire),
            "writes_starved" => self.writes_starved,
            "fifo_batch" => self.fifo_batch,
            "front_merges" => u64::from(self.front_merges),
            _ => unreachable!("deadline has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "read_expire" => self.reads.expire = self.clock.from_ms(value),
            "write_expire" => self.writes.expire = self.clock.from_ms(value),
            "writes_starved" => self.writes_starved = value,
            "fifo_batch" => self.fifo_batch = value,
            "front_merges" => self.front_merges = value != 0,
            _ => unreachable!("deadline has no tunable {tunable}"),
        }
    }
}

#[cfg(test)]
mod tests;
