//! mq-deadline: sorts by sector in batches, prefers reads, and bounds waits by deadlines; three
//! priority classes, strictly ordered except for aging.
//!
//! Each class and direction has a sorted list and a FIFO; batches follow the sorted list, from the
//! oldest request if that has expired.
//!
//! Source: Linux 6.12 block/mq-deadline.c; differences of 6.1 and 7.3 (switch `linux`); confirmed.
//! Parameters (default): read_expire 500 ms, write_expire 5000 ms, prio_aging_expire 10000 ms,
//! writes_starved 2, fifo_batch 16, front_merges 1, async_depth = tags. Times are in jiffies, as in
//! the kernel.
//!
//! Consequences: a batch continues over gaps, and after the highest sector with the oldest request;
//! a lower class waits while a higher one only has requests in flight; classes share `last_dir`,
//! `batching` and `starved`, so an aging check ends another class's batch. The row's bound on waits
//! is derived: 5 s, then at most 64 turns of the direction, each after two of the other, 16
//! requests of 20 ms each.
//!
//! Departures: a dispatch that returns nothing leaves the shared variables unchanged (the kernel
//! may change them); 6.1's `async_depth` is not scaled to words of the bitmap; no zoned devices.

mod choice;
mod class;

use crate::clock::Clock;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::{BlockRequest, Finished, PrioClass};
use crate::scheduler::{DepthLimit, Disk, Elevator, InsertAt, Merge};
use crate::sorted::{Key, by_sector};
use crate::vocabulary::{LINUX_7, Op, Time};
use class::Class;

const INT_MAX: u64 = i32::MAX as u64;

/// Not work-conserving: a request waits for those of a higher class in flight. It never refuses
/// with nothing in flight, so it needs no timer.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "mq-deadline",
    origin: Origin::BlkMq,
    help: "sorts by sector in batches, prefers reads, bounds the wait of each request",
    source: "Linux 6.12 block/mq-deadline.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::WaitsAtMostMs(66_500)],
    tunables: &[
        Tunable::confirmed(
            "read_expire",
            "ms",
            0,
            INT_MAX,
            "a read that waited this long is served at the next batch",
        ),
        Tunable::confirmed(
            "write_expire",
            "ms",
            0,
            INT_MAX,
            "a write that waited this long is served at the next write batch",
        ),
        Tunable::confirmed(
            "prio_aging_expire",
            "ms",
            0,
            INT_MAX,
            "a request of a lower class that waited this long is served first",
        ),
        Tunable::confirmed(
            "writes_starved",
            "batches",
            0,
            INT_MAX,
            "read batches before a write batch, while writes wait",
        ),
        Tunable::confirmed(
            "fifo_batch",
            "requests",
            0,
            INT_MAX,
            "requests of one direction in a batch",
        ),
        Tunable::confirmed(
            "front_merges",
            "switch",
            0,
            1,
            "1: front and back merges; 0: back merges only",
        ),
        Tunable::confirmed(
            "async_depth",
            "requests",
            1,
            INT_MAX,
            "tags available to requests other than synchronous reads",
        )
        .with_role(Role::Window),
        Tunable::linux_version(
            "601, 612, 703: as that Linux; 601: a batch's next request is fixed early, head insertions wait for their class; 703: freed tags wake an eighth of async_depth clients",
        ),
    ],
    build,
};

const READ: usize = 0;
const WRITE: usize = 1;

fn direction(op: Op) -> usize {
    match op {
        Op::Read => READ,
        Op::Write => WRITE,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Sorted,
    InFlight,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    class: usize,
    dir: usize,
    key: Key,
    /// In jiffies.
    expires: u64,
}

/// Shared by all classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Batch {
    last_dir: usize,
    batching: u64,
    starved: u64,
}

#[derive(Debug)]
struct MqDeadline {
    clock: Clock,
    classes: [Class; 3],
    slots: Vec<Option<Slot>>,
    batch: Batch,
    len: usize,
    expire_ms: [u64; 2],
    aging_ms: u64,
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: u64,
    async_depth: u64,
    linux: u64,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(MqDeadline::new(build))
}

fn class(request: &BlockRequest) -> usize {
    match request.priority.class {
        PrioClass::RealTime => 0,
        PrioClass::BestEffort => 1,
        PrioClass::Idle => 2,
    }
}

impl MqDeadline {
    fn new(build: &Build) -> MqDeadline {
        MqDeadline {
            clock: Clock::new(build.hz),
            classes: [Class::new(), Class::new(), Class::new()],
            slots: vec![None; build.nr_tags as usize],
            batch: Batch { last_dir: WRITE, batching: 0, starved: 0 },
            len: 0,
            expire_ms: [500, 5000],
            aging_ms: 10_000,
            writes_starved: 2,
            fifo_batch: 16,
            front_merges: 1,
            async_depth: u64::from(build.tags_of_queue()).max(1),
            linux: 612,
        }
    }

    fn is_61(&self) -> bool {
        self.linux < 612
    }

    fn slot(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    fn held(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag belongs to a request of the elevator")
    }

    fn head_class(&self, class: usize) -> usize {
        if self.is_61() { class } else { 0 }
    }

    fn next(&self, class: usize, dir: usize) -> Option<u32> {
        let class = &self.classes[class];
        if self.is_61() { class.next[dir] } else { class.going_up(dir) }
    }

    /// Moves head insertions to where the version looks for them.
    fn switch(&mut self, linux: u64) {
        let heads: Vec<u32> =
            self.classes.iter().flat_map(|class| class.head.iter().collect::<Vec<_>>()).collect();
        for tag in &heads {
            let class = self.head_class(self.held(*tag).class);
            self.classes[class].head.remove(*tag);
        }
        self.linux = linux;
        for tag in heads {
            let class = self.head_class(self.held(tag).class);
            self.classes[class].head.push_back(tag);
        }
        for class in &mut self.classes {
            for dir in [READ, WRITE] {
                class.next[dir] = class.going_up(dir).filter(|_| linux < 612);
            }
        }
    }
}

impl Elevator for MqDeadline {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        let (now, tag) = (self.clock.jiffies(now), request.tag as usize);
        if tag >= self.slots.len() {
            self.slots.resize(tag + 1, None);
        }
        let (class, dir, key) = (class(request), direction(request.op), by_sector(request));
        // A requeued request is already pending.
        if self.slots[tag].is_none() {
            self.classes[class].pending += 1;
        }
        let (state, expires) = match at {
            InsertAt::Head => {
                let list = self.head_class(class);
                self.classes[list].head.push_front(request.tag);
                (State::Head, now)
            }
            InsertAt::Sorted => {
                self.classes[class].sorted[dir].insert(key, request.tag);
                self.classes[class].fifo[dir].push_back(request.tag);
                (State::Sorted, now + self.clock.from_ms(self.expire_ms[dir]))
            }
        };
        self.slots[tag] = Some(Slot { state, class, dir, key, expires });
        self.len += 1;
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        let batch = self.batch;
        let tag = self.try_dispatch(self.clock.jiffies(now));
        if tag.is_none() {
            self.batch = batch;
        }
        tag
    }

    fn complete(&mut self, _now: Time, done: &Finished) {
        let slot = self.slots[done.request.tag as usize].take();
        let Slot { state, class, .. } = slot.expect("a completed request was dispatched");
        debug_assert_eq!(state, State::InFlight, "a completed request was dispatched");
        self.classes[class].pending -= 1;
    }

    fn len(&self) -> usize {
        self.len
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        match request.op == Op::Write || !request.sync {
            true => DepthLimit::OfKind(u32::try_from(self.async_depth).unwrap_or(u32::MAX)),
            false => DepthLimit::None,
        }
    }

    /// Before 7.0 `async_depth` may shrink to 1 at any time.
    fn min_shallow_depth(&self, bits: u32) -> u32 {
        if self.linux < LINUX_7 { 1 } else { u32::try_from(self.async_depth).unwrap_or(bits) }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, how: Merge) -> bool {
        request.priority == bio.priority && (how == Merge::Back || self.front_merges == 1)
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let slot = self.slot(before.tag);
        slot.key = by_sector(after);
        let Slot { state, class, dir, key, .. } = *slot;
        if state == State::Sorted && by_sector(before) != key {
            self.classes[class].sorted[dir].remove(by_sector(before));
            self.classes[class].sorted[dir].insert(key, after.tag);
        }
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (old, young) = (*self.held(survivor.tag), *self.held(gone.tag));
        let (class, dir) = (young.class, young.dir);
        if old.state == State::Sorted && young.state == State::Sorted && young.expires < old.expires
        {
            let fifo = &mut self.classes[class].fifo[dir];
            fifo.remove(survivor.tag);
            fifo.insert_before(survivor.tag, gone.tag);
            self.slot(survivor.tag).expires = young.expires;
        }
        match young.state {
            State::Head => {
                let list = self.head_class(class);
                self.classes[list].head.remove(gone.tag);
            }
            _ => self.classes[class].remove_sorted(dir, young.key, gone.tag),
        }
        self.slots[gone.tag as usize] = None;
        self.classes[class].pending -= 1;
        self.len -= 1;
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "read_expire" => self.expire_ms[READ],
            "write_expire" => self.expire_ms[WRITE],
            "prio_aging_expire" => self.aging_ms,
            "writes_starved" => self.writes_starved,
            "fifo_batch" => self.fifo_batch,
            "front_merges" => self.front_merges,
            "async_depth" => self.async_depth,
            "linux" => self.linux,
            _ => unreachable!("mq-deadline has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "read_expire" => self.expire_ms[READ] = value,
            "write_expire" => self.expire_ms[WRITE] = value,
            "prio_aging_expire" => self.aging_ms = value,
            "writes_starved" => self.writes_starved = value,
            "fifo_batch" => self.fifo_batch = value,
            "front_merges" => self.front_merges = value,
            "async_depth" => self.async_depth = value,
            "linux" => self.switch(value),
            _ => unreachable!("mq-deadline has no tunable {tunable}"),
        }
    }
}

#[cfg(test)]
mod tests;
