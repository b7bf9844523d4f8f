//! One simulated trial: parts and outcome.

use crate::workload::{ClientTotals, FlowWork, Measured, Member, Params, Pass, WorkloadKind};
use elevator::{Anticipation, Build, Counters, ElevatorKind, Limits, Origin, Queue, SECTOR_BYTES};

use crate::device::{DeviceModel, DeviceStats};
use crate::engine::{Engine, Rules, difference, jain};
use crate::error::SimError;
use crate::host::Host;
use crate::trace::{Observer, Unobserved};
use crate::turnaround::Turnarounds;

/// Maximum tags over all hardware queues.
const MAX_TAGS: u32 = 1 << 18;

/// A trial: one scheduler with its tunables, one device, one workload, one seed.
#[derive(Debug)]
pub struct Trial {
    /// Its table row.
    pub elevator: &'static ElevatorKind,
    /// Tunables by name, within their ranges.
    pub tunables: Vec<(String, u64)>,
    /// Ticks per second of the simulated kernel.
    pub hz: u32,
    /// The CPUs and their time per request.
    pub host: Host,
    /// Requests per hardware queue, 1 to 262,144; `None`: the scheduler's kernel default. With
    /// several hardware queues at most the device's depth.
    pub nr_requests: Option<u32>,
    /// Commands at the device, at most its own depth, which is the default.
    pub queue_depth: Option<u32>,
    /// A new device.
    pub device: Box<dyn DeviceModel>,
    /// Its table row.
    pub workload: &'static WorkloadKind,
    /// Its parameters.
    pub params: Params,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// Warm-up in ns; ignored by workloads without warm-up.
    pub warmup_ns: u64,
    /// The measured window, in ns.
    pub duration_ns: u64,
    /// Time from a completion to the client's earliest next request, in ns; at least 1 is used, or
    /// a zero-cost loop would never end.
    pub turnaround_ns: u64,
    /// Uniform spread, redrawn each time, at most `turnaround_ns`. Without it clients with equal
    /// think times would run in lockstep.
    pub turnaround_spread_ns: u64,
}

/// The outcome of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// Length of the measured window in ns, summed over passes.
    pub window_ns: u64,
    /// The clients' metrics, defined as in every arena.
    pub measured: Measured,
    /// Jain's index of the clients' rates; `None` for fewer than two clients or without I/O.
    /// Unequal client kinds lower it in any case.
    pub jain_fairness: Option<f64>,
    /// Longest time from submission to completion. Bios open at the window's close count with their
    /// age, so starvation shows.
    pub longest_wait_ns: u64,
    /// Time with a command at the device; with `idle_ns`, the whole window.
    pub busy_ns: u64,
    /// Time without a command at the device.
    pub idle_ns: u64,
    /// The part of `idle_ns` with requests held. The WPCAS study's similarly named figure is
    /// [`Anticipation::false_idle_per_wait_ns`].
    pub deceptive_idle_ns: u64,
    /// Mean distance from the end of a request to the start of the next one issued, in the window.
    pub mean_seek_sectors: Option<f64>,
    /// Mean distance of an arm movement in the window.
    pub mean_seek_cylinders: Option<f64>,
    /// Counters over warm-up, window and drain.
    pub queue: Counters,
    /// Counters over warm-up, window and drain.
    pub device: DeviceStats,
    /// Waits in the window; `None` for schedulers that never idle.
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

/// Passes are those of [`WorkloadKind::passes`]. Requests open at the window's close are drained
/// but do not count. `stop` is polled regularly.
///
/// # Panics
/// On misuse of an elevator or a model, which is a bug.
pub fn run(
    trial: Trial,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, SimError> {
    // Instantiated here so that the engine gets this crate's optimisation level, not the caller's.
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
        engine.run_pass(kind.members(&params, &extents, seed), pass, stop)?;
        Ok::<u64, SimError>(engine.now - start)
    })?;
    Ok(outcome(engine))
}

/// Simulates one pass of the caller's clients: replayed traces, generated arrivals. The trial's
/// workload only decides how I/O is done (direct or buffered, flushing, warm-up).
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

/// Simulates one flow's clients alone, at the flow's part of the device.
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
    engine.run_pass(members, Pass { warmup_ns, duration_ns, counts: true }, stop)?;
    Ok(outcome(engine))
}

/// Sets up a scheduler's queue as its kernel would. The arguments are those of a [`Trial`].
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
            "{name} = {value}: out of range (expected {} to {})",
            row.min,
            row.max
        );
        queue.elevator_mut().set(name, *value);
    }
    queue
}

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
        async_dispatch: kind.origin == Origin::BlkMq && kind.name != "none",
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
        anticipation: anticipation.map(|(before, after)| difference(&before, &after)),
    }
}

fn per(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
