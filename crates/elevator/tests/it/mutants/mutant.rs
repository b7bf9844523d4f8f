//! A correct elevator in a faulty wrapper.

use std::sync::atomic::{AtomicU64, Ordering};

use elevator::{
    Anticipation, BlockRequest, Build, DepthLimit, Disk, Elevator, ElevatorKind, Features,
    Finished, FlowSpec, InsertAt, Merge, NoDisk, Search, Time,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    LosesARequest,
    DispatchesTwice,
    GivesOutOfNothing,
    ChangesTheTag,
    KeepsTheLastForEver,
    DropsAProcessAtItsExit,
    LosesTheRequeued,
    CountsOneTooMany,
    CountsNothingAfterMerge,
    ForgetsTheCoalesced,
    JoinsReadsWithWrites,
    IdlesWithoutTimer,
    IdlesForEver,
    IdlesWhileInFlight,
    IdlesAtTheExtreme,
    GivesWhenAskedAgain,
    SwapsTwo,
    TurnsBack,
    StarvesOne,
    Overtakes,
    ReadsOneMore,
    IgnoresTheMaximum,
    SetsAllAtOnce,
    StartsOutOfRange,
    RemembersTheOneBefore,
    CountsFailuresTwice,
    TakesBackAWait,
    IgnoresWeights,
    IgnoresBounds,
    CompletesTwice,
    StopsAfterAStall,
    StopsWhenTimeFlies,
    StopsInThePast,
    KnowsFewProcesses,
    DropsARequestAtAWrite,
    LosesTheHeaviest,
    NeedsArrivals,
    SharesByProcess,
}

#[derive(Debug)]
pub(crate) struct Mutant {
    inner: Box<dyn Elevator>,
    fault: Fault,
    nr: u64,
    /// The request that a fault holds back or repeats.
    kept: Option<u32>,
    inserted: Option<BlockRequest>,
    asked: Option<Time>,
    in_flight: usize,
    merged: bool,
    extreme: bool,
    timer: Option<Time>,
    /// It no longer dispatches.
    stopped: bool,
    latest: Time,
    since_arrival: u32,
}

/// State outside a nondeterministic elevator.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);

impl Mutant {
    pub(crate) fn wrap(row: &ElevatorKind, build: &Build, fault: Fault) -> Box<dyn Elevator> {
        Box::new(Mutant {
            inner: (row.build)(build),
            fault,
            nr: 0,
            kept: None,
            inserted: None,
            asked: None,
            in_flight: 0,
            merged: false,
            extreme: false,
            timer: None,
            stopped: false,
            latest: Time::ZERO,
            since_arrival: 0,
        })
    }

    /// Stops on certain bad input.
    fn stop(&mut self, now: Time) {
        let flies = self.latest > Time::ZERO && now > self.latest + 3_000_000_000_000;
        self.stopped |= self.fault == Fault::StopsWhenTimeFlies && flies;
        self.stopped |= self.fault == Fault::StopsInThePast && now < self.latest;
        self.stopped |= self.fault == Fault::NeedsArrivals && self.since_arrival > 3;
        self.latest = self.latest.max(now);
    }

    /// Returns the next request, or another first and this one after it.
    fn swapped(&mut self, now: Time, disk: &dyn Disk, swap: bool) -> Option<u32> {
        if let Some(kept) = self.kept.take() {
            return Some(kept);
        }
        let first = self.inner.dispatch(now, disk)?;
        match swap.then(|| self.inner.dispatch(now, disk)).flatten() {
            Some(second) => {
                self.kept = Some(first);
                Some(second)
            }
            None => Some(first),
        }
    }

    /// Holds one request back while there are others.
    fn starving(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        match self.inner.dispatch(now, disk) {
            Some(tag) if self.kept.is_none() && self.nr == 1 => {
                let other = self.inner.dispatch(now, disk);
                self.kept = other.and(Some(tag));
                other.or(Some(tag))
            }
            Some(tag) => Some(tag),
            None if self.inner.is_empty() => self.kept.take(),
            None => None,
        }
    }
}

impl Elevator for Mutant {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        if self.fault == Fault::LosesTheRequeued && at == InsertAt::Head {
            return;
        }
        if self.fault == Fault::JoinsReadsWithWrites {
            self.inserted = Some(*request);
        }
        if self.fault == Fault::KnowsFewProcesses && request.process >= 16 {
            return;
        }
        self.since_arrival = 0;
        self.inner.insert(now, request, at);
    }

    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        let holds = self.inner.len();
        self.stop(now);
        if self.stopped {
            return None;
        }
        self.nr += u64::from(holds > 0);
        let given = match self.fault {
            Fault::LosesARequest if self.nr % 7 == 6 => {
                self.inner.dispatch(now, disk);
                self.inner.dispatch(now, disk)
            }
            Fault::DispatchesTwice if self.kept.is_some() => self.kept.take(),
            Fault::GivesOutOfNothing if holds == 0 && self.kept.is_some() => self.kept,
            Fault::KeepsTheLastForEver if holds == 1 => return None,
            Fault::IdlesWithoutTimer if self.nr % 5 == 4 => return None,
            Fault::IdlesForEver if self.nr % 5 == 4 => {
                self.nr -= 1;
                self.timer = (holds > 0)
                    .then(|| self.timer.filter(|timer| *timer > now).unwrap_or(now + 1_000_000));
                return None;
            }
            Fault::IdlesWhileInFlight if self.in_flight > 0 => return None,
            Fault::IdlesAtTheExtreme if self.extreme => return None,
            Fault::GivesWhenAskedAgain if holds > 0 && self.asked != Some(now) => {
                self.asked = Some(now);
                self.timer = Some(now + 1000);
                return None;
            }
            Fault::SwapsTwo | Fault::TurnsBack => {
                self.swapped(now, disk, self.nr.is_multiple_of(4))
            }
            Fault::RemembersTheOneBefore => {
                let swap = OUTSIDE.fetch_add(1, Ordering::Relaxed) % 5 == 4;
                self.swapped(now, disk, swap)
            }
            Fault::StarvesOne => self.starving(now, disk),
            Fault::Overtakes => self.swapped(now, disk, self.nr == 3),
            _ => self.inner.dispatch(now, disk),
        };
        self.inserted = None;
        self.in_flight += usize::from(given.is_some());
        self.timer = None;
        match (self.fault, given) {
            (Fault::DispatchesTwice, Some(tag)) if self.nr % 6 == 5 => self.kept = Some(tag),
            (Fault::GivesOutOfNothing, Some(tag)) => self.kept = Some(tag),
            (Fault::ChangesTheTag, Some(tag)) if self.nr % 6 == 5 => return Some(tag + 1),
            _ => {}
        }
        given
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        self.in_flight -= 1;
        self.since_arrival += 1;
        let stall = now > done.issued + 5_000_000_000;
        self.stopped |= self.fault == Fault::StopsAfterAStall && stall;
        self.inner.complete(now, done);
        if self.fault == Fault::CompletesTwice {
            self.inner.complete(now, done);
        }
    }

    fn len(&self) -> usize {
        let back = matches!(
            self.fault,
            Fault::SwapsTwo
                | Fault::TurnsBack
                | Fault::StarvesOne
                | Fault::Overtakes
                | Fault::RemembersTheOneBefore
        );
        let all = self.inner.len() + usize::from(back && self.kept.is_some());
        match self.fault {
            Fault::CountsOneTooMany => all + usize::from(all == 3),
            Fault::CountsNothingAfterMerge => all - usize::from(self.merged && all > 1),
            _ => all,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer().into_iter().chain(self.timer).min()
    }

    fn on_timer(&mut self, now: Time) {
        self.timer = self.timer.filter(|timer| *timer > now);
        self.inner.on_timer(now);
    }

    fn bio_merge(&mut self, bio: &BlockRequest, max_sectors: u32) -> Search {
        match (self.fault, self.inserted) {
            // Finds by sector alone: the queue must refuse a different direction.
            (Fault::JoinsReadsWithWrites, Some(last)) => {
                Search::Own((last.end() == bio.sector).then_some((last.tag, Merge::Back)))
            }
            _ => self.inner.bio_merge(bio, max_sectors),
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, how: Merge) -> bool {
        self.inner.allow_merge(request, bio, how)
    }

    fn features(&self) -> Features {
        self.inner.features()
    }

    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.merged = true;
        self.inner.merged(now, before, after);
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        if self.fault != Fault::ForgetsTheCoalesced {
            self.inner.coalesced(now, survivor, gone);
        }
    }

    fn exited(&mut self, now: Time, process: u32) {
        self.inner.exited(now, process);
        if self.fault == Fault::DropsAProcessAtItsExit {
            self.inner.dispatch(now, &NoDisk);
        }
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        let flow = if self.fault == Fault::SharesByProcess { process } else { flow };
        self.stopped |= self.fault == Fault::LosesTheHeaviest && spec.weight == Some(u32::MAX);
        let spec = match self.fault {
            Fault::IgnoresWeights => FlowSpec { weight: None, ..*spec },
            Fault::IgnoresBounds => FlowSpec { latency_ns: None, ..*spec },
            _ => *spec,
        };
        self.inner.flow(process, flow, &spec);
    }

    fn get(&self, tunable: &str) -> u64 {
        let value = self.inner.get(tunable);
        match self.fault {
            Fault::ReadsOneMore => value + 1,
            Fault::StartsOutOfRange if self.nr == 0 => u64::MAX,
            _ => value,
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.extreme = value == 50_000;
        if self.fault == Fault::DropsARequestAtAWrite {
            self.inner.dispatch(self.latest, &NoDisk);
        }
        match self.fault {
            Fault::IgnoresTheMaximum if value == 10_000 => self.inner.set(tunable, value - 1),
            Fault::SetsAllAtOnce => {
                ["wait", "patience"].into_iter().for_each(|name| self.inner.set(name, value))
            }
            _ => self.inner.set(tunable, value),
        }
    }

    fn limit_depth(&self, request: &BlockRequest, word: u32) -> DepthLimit {
        self.inner.limit_depth(request, word)
    }

    fn min_shallow_depth(&self, bits: u32) -> u32 {
        self.inner.min_shallow_depth(bits)
    }

    fn anticipation(&self) -> Option<Anticipation> {
        let of = self.inner.anticipation()?;
        Some(match self.fault {
            Fault::CountsFailuresTwice => Anticipation { failures: 2 * of.failures, ..of },
            Fault::TakesBackAWait => {
                Anticipation { started: of.started + 10 - of.successes.min(10), ..of }
            }
            _ => of,
        })
    }
}
