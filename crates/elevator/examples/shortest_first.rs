//! shortest-first: the smallest request next, without starving large ones.
//!
//! Problem: behind a backup that writes 512 KiB at a time, a page fault of 4 KiB waits for all of
//! its requests. Approach: serve the smallest request; serve the oldest instead after `patience`
//! dispatches since its arrival. Terms: a request is *overdue* after that many. Properties:
//! work-conserving; no request is passed by more than `patience` later arrivals, because a request
//! can only be passed while the oldest, which is not younger, is not overdue.
//!
//! Source: shortest processing time first, textbooks; the patience is proposed here. Parameters:
//! `patience` (requests, default 16; 0 is first come, first served). Departures: the length of a
//! request stands for its service time, although the seek is most of it.

use std::collections::{BTreeMap, BTreeSet};

use elevator::{
    BlockRequest, Build, Disk, Elevator, ElevatorKind, Evidence, Guarantee, InsertAt, Origin, Role,
    Time, Tunable,
};

/// The row of the table.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "shortest-first",
    origin: Origin::Literature,
    help: "the smallest request first, the oldest after a number of others",
    source: "docs/src/develop/write-a-scheduler.md",
    evidence: Evidence::Proposed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::PassedAtMost { requests: 16 }],
    tunables: &[Tunable {
        name: "patience",
        unit: "requests",
        min: 0,
        max: 1_000_000,
        evidence: Evidence::Proposed,
        help: "dispatches after which the oldest request is served first; 0: first come, first served",
        role: Role::Knob,
    }],
    build,
};

fn build(_build: &Build) -> Box<dyn Elevator> {
    Box::new(ShortestFirst { patience: 16, ..ShortestFirst::default() })
}

/// A held request.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Position by size: its sectors; 0 for a requeued one, which is served before all others.
    size: u32,
    /// Position by age: ascending with arrival.
    age: u64,
    /// Number of dispatches before its arrival.
    before: u64,
}

/// What decisions need of each request by tag, and the tags in two orders.
#[derive(Debug, Default)]
struct ShortestFirst {
    patience: u64,
    held: BTreeMap<u32, Held>,
    by_size: BTreeSet<(u32, u64, u32)>,
    by_age: BTreeSet<(u64, u32)>,
    arrived: u64,
    dispatched: u64,
}

impl ShortestFirst {
    fn put(&mut self, tag: u32, held: Held) {
        self.by_size.insert((held.size, held.age, tag));
        self.by_age.insert((held.age, tag));
        let other = self.held.insert(tag, held);
        assert!(other.is_none(), "a tag is held once: {tag}");
    }

    fn take(&mut self, tag: u32) -> Held {
        let held = self.held.remove(&tag).expect("the request is held");
        self.by_size.remove(&(held.size, held.age, tag));
        self.by_age.remove(&(held.age, tag));
        held
    }
}

impl Elevator for ShortestFirst {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        self.arrived += 1;
        let (size, age) = match at {
            InsertAt::Sorted => (request.nr_sectors, self.arrived),
            // Of several requeued requests the last one is served first.
            InsertAt::Head => (0, u64::MAX - self.arrived),
        };
        self.put(request.tag, Held { size, age, before: self.dispatched });
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        let (size, _, smallest) = *self.by_size.first()?;
        let (_, oldest) = *self.by_age.first().expect("both orders hold the same tags");
        let overdue = self.dispatched - self.held[&oldest].before >= self.patience;
        let next = if overdue && size > 0 { oldest } else { smallest };
        self.dispatched += 1;
        self.take(next);
        Some(next)
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let held = self.take(before.tag);
        self.put(after.tag, Held { size: held.size.min(1) * after.nr_sectors, ..held });
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (kept, gone) = (self.take(survivor.tag), self.take(gone.tag));
        let (size, age) = match (kept.size, gone.size) {
            (0, _) | (_, 0) => (kept.size, kept.age).min((gone.size, gone.age)),
            (size, _) => (size, kept.age.min(gone.age)),
        };
        self.put(survivor.tag, Held { size, age, before: kept.before.min(gone.before) });
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.patience
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.patience = value;
    }
}

/// Shows what it does: one large old write among small reads that keep coming.
fn main() {
    let limits =
        elevator::Limits { nr_requests: 64, queue_depth: 1, max_sectors: 1024, merge: false };
    let mut queue = elevator::Queue::new(&ROW, &Build::default(), limits);
    let bio = |cookie: u64, nr_sectors: u32| elevator::Bio {
        cookie,
        process: 0,
        op: if cookie == 0 { elevator::Op::Write } else { elevator::Op::Read },
        sector: 5000 * cookie,
        nr_sectors,
        sync: true,
        meta: false,
        priority: elevator::Priority::default(),
        release: None,
        deadline: None,
    };
    (0..4).for_each(|cookie| {
        queue.submit(Time::ZERO, bio(cookie, if cookie == 0 { 1024 } else { 8 }), &mut |_| {})
    });
    for ms in 0..24 {
        let now = Time::from_ns(ms * 1_000_000);
        let Some(&request) = queue.dispatch(now, &elevator::NoDisk) else { break };
        println!(
            "{ms:2} ms  {:5}  {:4} sectors at {:6}",
            request.op, request.nr_sectors, request.sector
        );
        queue.complete(now + 1_000_000, request.tag, &mut Vec::new());
        queue.admit_waiting(now + 1_000_000, &mut |_| {});
        queue.submit(now + 1_000_000, bio(4 + ms, 8), &mut |_| {});
    }
}
