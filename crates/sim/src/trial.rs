//! One simulated trial: what is joined with what, and what came of it.

use elevator::{Anticipation, Counters, ElevatorKind};
use workload::{ParamError, Params, WorkloadKind};

use crate::device::{DeviceError, DeviceModel, DeviceStats};
use crate::trace::Observer;

/// A trial: one scheduler with its tunables, one device, one workload, one seed.
#[derive(Debug)]
pub struct Trial {
    /// The row of the scheduler.
    pub elevator: &'static ElevatorKind,
    /// Tunables by name, within their ranges.
    pub tunables: Vec<(String, u64)>,
    /// Ticks a second of the simulated kernel.
    pub hz: u32,
    /// Requests that can exist at once; None: what the scheduler's kernel would choose.
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
    /// From the completion of a request to the earliest next one of the same client: interrupt, wake-up, system call; in
    /// nanoseconds.
    pub turnaround_ns: u64,
}

/// What a trial showed.
#[derive(Debug)]
pub struct Outcome {
    /// Length of the measured window in nanoseconds.
    pub window_ns: u64,
    /// What the queue counted, warm-up and aftermath included.
    pub queue: Counters,
    /// What the device did, warm-up and aftermath included.
    pub device: DeviceStats,
    /// What idling on purpose cost and brought in the window; None for schedulers that never do.
    pub anticipation: Option<Anticipation>,
}

/// Why a trial cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Parameters and device do not go together.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// There is no such device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The caller's `stop` said so.
    #[error("the simulation was interrupted")]
    Interrupted,
}

/// Simulates a trial. `stop` is asked now and then whether to give up.
///
/// # Errors
/// [`SimError`]; wrong use of an elevator or a model is a panic, since it is a mistake in the laboratory.
pub fn run(_trial: Trial, _observer: &mut dyn Observer, _stop: &dyn Fn() -> bool) -> Result<Outcome, SimError> {
    Err(SimError::Interrupted)
}
