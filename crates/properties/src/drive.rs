//! Runs an elevator in virtual time, with or without its queue, and logs events up to the first
//! failure that prevents continuing.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use elevator::{
    Anticipation, Bio, BlockRequest, Build, Counters, Disk, Elevator, ElevatorKind, Entry,
    Finished, InsertAt, Op, Queue, Time,
};

use elevator::testing::request;

use crate::input::{Input, Setting, Step};

/// Longer idling with default tunables counts as stuck. Far above throttling: iocost idles for 2.1
/// to 3 s on a disk slower than its preset.
const ENDLESS_NS: u64 = 10_000_000_000;
/// More timers without a dispatch count as stuck.
const ENDLESS_TIMERS: u32 = 20_000;

/// Despite held requests and room in the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) at: Time,
    pub(crate) held: usize,
    pub(crate) in_flight: usize,
    pub(crate) timer: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Requests are held, without any in flight, arrival or timer.
    Stuck(String),
    /// It idles with a timer, endlessly.
    Endless(String),
    /// Not held.
    Wrong(String),
    /// The queue or the elevator panicked.
    Panic(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) inserted: Vec<(Time, BlockRequest)>,
    pub(crate) dispatched: Vec<(Time, BlockRequest)>,
    pub(crate) completed: Vec<(Time, BlockRequest)>,
    pub(crate) done: Vec<u64>,
    pub(crate) merged: u64,
    pub(crate) refusals: Vec<Refusal>,
    /// Only the second of two dispatches returned a request.
    pub(crate) asked_again: Vec<Time>,
    /// (time, reported length, expected length)
    pub(crate) lengths: Vec<(Time, usize, usize)>,
    pub(crate) anticipations: Vec<Anticipation>,
    pub(crate) counters: Counters,
    pub(crate) left: usize,
    pub(crate) failure: Option<Failure>,
}

/// A head that stays at the end of the last request.
#[derive(Debug, Default)]
pub(crate) struct Head(Cell<u64>);

impl Head {
    pub(crate) fn record_move(&self, request: &BlockRequest) {
        self.0.set(request.end());
    }
}

impl Disk for Head {
    fn positioning_ns(&self, _now: Time, request: &BlockRequest) -> u64 {
        self.0.get().abs_diff(request.sector) * 10
    }
}

/// `requeue`: the device requeues every n-th dispatch once.
pub(crate) fn run_in_queue(kind: &ElevatorKind, input: &Input, requeue: Option<usize>) -> Log {
    let mut log = Log::default();
    let mut queue = Queue::new(kind, &input.build(), input.limits());
    input.set(kind, queue.elevator_mut());
    drive(&mut InQueue { queue, requeue, cookies: 0 }, input, &mut log);
    log
}

/// No queue and no merges. Arrivals wait while `nr_requests` are allocated.
pub(crate) fn run_without_queue(kind: &ElevatorKind, input: &Input) -> Log {
    let mut log = Log::default();
    drive(&mut Bare::new(kind, &input.build(), input), input, &mut log);
    log
}

trait Driven {
    fn step(&mut self, now: Time, step: &Step, log: &mut Log);
    fn dispatch(&mut self, now: Time, head: &Head) -> Result<Option<BlockRequest>, Failure>;
    /// Returns whether it requeued instead.
    fn complete(
        &mut self,
        now: Time,
        request: &BlockRequest,
        issued: Time,
        nr: usize,
        log: &mut Log,
    ) -> bool;
    fn may_step(&self) -> bool;
    fn elevator(&mut self) -> &mut dyn Elevator;
    fn len_expected(&self) -> usize;
    fn counters(&self) -> Counters;
    fn waiting(&self) -> usize;
}

fn drive(driven: &mut dyn Driven, input: &Input, log: &mut Log) {
    let ended = catch_panic(|| run(driven, input, log));
    let failure = match ended {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(Failure::Panic(panic)),
    };
    log.failure = failure;
    log.counters = driven.counters();
}

struct InFlight {
    due: Time,
    issued: Time,
    nr: usize,
    request: BlockRequest,
}

fn run(driven: &mut dyn Driven, input: &Input, log: &mut Log) -> Result<(), Failure> {
    let head = Head::default();
    let defaults = input.settings.iter().all(|setting| *setting == Setting::Default);
    let (mut now, mut next, mut timers, mut quiet_since) = (Time::ZERO, 0, 0u32, Time::ZERO);
    let mut arrival = input.steps.first().map(|step| Time::from_ns(step.gap_ns));
    let mut in_flight: Vec<InFlight> = Vec::new();
    loop {
        while in_flight.len() < input.queue_depth as usize {
            let mut given = driven.dispatch(now, &head)?;
            log.lengths.push((now, driven.elevator().len(), driven.len_expected()));
            if given.is_none() && !driven.elevator().is_empty() {
                let timer = driven.elevator().next_timer();
                log.refusals.push(Refusal {
                    at: now,
                    held: driven.len_expected(),
                    in_flight: in_flight.len(),
                    timer,
                });
                given = driven.dispatch(now, &head)?;
                log.asked_again.extend(given.map(|_| now));
            }
            let Some(request) = given else { break };
            head.record_move(&request);
            let nr = log.dispatched.len();
            log.dispatched.push((now, request));
            in_flight.push(InFlight { due: now + input.service(nr), issued: now, nr, request });
            (timers, quiet_since) = (0, now);
        }
        log.anticipations.extend(driven.elevator().anticipation());
        let step_at = arrival.filter(|_| driven.may_step()).map(|at| at.max(now));
        let done_at = in_flight.iter().map(|one| one.due).min();
        let held = driven.elevator().len();
        if step_at.is_none() && done_at.is_none() && held == 0 {
            log.left = driven.len_expected() + driven.waiting();
            return Ok(());
        }
        let timer_at = driven.elevator().next_timer().map(|at| at.max(now));
        let Some(at) = [step_at, done_at, timer_at].into_iter().flatten().min() else {
            return Err(Failure::Stuck(format!(
                "at {now:?} {held} requests are held, none is in flight, and there is no timer"
            )));
        };
        now = at;
        if done_at == Some(at) {
            // Issued last among those due: devices complete in any order.
            let which = in_flight.iter().rposition(|one| one.due == at).expect("one is due");
            let InFlight { issued, nr, request, .. } = in_flight.swap_remove(which);
            if !driven.complete(now, &request, issued, nr, log) {
                log.completed.push((now, request));
            }
            (timers, quiet_since) = (0, now);
        } else if step_at == Some(at) {
            driven.step(now, &input.steps[next], log);
            next += 1;
            arrival = input.steps.get(next).map(|step| now + step.gap_ns);
            (timers, quiet_since) = (0, now);
        } else {
            driven.elevator().on_timer(now);
            timers += 1;
            if held > 0 && in_flight.is_empty() && defaults && now - quiet_since > ENDLESS_NS
                || timers > ENDLESS_TIMERS
            {
                return Err(Failure::Endless(format!(
                    "idle since {quiet_since:?}, for {timers} timers, with {held} held requests"
                )));
            }
        }
    }
}

struct InQueue {
    queue: Queue,
    requeue: Option<usize>,
    cookies: u64,
}

impl Driven for InQueue {
    fn step(&mut self, now: Time, step: &Step, log: &mut Log) {
        if step.exit {
            return self.queue.exited(now, step.process);
        }
        let bio = Bio {
            cookie: self.cookies,
            process: step.process,
            op: step.op,
            sector: step.sector,
            nr_sectors: step.nr_sectors,
            sync: step.sync,
            meta: step.meta,
            priority: step.priority,
            release: None,
            deadline: None,
        };
        self.cookies += 1;
        self.queue.submit(now, bio, &mut |entry| log_entry(now, entry, log));
    }

    fn dispatch(&mut self, now: Time, head: &Head) -> Result<Option<BlockRequest>, Failure> {
        Ok(self.queue.dispatch(now, head).copied())
    }

    fn complete(
        &mut self,
        now: Time,
        request: &BlockRequest,
        issued: Time,
        nr: usize,
        log: &mut Log,
    ) -> bool {
        if self.requeue.is_some_and(|every| nr % every == every - 1) {
            self.queue.requeue(now, request.tag);
            return true;
        }
        let mut done = Vec::new();
        let finished = *self.queue.complete(now, request.tag, &mut done);
        self.queue.admit_waiting(now, &mut |entry| log_entry(now, entry, log));
        assert_eq!(
            finished,
            Finished { request: *request, issued },
            "the completed request is the dispatched one"
        );
        log.done.extend(done);
        false
    }

    fn may_step(&self) -> bool {
        true
    }

    fn elevator(&mut self) -> &mut dyn Elevator {
        self.queue.elevator_mut()
    }

    fn len_expected(&self) -> usize {
        let Counters { inserted, requeued, dispatched, coalesced, .. } = *self.queue.counters();
        (inserted + requeued).saturating_sub(dispatched + coalesced) as usize
    }

    fn counters(&self) -> Counters {
        *self.queue.counters()
    }

    fn waiting(&self) -> usize {
        self.queue.waiting()
    }
}

fn log_entry(now: Time, entry: Entry, log: &mut Log) {
    match entry {
        Entry::Inserted(request) => log.inserted.push((now, request)),
        Entry::Merged(_) => log.merged += 1,
        Entry::Waiting => {}
    }
}

/// The driver allocates the tags.
pub(crate) struct Bare {
    pub(crate) elevator: Box<dyn Elevator>,
    held: BTreeMap<u32, BlockRequest>,
    free: Vec<u32>,
    counters: Counters,
}

impl Bare {
    pub(crate) fn new(kind: &ElevatorKind, build: &Build, input: &Input) -> Bare {
        let mut elevator = (kind.build)(build);
        input.set(kind, elevator.as_mut());
        let free = (0..build.nr_tags).rev().collect();
        Bare { elevator, held: BTreeMap::new(), free, counters: Counters::default() }
    }

    pub(crate) fn insert(&mut self, now: Time, step: &Step) -> BlockRequest {
        let tag = self.free.pop().expect("a tag is free: the driver checks before it inserts");
        let request = BlockRequest {
            seq: self.counters.inserted,
            process: step.process,
            op: step.op,
            nr_sectors: step.nr_sectors,
            sync: step.sync,
            meta: step.meta,
            priority: step.priority,
            allocated: now,
            ..request(tag, step.sector)
        };
        self.counters.inserted += 1;
        self.held.insert(request.tag, request);
        self.elevator.insert(now, &request, InsertAt::Sorted);
        request
    }

    pub(crate) fn take(
        &mut self,
        now: Time,
        disk: &dyn Disk,
    ) -> Result<Option<BlockRequest>, Failure> {
        let Some(tag) = self.elevator.dispatch(now, disk) else { return Ok(None) };
        let Some(request) = self.held.remove(&tag) else {
            return Err(Failure::Wrong(format!("request {tag} is dispatched, but not held")));
        };
        self.counters.dispatched += 1;
        Ok(Some(request))
    }

    pub(crate) fn finish(&mut self, now: Time, request: BlockRequest, issued: Time) {
        self.elevator.complete(now, &Finished { request, issued });
        self.counters.completed += 1;
        self.free.push(request.tag);
    }

    pub(crate) fn held(&self) -> &BTreeMap<u32, BlockRequest> {
        &self.held
    }
}

impl Driven for Bare {
    fn step(&mut self, now: Time, step: &Step, log: &mut Log) {
        if step.exit {
            return self.elevator.exited(now, step.process);
        }
        log.inserted.push((now, self.insert(now, step)));
    }

    fn dispatch(&mut self, now: Time, head: &Head) -> Result<Option<BlockRequest>, Failure> {
        self.take(now, head)
    }

    fn complete(
        &mut self,
        now: Time,
        request: &BlockRequest,
        issued: Time,
        _nr: usize,
        _log: &mut Log,
    ) -> bool {
        self.finish(now, *request, issued);
        false
    }

    fn may_step(&self) -> bool {
        !self.free.is_empty()
    }

    fn elevator(&mut self) -> &mut dyn Elevator {
        self.elevator.as_mut()
    }

    fn len_expected(&self) -> usize {
        self.held.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn waiting(&self) -> usize {
        0
    }
}

/// With the driver's cookies.
pub(crate) fn bios(input: &Input) -> impl Iterator<Item = (u64, &Step)> {
    (0..).zip(input.steps.iter().filter(|step| !step.exit))
}

pub(crate) fn sums(of: impl Iterator<Item = (Op, u32)>) -> [u64; 2] {
    of.fold([0, 0], |mut sums, (op, nr)| {
        sums[usize::from(op == Op::Write)] += u64::from(nr);
        sums
    })
}

thread_local! {
    /// Depth of [`catch_panic`] calls in this thread.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
}

/// Catches a panic without printing it: the search for a minimal input panics thousands of times,
/// and the panic hook is shared by all threads.
///
/// # Errors
/// The panic message.
pub fn catch_panic<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() == 0 {
                print(info);
            }
        }));
    });
    CATCHING.set(CATCHING.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(what));
    CATCHING.set(CATCHING.get() - 1);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()))
            .unwrap_or_default()
    })
}
