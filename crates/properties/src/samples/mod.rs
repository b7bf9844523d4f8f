//! Small correct elevators, which together make every guarantee; mutants are derived from them.

mod flows;

use std::collections::BTreeMap;

use elevator::{
    Anticipation, BlockRequest, Build, Disk, Elevator, ElevatorKind, Evidence, Finished, Guarantee,
    InsertAt, Origin, Role, Time, Tunable,
};

pub use flows::{BOUNDS, CLASSES, FAIR, QUANTA};

/// One way; waits for a bounded time after each synchronous request for the same process's next,
/// and serves the oldest request after a number of others.
#[derive(Debug)]
struct Sample {
    sorted: BTreeMap<(u64, u64), BlockRequest>,
    /// By age, with the number of dispatches before each arrival.
    oldest: BTreeMap<u64, (BlockRequest, u64)>,
    dispatched: u64,
    head: Vec<BlockRequest>,
    at: u64,
    /// None: it does not idle.
    waits: Option<Waits>,
    wait_us: u64,
    patience: u64,
}

#[derive(Debug, Default)]
struct Waits {
    until: Option<Time>,
    since: Time,
    process: u32,
    counts: Anticipation,
}

impl Sample {
    fn new(waits: Option<Waits>, patience: u64) -> Sample {
        Sample {
            sorted: BTreeMap::new(),
            oldest: BTreeMap::new(),
            dispatched: 0,
            head: Vec::new(),
            at: 0,
            waits,
            wait_us: 2000,
            patience,
        }
    }

    fn add(&mut self, request: BlockRequest, stamp: u64) {
        self.sorted.insert((request.sector, request.seq), request);
        self.oldest.insert(request.seq, (request, stamp));
    }

    fn take(&mut self, request: BlockRequest) -> (BlockRequest, u64) {
        self.sorted.remove(&(request.sector, request.seq));
        self.oldest.remove(&request.seq).expect("it is held")
    }
}

impl Elevator for Sample {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        match at {
            InsertAt::Head => self.head.push(*request),
            InsertAt::Sorted => self.add(*request, self.dispatched),
        }
        if let Some(waits) = &mut self.waits
            && waits.until.is_some()
            && waits.process == request.process
        {
            waits.until = None;
            waits.counts.successes += 1;
            waits.counts.success_wait_ns += now - waits.since;
        }
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if let Some(request) = self.head.pop() {
            return Some(request.tag);
        }
        let (_, (oldest, stamp)) = self.oldest.first_key_value()?;
        if self.waits.as_ref().is_some_and(|waits| waits.until.is_some_and(|until| now < until)) {
            return None;
        }
        let expired = self.dispatched - stamp >= self.patience;
        let next = if expired {
            *oldest
        } else {
            let ahead =
                self.sorted.range((self.at, 0)..).next().or_else(|| self.sorted.first_key_value());
            *ahead.expect("both trees hold the same").1
        };
        self.at = next.end();
        self.dispatched += 1;
        self.take(next);
        Some(next.tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let held = self.oldest.values().any(|(held, _)| held.process == done.request.process);
        if let Some(waits) = &mut self.waits
            && done.request.sync
            && !held
            && waits.until.is_none()
            && self.wait_us > 0
        {
            (waits.until, waits.since, waits.process) =
                (Some(now + self.wait_us * 1000), now, done.request.process);
            waits.counts.started += 1;
        }
    }

    fn len(&self) -> usize {
        self.oldest.len() + self.head.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.waits.as_ref()?.until
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(waits) = &mut self.waits
            && waits.until.is_some_and(|until| until <= now)
        {
            waits.until = None;
            waits.counts.failures += 1;
            waits.counts.failure_wait_ns += now - waits.since;
        }
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let (_, stamp) = self.take(*before);
        self.add(*after, stamp);
    }

    fn coalesced(&mut self, _now: Time, _survivor: &BlockRequest, gone: &BlockRequest) {
        self.take(*gone);
    }

    fn exited(&mut self, _now: Time, process: u32) {
        if let Some(waits) = &mut self.waits
            && waits.process == process
        {
            waits.until = None;
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        if tunable == "wait" { self.wait_us } else { self.patience }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        *(if tunable == "wait" { &mut self.wait_us } else { &mut self.patience }) = value;
    }

    fn anticipation(&self) -> Option<Anticipation> {
        self.waits.as_ref().map(|waits| waits.counts)
    }
}

const TUNABLES: &[Tunable] = &[
    Tunable {
        name: "wait",
        unit: "µs",
        min: 0,
        max: 50_000,
        evidence: Evidence::Proposed,
        help: "duration of a wait",
        role: Role::Knob,
    },
    Tunable {
        name: "patience",
        unit: "requests",
        min: 0,
        max: 10_000,
        evidence: Evidence::Proposed,
        help: "requests dispatched before the oldest",
        role: Role::Knob,
    },
];

pub const SWEEP: ElevatorKind = ElevatorKind {
    name: "sample-sweep",
    origin: Origin::Literature,
    help: "one-way elevator",
    source: "these tests",
    evidence: Evidence::Proposed,
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::Ascending { descents: 1 },
        Guarantee::Sweeping { turns: 2 },
        Guarantee::AnyClock,
    ],
    tunables: TUNABLES,
    build: |_: &Build| Box::new(Sample::new(None, 10_000)),
};

/// It idles and bounds the waiting time: 63 older and 6 younger requests, with 2 ms of idling each,
/// take 1.5 s.
pub const IDLER: ElevatorKind = ElevatorKind {
    name: "sample-idler",
    help: "one-way elevator that waits for readers",
    guarantees: &[
        Guarantee::IdlesWithTimer,
        Guarantee::PassedAtMost { requests: 6 },
        Guarantee::WaitsAtMostMs(1540),
    ],
    build: |_: &Build| Box::new(Sample::new(Some(Waits::default()), 6)),
    ..SWEEP
};

pub const SAMPLES: &[ElevatorKind] = &[SWEEP, IDLER, FAIR, BOUNDS, QUANTA, CLASSES];
