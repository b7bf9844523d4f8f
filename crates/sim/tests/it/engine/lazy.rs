//! Schedulers that idle or are broken: their counters, and the engine's checks.

use elevator::{
    Anticipation, BlockRequest, Build, Disk, Elevator, ElevatorKind, Evidence, Finished, Guarantee,
    InsertAt, Origin, Time,
};
use sim::{Trial, Unobserved, run};

use super::common::{MS, observed, trial};

/// Holds each request until a timer 2 ms after its arrival, or forever without one. Its waits never
/// succeed: they count the exited processes.
#[derive(Debug)]
struct Lazy {
    held: Vec<BlockRequest>,
    timer: bool,
    due: bool,
    waits: Anticipation,
}

const HOLD_NS: u64 = 2 * MS;

impl Elevator for Lazy {
    fn insert(&mut self, _now: Time, request: &BlockRequest, _at: InsertAt) {
        self.waits.started += 1;
        self.held.push(*request);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let first = self.held.remove(0);
        self.waits.failures += 1;
        self.waits.failure_wait_ns += now - first.allocated;
        Some(first.tag)
    }

    fn complete(&mut self, _now: Time, _done: &Finished) {}

    fn len(&self) -> usize {
        self.held.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.held.first().filter(|_| self.timer && !self.due).map(|first| first.allocated + HOLD_NS)
    }

    fn on_timer(&mut self, now: Time) {
        self.due = self.next_timer().is_some_and(|at| at <= now);
    }

    fn exited(&mut self, _now: Time, _process: u32) {
        self.waits.success_wait_ns += 1;
    }

    fn merged(&mut self, _now: Time, _before: &BlockRequest, _after: &BlockRequest) {
        unreachable!("random requests do not touch")
    }

    fn coalesced(&mut self, _now: Time, _survivor: &BlockRequest, _gone: &BlockRequest) {
        unreachable!("random requests do not touch")
    }

    fn get(&self, _tunable: &str) -> u64 {
        0
    }

    fn set(&mut self, _tunable: &str, _value: u64) {}

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.waits)
    }
}

const fn row(
    guarantees: &'static [Guarantee],
    build: fn(&Build) -> Box<dyn Elevator>,
) -> ElevatorKind {
    ElevatorKind {
        name: "lazy",
        origin: Origin::Literature,
        help: "",
        source: "",
        evidence: Evidence::Proposed,
        guarantees,
        tunables: &[],
        build,
    }
}

fn lazy(_build: &Build) -> Box<dyn Elevator> {
    Box::new(Lazy { held: Vec::new(), timer: true, due: false, waits: Anticipation::default() })
}

fn stuck(_build: &Build) -> Box<dyn Elevator> {
    Box::new(Lazy { held: Vec::new(), timer: false, due: false, waits: Anticipation::default() })
}

static LAZY: ElevatorKind = row(&[Guarantee::IdlesWithTimer], lazy);
static LIAR: ElevatorKind = row(&[Guarantee::WorkConserving], lazy);
static FORGETFUL: ElevatorKind = row(&[Guarantee::IdlesWithTimer], stuck);
static STUCK: ElevatorKind = row(&[], stuck);

fn under(elevator: &'static ElevatorKind) -> Trial {
    Trial { elevator, nr_requests: Some(8), ..trial("randread", &[("clients", "1")]) }
}

#[test]
fn idling_on_purpose_is_told_apart_from_having_nothing_to_do() {
    let (outcome, _) = observed(under(&LAZY));
    // 2 ms held, 1 ms at the device, 50 µs in the client: 32 cycles of 3.05 ms, and 2.4 ms of the
    // 33rd.
    assert_eq!(outcome.measured.reads.count, 32);
    assert_eq!((outcome.busy_ns, outcome.deceptive_idle_ns), (32 * MS + 400_000, 66 * MS));
    assert_eq!(outcome.idle_ns, 100 * MS - outcome.busy_ns);
    assert!(
        (outcome.busy_share() - 0.324).abs() < 1e-9 && (outcome.idle_share() - 0.676).abs() < 1e-9
    );
}

#[test]
fn waits_are_those_of_the_window_and_false_idle_has_two_definitions() {
    let (outcome, _) = observed(Trial { warmup_ns: 61 * MS, duration_ns: 61 * MS, ..under(&LAZY) });
    let waits = outcome.anticipation.unwrap();
    assert_eq!(
        (waits.started, waits.failures, waits.successes),
        (20, 20, 0),
        "20 cycles before, 20 in the window"
    );
    assert_eq!(
        outcome.anticipation.and_then(|seen| seen.false_idle_per_wait_ns()),
        Some(HOLD_NS as f64)
    );
    assert_eq!(outcome.anticipation.and_then(|seen| seen.false_idle_per_success_ns()), None);
    let none = observed(trial("randread", &[])).0;
    assert_eq!(none.anticipation, None);
}

#[test]
fn the_scheduler_is_called_for_every_process_that_ends() {
    let mut trial = under(&LAZY);
    (trial.params.clients, trial.params.amount) = (3, Some(4096));
    assert_eq!(observed(trial).0.anticipation.unwrap().success_wait_ns, 3);
}

#[test]
#[should_panic(
    expected = "a work-conserving scheduler lets the device idle: elevator lazy, workload randread, seed 1"
)]
fn a_work_conserving_scheduler_that_idles_is_found() {
    let _ = run(under(&LIAR), &mut Unobserved, &|| false);
}

#[test]
#[should_panic(expected = "lets the device idle without a timer: elevator lazy")]
fn a_scheduler_that_idles_without_its_timer_is_found() {
    let _ = run(under(&FORGETFUL), &mut Unobserved, &|| false);
}

#[test]
#[should_panic(
    expected = "no event is pending, but clients have not ended: elevator lazy, workload randread, seed 1"
)]
fn a_stall_is_found() {
    let _ = run(under(&STUCK), &mut Unobserved, &|| false);
}
