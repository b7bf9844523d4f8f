//! kyber: order of arrival, with a limit of requests in flight that adapts to latency targets.
//!
//! Problem: a fast device with many requests in flight exceeds the latencies that reads need.
//!
//! Approach: each kind of request (a domain) has tokens, one for each request in flight: at most
//! 256 for reads, 128 for writes. 100 ms after a completion a timer compares latencies with the
//! targets, and adjusts the numbers of tokens.
//!
//! Source: Linux 6.12 block/kyber-iosched.c; confirmed.
//!
//! Parameters (default): read_lat_nsec 2 ms, write_lat_nsec 10 ms.
//!
//! Derived from the source: the two percentiles of a domain share one timeout of a second. The
//! check of the I/O latency clears the timeout that the check of the total latency would use, so
//! under steady traffic the total latency is evaluated after 500 samples only, never after a
//! second.
//!
//! The bound on waits in the row is derived: a request waits for those that were taken out of the
//! software queues before it and with it, 126 of its domain at most; at worst each is alone in
//! flight, with 16 of the other domain and the return of the one token before it, 20 ms each.
//!
//! Software queues belong to CPUs, and each hardware queue empties those of its own CPUs, with
//! batches of its own; tokens and histograms are the device's.
//!
//! Departures: only the domains of reads and writes exist. A process is on a CPU of its own unless
//! there are fewer (`cpus`). Hardware queues are asked in turn, one request each (proposed; the
//! kernel asks that of the CPU that submits, and one that waits for a token when one is returned).
//! After the number of tokens has shrunk, none is given until fewer are in use (the kernel ignores
//! those in use whose number is beyond the new end of its bitmap). The kernel compares an arriving
//! bio with the last eight requests of its software queue, the queue here with all of them. As
//! there, bios are merged into requests, but requests are not merged with each other.

mod domain;

use std::collections::VecDeque;

use crate::clock::Clock;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{DepthLimit, Disk, Elevator, Features, InsertAt, Merge};
use crate::topology::Topology;
use crate::vocabulary::{LINUX_VERSION, Op, Time};
use domain::{DOMAINS, Domain, GOOD_BUCKETS, Kind, MAX_DEPTH};

/// The row of the table. It waits for completions only, so with nothing in flight it never refuses.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "kyber",
    origin: Origin::BlkMq,
    help: "keeps latencies within targets by limiting reads and writes in flight; for fast devices",
    source: "Linux 6.12 block/kyber-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::WaitsAtMostMs(44_000)],
    tunables: &[
        Tunable {
            name: "read_lat_nsec",
            unit: "ns",
            min: 0,
            max: i64::MAX as u64,
            evidence: Evidence::Confirmed,
            help: "target latency of reads",
            role: Role::Knob,
        },
        Tunable {
            name: "write_lat_nsec",
            unit: "ns",
            min: 0,
            max: i64::MAX as u64,
            evidence: Evidence::Confirmed,
            help: "target latency of writes",
            role: Role::Knob,
        },
        Tunable::linux_version(
            "612: as Linux 6.12; less: as 6.1 (freed tags wake the clients of one wait queue)",
        ),
    ],
    build,
};

const BATCH: [u32; DOMAINS] = [16, 8];
const ASYNC_PERCENT: u64 = 75;

/// A hardware queue's requests of one domain.
#[derive(Debug, Default)]
struct Held {
    /// By software queue, then in order of arrival; what was inserted at the head has a negative
    /// number. In any order: they are sorted when the software queues are emptied.
    queued: Vec<((u32, i64), u32)>,
    /// Taken out of the software queues; dispatched first, and not merged any more.
    flushed: VecDeque<u32>,
}

/// A hardware queue.
#[derive(Debug, Default)]
struct HwQueue {
    held: [Held; DOMAINS],
    current: usize,
    batching: u32,
}

/// What is known of a tag.
#[derive(Debug, Clone, Copy)]
struct Slot {
    request: BlockRequest,
    place: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In its software queue, under this number.
    Queued(i64),
    Flushed,
    InFlight,
}

#[derive(Debug)]
struct Kyber {
    clock: Clock,
    domains: [Domain; DOMAINS],
    queues: Vec<HwQueue>,
    /// The hardware queue that is asked first.
    next_queue: usize,
    slots: Vec<Option<Slot>>,
    /// Numbers of the next requests at the tail and at the head.
    numbers: [i64; 2],
    /// The jiffy of the next look at the latencies, and when it begins.
    timer: Option<(u64, Time)>,
    async_depth: u32,
    topology: Topology,
    linux: u64,
    len: usize,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Kyber {
        clock: Clock::new(build.hz),
        domains: [Domain::new(MAX_DEPTH[0], 2_000_000), Domain::new(MAX_DEPTH[1], 10_000_000)],
        queues: (0..build.topology.hw_queues()).map(|_| HwQueue::default()).collect(),
        next_queue: 0,
        slots: vec![None; build.nr_tags as usize],
        numbers: [0, -1],
        timer: None,
        async_depth: ((u64::from(build.tags_of_queue()) * ASYNC_PERCENT / 100) as u32).max(1),
        topology: build.topology,
        linux: LINUX_VERSION,
        len: 0,
    })
}

fn domain(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

fn tunable_domain(tunable: &str) -> usize {
    match tunable {
        "read_lat_nsec" => 0,
        "write_lat_nsec" => 1,
        _ => unreachable!("kyber has no tunable {tunable}"),
    }
}

impl Kyber {
    /// The software queue of a request.
    fn software_queue(&self, request: &BlockRequest) -> u32 {
        self.topology.cpu(request.process)
    }

    /// The requests of a request's hardware queue and domain.
    fn held(&mut self, request: &BlockRequest) -> &mut Held {
        let queue = self.topology.hw_queue(request.process) as usize;
        &mut self.queues[queue].held[domain(request.op)]
    }

    fn slot(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    /// The next request of a hardware queue's current domain, if there is one and a token for it.
    /// The software queues are emptied only when there is a token: what waits in them can still
    /// merge.
    fn serve_current(&mut self, queue: usize) -> Option<BlockRequest> {
        let queue = &mut self.queues[queue];
        let domain = &mut self.domains[queue.current];
        if domain.in_use >= domain.depth {
            return None;
        }
        let Held { queued, flushed } = &mut queue.held[queue.current];
        if flushed.is_empty() {
            queued.sort_unstable();
            flushed.extend(queued.drain(..).map(|(_, tag)| tag));
            for tag in flushed.iter() {
                let slot =
                    self.slots[*tag as usize].as_mut().expect("queued tags belong to requests");
                slot.place = State::Flushed;
            }
        }
        let tag = flushed.pop_front()?;
        domain.in_use += 1;
        queue.batching += 1;
        self.len -= 1;
        let slot = self.slot(tag);
        slot.place = State::InFlight;
        Some(slot.request)
    }

    /// The next request of a hardware queue.
    fn serve(&mut self, queue: usize) -> Option<BlockRequest> {
        let HwQueue { current, batching, .. } = self.queues[queue];
        if batching < BATCH[current]
            && let Some(request) = self.serve_current(queue)
        {
            return Some(request);
        }
        self.queues[queue].batching = 0;
        for _ in 0..DOMAINS {
            self.queues[queue].current = (self.queues[queue].current + 1) % DOMAINS;
            if let Some(request) = self.serve_current(queue) {
                return Some(request);
            }
        }
        None
    }

    /// Takes a request that is held out of its queue.
    fn remove(&mut self, tag: u32) {
        let slot = self.slots[tag as usize].take().expect("the tag belongs to a held request");
        let queue = self.software_queue(&slot.request);
        let held = self.held(&slot.request);
        match slot.place {
            State::Queued(number) => {
                let at = held.queued.iter().position(|(key, _)| *key == (queue, number));
                held.queued.swap_remove(at.expect("the request is in its software queue"));
            }
            State::Flushed => held.flushed.retain(|flushed| *flushed != tag),
            State::InFlight => unreachable!("a request that is in flight is not merged"),
        }
        self.len -= 1;
    }

    fn resize(&mut self, domain: usize, percentile: usize) {
        let depth = &mut self.domains[domain].depth;
        *depth = (*depth * (percentile as u32 + 1) / 4).clamp(1, MAX_DEPTH[domain]);
    }
}

impl Elevator for Kyber {
    fn insert(&mut self, _now: Time, request: BlockRequest, at: InsertAt) {
        let tag = request.tag as usize;
        if tag >= self.slots.len() {
            self.slots.resize(tag + 1, None);
        }
        let queue = self.software_queue(&request);
        // A request returned by the driver releases its token.
        if self.slots[tag].is_some() {
            self.domains[domain(request.op)].in_use -= 1;
        }
        let [tail, head] = &mut self.numbers;
        let number = match at {
            InsertAt::Sorted => std::mem::replace(tail, *tail + 1),
            InsertAt::Head => std::mem::replace(head, *head - 1),
        };
        self.held(&request).queued.push(((queue, number), request.tag));
        self.slots[tag] = Some(Slot { request, place: State::Queued(number) });
        self.len += 1;
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<BlockRequest> {
        let count = self.queues.len();
        for turn in 0..count {
            let queue = (self.next_queue + turn) % count;
            if let Some(request) = self.serve(queue) {
                self.next_queue = (queue + 1) % count;
                return Some(request);
            }
        }
        None
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let slot = &mut self.slots[done.request.tag as usize];
        let held = slot.as_ref().expect("a completed request was dispatched");
        debug_assert_eq!(held.place, State::InFlight, "a completed request was dispatched");
        let domain = &mut self.domains[domain(held.request.op)];
        domain.in_use -= 1;
        domain.sample(Kind::Total, now - held.request.allocated);
        *slot = None;
        domain.sample(Kind::Io, now - done.issued);
        let due = self.clock.jiffies(now) + (self.clock.hz() / 10).max(1);
        if self.timer.is_none_or(|(timer, _)| due < timer) {
            self.timer = Some((due, self.clock.at(due)));
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer.map(|(_, at)| at)
    }

    fn on_timer(&mut self, now: Time) {
        let (clock, jiffies) = (self.clock, self.clock.jiffies(now));
        if self.timer.is_none_or(|(timer, _)| timer > jiffies) {
            return;
        }
        self.timer = None;
        let mut bad = false;
        for domain in &mut self.domains {
            bad |= domain
                .percentile(clock, jiffies, Kind::Io, 90)
                .is_some_and(|bucket| bucket >= GOOD_BUCKETS);
        }
        for at in 0..DOMAINS {
            let domain = &mut self.domains[at];
            let mut p99 = domain.percentile(clock, jiffies, Kind::Total, 99);
            if bad {
                p99 = p99.or(domain.remembered);
                domain.remembered = None;
            } else if p99.is_some() {
                domain.remembered = p99;
            }
            if let Some(bucket) = p99.filter(|bucket| bad || *bucket >= GOOD_BUCKETS) {
                self.resize(at, bucket);
            }
        }
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        if request.sync { DepthLimit::None } else { DepthLimit::OfKind(self.async_depth) }
    }

    fn features(&self) -> Features {
        Features {
            coalesces: false,
            min_shallow_depth: Some(|bits| bits * 3 / 4),
            ..Features::default()
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        let place = self.slots[request.tag as usize].as_ref().map(|slot| slot.place);
        self.software_queue(request) == self.software_queue(bio)
            && matches!(place, Some(State::Queued(_)))
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.slot(before.tag).request = *after;
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        // The queue does not call this (see `features`); the merged request gets the older one's
        // position.
        let places = [survivor, gone].map(|request| self.slot(request.tag).place);
        self.remove(gone.tag);
        if let [State::Queued(own), State::Queued(other)] = places
            && self.software_queue(survivor) == self.software_queue(gone)
            && other < own
        {
            let queue = self.software_queue(survivor);
            let queued = &mut self.held(survivor).queued;
            let entry = queued.iter_mut().find(|(key, _)| *key == (queue, own));
            entry.expect("the survivor is in its software queue").0.1 = other;
            self.slot(survivor.tag).place = State::Queued(other);
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "linux" => self.linux,
            _ => self.domains[tunable_domain(tunable)].target_ns,
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "linux" => self.linux = value,
            _ => self.domains[tunable_domain(tunable)].target_ns = value,
        }
    }
}

#[cfg(test)]
mod tests;
