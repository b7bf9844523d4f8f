//! kyber: order of arrival with a limit of requests in flight that adapts to latency targets.
//!
//! Each kind of request (domain) has tokens, one per request in flight: at most 256 for reads, 128
//! for writes. 100 ms after a completion, a timer compares latencies with the targets and adjusts
//! the number of tokens. Each hardware queue serves the software queues of its CPUs, with its own
//! batches; tokens and histograms are per device.
//!
//! Source: Linux 6.12 block/kyber-iosched.c; differences of 6.1 and 7.3 (switch `linux`); confirmed.
//! Parameters (default): read_lat_nsec 2 ms, write_lat_nsec 10 ms, async_depth 3/4 of the tags.
//!
//! Derived: both percentiles of a domain share a one-second timeout, which the check of I/O latency
//! clears, so under steady traffic total latency is evaluated only after 500 samples. The row's
//! bound on waits: at most 126 of its domain flushed before or with a request, each alone in flight
//! with 16 of the other domain and the return of one token, 20 ms each.
//!
//! Departures: only reads and writes; a CPU per process unless `cpus` is lower; hardware queues are
//! served in turn, one request each (proposed); after the number of tokens shrinks, none is granted
//! until fewer are in use (the kernel ignores those beyond the new end of its bitmap); a bio is
//! compared with all requests of its software queue, not the last eight. As in the kernel, requests
//! do not merge.

mod domain;

use std::collections::VecDeque;

use crate::clock::Clock;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{DepthLimit, Disk, Elevator, Features, InsertAt, Merge};
use crate::topology::Topology;
use crate::vocabulary::{LINUX_7, LINUX_VERSION, Op, Time};
use domain::{DOMAINS, Domain, GOOD_BUCKETS, Kind, MAX_DEPTH};

/// It waits only for completions, so it never refuses with nothing in flight.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "kyber",
    origin: Origin::BlkMq,
    help: "keeps latencies within targets by limiting reads and writes in flight; for fast devices",
    source: "Linux 6.12 block/kyber-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::WaitsAtMostMs(44_000)],
    tunables: &[
        Tunable::confirmed("read_lat_nsec", "ns", 0, MAX_TARGET, "target latency of reads"),
        Tunable::confirmed("write_lat_nsec", "ns", 0, MAX_TARGET, "target latency of writes"),
        Tunable::ASYNC_DEPTH,
        Tunable::linux_version(
            "601, 612, 703: as that Linux; 601: freed tags wake one wait queue's clients; 703: async_depth limits synchronous writes too",
        ),
    ],
    build,
};

const BATCH: [u32; DOMAINS] = [16, 8];
const MAX_TARGET: u64 = i64::MAX as u64;

/// A hardware queue's requests of one domain.
#[derive(Debug, Default)]
struct Held {
    /// Tags by software queue, then arrival (negative at the head). Unsorted until flushed.
    queued: Vec<((u32, i64), u32)>,
    /// Flushed from the software queues; dispatched first, no longer merged.
    flushed: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct HwQueue {
    held: [Held; DOMAINS],
    current: usize,
    batching: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its number in its software queue.
    Queued(i64),
    Flushed,
    InFlight,
}

#[derive(Debug)]
struct Kyber {
    clock: Clock,
    domains: [Domain; DOMAINS],
    queues: Vec<HwQueue>,
    next_queue: usize,
    /// By tag.
    states: Vec<Option<State>>,
    /// Next numbers at the tail and head.
    numbers: [i64; 2],
    /// The jiffy of the next latency check, and its time.
    timer: Option<(u64, Time)>,
    tags: u32,
    async_depth: u64,
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
        states: vec![None; build.nr_tags as usize],
        numbers: [0, -1],
        timer: None,
        tags: build.tags_of_queue(),
        async_depth: (u64::from(build.tags_of_queue()) * 3 / 4).max(1),
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
    fn software_queue(&self, request: &BlockRequest) -> u32 {
        self.topology.cpu(request.process)
    }

    fn held(&mut self, request: &BlockRequest) -> &mut Held {
        let queue = self.topology.hw_queue(request.process) as usize;
        &mut self.queues[queue].held[domain(request.op)]
    }

    fn state(&mut self, tag: u32) -> &mut State {
        self.states[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    /// kyber_dispatch_cur_domain. Flushes only with a token available: unflushed requests can still
    /// merge.
    fn serve_current(&mut self, queue: usize) -> Option<u32> {
        let queue = &mut self.queues[queue];
        let domain = &mut self.domains[queue.current];
        if domain.in_use >= domain.depth {
            return None;
        }
        let Held { queued, flushed } = &mut queue.held[queue.current];
        if flushed.is_empty() {
            queued.sort_unstable();
            flushed.extend(queued.drain(..).map(|(_, tag)| tag));
            flushed.iter().for_each(|tag| self.states[*tag as usize] = Some(State::Flushed));
        }
        let tag = flushed.pop_front()?;
        domain.in_use += 1;
        queue.batching += 1;
        self.len -= 1;
        *self.state(tag) = State::InFlight;
        Some(tag)
    }

    fn serve(&mut self, queue: usize) -> Option<u32> {
        let HwQueue { current, batching, .. } = self.queues[queue];
        if batching < BATCH[current]
            && let Some(tag) = self.serve_current(queue)
        {
            return Some(tag);
        }
        self.queues[queue].batching = 0;
        for _ in 0..DOMAINS {
            self.queues[queue].current = (self.queues[queue].current + 1) % DOMAINS;
            if let Some(tag) = self.serve_current(queue) {
                return Some(tag);
            }
        }
        None
    }

    fn remove(&mut self, request: &BlockRequest) {
        let state = self.states[request.tag as usize].take();
        let queue = self.software_queue(request);
        let held = self.held(request);
        match state.expect("the tag belongs to a held request") {
            State::Queued(number) => {
                let at = held.queued.iter().position(|(key, _)| *key == (queue, number));
                held.queued.swap_remove(at.expect("the request is in its software queue"));
            }
            State::Flushed => held.flushed.retain(|flushed| *flushed != request.tag),
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
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        let tag = request.tag as usize;
        if tag >= self.states.len() {
            self.states.resize(tag + 1, None);
        }
        let queue = self.software_queue(request);
        // A request returned by the driver releases its token.
        if self.states[tag].is_some() {
            self.domains[domain(request.op)].in_use -= 1;
        }
        let [tail, head] = &mut self.numbers;
        let number = match at {
            InsertAt::Sorted => std::mem::replace(tail, *tail + 1),
            InsertAt::Head => std::mem::replace(head, *head - 1),
        };
        self.held(request).queued.push(((queue, number), request.tag));
        self.states[tag] = Some(State::Queued(number));
        self.len += 1;
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        let count = self.queues.len();
        for turn in 0..count {
            let queue = (self.next_queue + turn) % count;
            if let Some(tag) = self.serve(queue) {
                self.next_queue = (queue + 1) % count;
                return Some(tag);
            }
        }
        None
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let state = self.states[done.request.tag as usize].take();
        debug_assert_eq!(state, Some(State::InFlight), "a completed request was dispatched");
        let domain = &mut self.domains[domain(done.request.op)];
        domain.in_use -= 1;
        domain.sample(Kind::Total, now - done.request.allocated);
        domain.sample(Kind::Io, now - done.issued);
        let due = self.clock.jiffies(now) + (self.clock.hz() / 10).max(1);
        if self.timer.is_none_or(|(timer, _)| due < timer) {
            self.timer = Some((due, self.clock.tick_start(due)));
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
        let is_free = request.sync && (request.op == Op::Read || self.linux < LINUX_7);
        let limit = self.min_shallow_depth(self.tags).max(1);
        if is_free { DepthLimit::None } else { DepthLimit::OfKind(limit) }
    }

    fn features(&self) -> Features {
        Features { coalesces: false, ..Features::default() }
    }

    fn min_shallow_depth(&self, bits: u32) -> u32 {
        let set = u32::try_from(self.async_depth).unwrap_or(bits);
        if self.linux < LINUX_7 { bits * 3 / 4 } else { set }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        self.software_queue(request) == self.software_queue(bio)
            && matches!(self.states[request.tag as usize], Some(State::Queued(_)))
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        // The queue does not call this (see `features`); the survivor gets the older position.
        let states = [survivor, gone].map(|request| *self.state(request.tag));
        self.remove(gone);
        if let [State::Queued(own), State::Queued(other)] = states
            && self.software_queue(survivor) == self.software_queue(gone)
            && other < own
        {
            let queue = self.software_queue(survivor);
            let queued = &mut self.held(survivor).queued;
            let entry = queued.iter_mut().find(|(key, _)| *key == (queue, own));
            entry.expect("the survivor is in its software queue").0.1 = other;
            *self.state(survivor.tag) = State::Queued(other);
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "async_depth" => self.async_depth,
            "linux" => self.linux,
            _ => self.domains[tunable_domain(tunable)].target_ns,
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "async_depth" => self.async_depth = value,
            "linux" => self.linux = value,
            _ => self.domains[tunable_domain(tunable)].target_ns = value,
        }
    }
}

#[cfg(test)]
mod tests;
