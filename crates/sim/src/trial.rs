//! One simulated trial: its parts and its outcome.

use crate::workload::{ClientTotals, FlowWork, Measured, Member, Params, Pass, WorkloadKind};
use elevator::{Anticipation, Build, Counters, ElevatorKind, Limits, Origin, Queue, SECTOR_BYTES};

use crate::device::{DeviceModel, DeviceStats};
use crate::engine::{Engine, Rules, between, jain};
use crate::error::SimError;
use crate::host::Host;
use crate::trace::{Observer, Unobserved};
use crate::turnaround::Turnarounds;

/// Tags of all hardware queues at most.
const MAX_TAGS: u32 = 1 << 18;

/// A trial: one scheduler with its tunables, one device, one workload, one seed.
#[derive(Debug)]
pub struct Trial {
    /// The row of the scheduler.
    pub elevator: &'static ElevatorKind,
    /// Tunables by name, within their ranges.
    pub tunables: Vec<(String, u64)>,
    /// Ticks a second of the simulated kernel.
    pub hz: u32,
    /// The CPUs that the clients are on, and their time for a request.
    pub host: Host,
    /// Requests that can exist at once, 1 to 262,144; None: what the scheduler's kernel would
    /// choose. With several hardware queues those of each, and no more than the device takes in
    /// each.
    pub nr_requests: Option<u32>,
    /// Requests that the device gets at once; None: as many as it takes. Never more than that.
    pub queue_depth: Option<u32>,
    /// The device, new.
    pub device: Box<dyn DeviceModel>,
    /// The row of the workload.
    pub workload: &'static WorkloadKind,
    /// Its parameters.
    pub params: Params,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// Work before the window, in nanoseconds; not observed where the workload has none.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds.
    pub duration_ns: u64,
    /// From the completion of a request to the earliest next one of the same client: interrupt,
    /// wake-up, system call; in nanoseconds, taken as 1 at least (a client that needs no time on a
    /// device that needs none would never end).
    pub turnaround_ns: u64,
    /// How much earlier or later that is, drawn anew each time, uniformly; at most `turnaround_ns`.
    /// Without it clients that think for equal times fall into step, which no machine's do, and a
    /// workload that draws nothing is the same for every seed.
    pub turnaround_spread_ns: u64,
}

/// The outcome of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// Length of the measured window in nanoseconds; of passes: their sum.
    pub window_ns: u64,
    /// What the clients have done, by the definitions of every arena.
    pub measured: Measured,
    /// Jain's index over the clients' own rates: 1 if all got the same, 1/n if one got everything.
    /// None for fewer than two clients, or if no client got anything. Clients of different kinds
    /// are unequal in any case.
    pub jain_fairness: Option<f64>,
    /// The longest time that a bio waited from being handed over to its completion. One that is
    /// still open when the window closes counts with what it has waited by then, so that a starved
    /// request shows.
    pub longest_wait_ns: u64,
    /// Nanoseconds of the window in which the device had a command. With `idle_ns` it is the whole
    /// window.
    pub busy_ns: u64,
    /// Nanoseconds of the window in which the device had none.
    pub idle_ns: u64,
    /// The part of `idle_ns` in which requests were held: the overhead of idling on purpose. What
    /// the study of WPCAS calls by a like name is something else:
    /// [`Anticipation::false_idle_per_wait_ns`].
    pub deceptive_idle_ns: u64,
    /// Mean distance from the end of a request to the start of the next one sent to the device, in
    /// sectors, in the window.
    pub mean_seek_sectors: Option<f64>,
    /// Mean cylinders of a movement of the arm in the window; None where it did not move.
    pub mean_seek_cylinders: Option<f64>,
    /// Counters of the queue, over warm-up, window and drain.
    pub queue: Counters,
    /// Counters of the device, over warm-up, window and drain.
    pub device: DeviceStats,
    /// What idling on purpose cost and brought in the window; None for schedulers that never do.
    pub anticipation: Option<Anticipation>,
}

impl Outcome {
    /// The share of the window in which the device had a command, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        share(self.busy_ns, self.busy_ns + self.idle_ns)
    }

    /// The share of the window in which the device had none.
    pub fn idle_share(&self) -> f64 {
        share(self.idle_ns, self.busy_ns + self.idle_ns)
    }
}

/// Simulates a trial with the clients of its workload. `stop` is asked now and then whether to give
/// up.
///
/// Passes are made as [`WorkloadKind::passes`] says. What is open when the window closes is waited
/// for and does not count.
///
/// # Errors
/// [`SimError`]; wrong use of an elevator or a model is a panic, since it is a mistake in the
/// laboratory.
pub fn run(
    trial: Trial,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    // The engine is compiled here, twice, at this crate's level of optimisation, and not in each
    // caller at the caller's.
    if observer.is_active() {
        passes(trial, observer, stop)
    } else {
        passes(trial, &mut Unobserved, stop)
    }
}

fn passes<O: Observer + ?Sized>(
    trial: Trial,
    observer: &mut O,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    let (kind, params, seed) = (trial.workload, trial.params.clone(), trial.seed);
    let extents =
        kind.extents(&params, trial.device.sectors() * SECTOR_BYTES, SECTOR_BYTES as u32)?;
    let (warmup_ns, duration_ns) = (trial.warmup_ns, trial.duration_ns);
    let flows = params.flows.iter().map(FlowWork::unmeasured).collect();
    let mut engine = machine(trial, observer).with_flows(flows);
    kind.passes(&params, warmup_ns, duration_ns, |pass| {
        let start = engine.now;
        engine.pass(kind.members(&params, &extents, seed), pass, stop)?;
        Ok::<u64, SimError>(engine.now - start)
    })?;
    Ok(outcome(engine))
}

/// Simulates a trial with clients of the caller's, once: replayed traces, arrivals of a law. Of the
/// workload's row and parameters only what concerns the way of I/O is used (direct or buffered,
/// flushing, warm-up).
///
/// # Errors
/// As [`run`].
pub fn run_members(
    trial: Trial,
    members: Vec<Member>,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    if observer.is_active() {
        one_pass(trial, members, observer, stop)
    } else {
        one_pass(trial, members, &mut Unobserved, stop)
    }
}

/// Simulates a trial with the clients of one flow of its workload alone, at the flow's part of the
/// device.
///
/// # Errors
/// As [`run`].
pub fn run_flow_alone(
    trial: Trial,
    number: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    let (kind, params) = (trial.workload, &trial.params);
    let extents =
        kind.extents(params, trial.device.sectors() * SECTOR_BYTES, SECTOR_BYTES as u32)?;
    let all = kind.members(params, &extents, trial.seed);
    let own = all
        .into_iter()
        .filter(|member| member.flow.is_some_and(|(flow, _)| flow as usize == number))
        .collect();
    run_members(trial, own, &mut Unobserved, stop)
}

fn one_pass<O: Observer + ?Sized>(
    trial: Trial,
    members: Vec<Member>,
    observer: &mut O,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    let warmup_ns = if trial.workload.warms_up_with(&trial.params) { trial.warmup_ns } else { 0 };
    let duration_ns = trial.duration_ns;
    let mut engine = machine(trial, observer);
    engine.pass(members, Pass { warmup_ns, duration_ns, counts: true }, stop)?;
    Ok(outcome(engine))
}

/// The queue of a scheduler in front of a device, as the scheduler's kernel would set it up.
/// `nr_requests`, `queue_depth`, `hz`, `host` and `tunables` are those of a [`Trial`].
pub fn queue_for(
    kind: &ElevatorKind,
    tunables: &[(String, u64)],
    hz: u32,
    host: Host,
    nr_requests: Option<u32>,
    queue_depth: Option<u32>,
    device: &dyn DeviceModel,
) -> Queue {
    let queue_depth = queue_depth.unwrap_or(u32::MAX).clamp(1, device.queue_depth());
    let usual = Limits::usual(kind, queue_depth);
    let offered = if kind.origin == Origin::LegacyLinux { 1 } else { device.queues() };
    let topology = host.topology(offered);
    let mut limits = Limits { nr_requests: nr_requests.unwrap_or(usual.nr_requests), ..usual };
    if topology.hw_queues() > 1 {
        limits.nr_requests =
            limits.nr_requests.min(queue_depth).min(MAX_TAGS / topology.hw_queues());
    }
    let geometry = device.geometry();
    let build =
        Build { hz, topology, rotational: geometry.cylinders > 0, geometry, ..Build::default() };
    let mut queue = Queue::new(kind, &build, limits);
    for (name, value) in tunables {
        let row = kind.tunable(name).expect("tunables are checked against the scheduler's row");
        assert!(
            (row.min..=row.max).contains(value),
            "{name} = {value}: {} to {} are possible",
            row.min,
            row.max
        );
        queue.elevator_mut().set(name, *value);
    }
    queue
}

/// Queue, device and rules of a trial.
fn machine<O: Observer + ?Sized>(trial: Trial, observer: &mut O) -> Engine<'_, O> {
    let Trial { elevator: kind, workload, params, device, .. } = trial;
    let queue = queue_for(
        kind,
        &trial.tunables,
        trial.hz,
        trial.host,
        trial.nr_requests,
        trial.queue_depth,
        device.as_ref(),
    );
    let rules = Rules {
        elevator: kind.name,
        workload: workload.name,
        seed: trial.seed,
        turnarounds: Turnarounds::new(trial.seed, trial.turnaround_ns, trial.turnaround_spread_ns),
        reaches_device: workload.reaches_device,
        buffered: !params.direct,
        flushes_at_end: workload.flushes_at_end(&params),
        first_stops_all: workload.pass_based,
        dispatched_aside: kind.origin == Origin::BlkMq && kind.name != "none",
        cpu_cost: trial.host.cost(kind.name),
        guarantees: kind.guarantees,
    };
    Engine::new(rules, queue, device, observer)
}

fn outcome<O: Observer + ?Sized>(engine: Engine<'_, O>) -> Outcome {
    let end = engine.mark();
    let (ledger, measured) = (engine.ledger, engine.measured);
    let at_close = engine.at_close.unwrap_or(end);
    let at_open = ledger.at_open.unwrap_or(at_close);
    let rates: Vec<f64> = measured.clients.iter().map(ClientTotals::bytes_per_s).collect();
    let anticipation = at_open.anticipation.zip(at_close.anticipation);
    let (before, after) = (at_open.device, at_close.device);
    Outcome {
        window_ns: measured.window_ns,
        jain_fairness: jain(&rates),
        measured,
        longest_wait_ns: ledger.longest_wait_ns,
        busy_ns: ledger.busy_ns,
        idle_ns: ledger.idle_holding_ns + ledger.idle_empty_ns,
        deceptive_idle_ns: ledger.idle_holding_ns,
        mean_seek_sectors: ledger.mean_seek_sectors(),
        mean_seek_cylinders: per(
            after.seek_cylinders - before.seek_cylinders,
            after.seeks - before.seeks,
        ),
        queue: *engine.queue.counters(),
        device: end.device,
        anticipation: anticipation.map(|(before, after)| between(&before, &after)),
    }
}

fn per(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
