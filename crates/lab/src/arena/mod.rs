//! Where trials take place.
//!
//! The same plan, record, statistics and reports serve every arena, so the conductor knows only this trait: what the machine
//! is, how an arm's setting comes into effect, and how one trial is measured.

pub mod ahead;
mod beside;
pub mod cpu;
mod defaults;
pub mod host;
pub mod kernel;
mod modelled;
pub mod open;
mod program;
mod seen;
pub mod sim;
mod virtual_time;

use std::path::Path;
use std::time::Duration;

use ::host::Problem;
use ::host::session::Share;
use anyhow::Result;
use experiment::plan::{self, Arm, Plan, WorkloadSpec};
use experiment::record::{Environment, Observation, VoidReason};

use crate::signals::Stop;
use crate::trace_file::Format;

/// One trial to be measured.
#[derive(Debug, Clone, Copy)]
pub struct TrialOrder<'a> {
    /// The work.
    pub workload: &'a WorkloadSpec,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// The measured window.
    pub duration: Duration,
    /// Work before the window.
    pub warmup: Duration,
}

/// Trials that will be wanted soon: an arena that can measure side by side begins with them.
#[derive(Debug)]
pub struct Upcoming<'a> {
    /// The work.
    pub workload: &'a WorkloadSpec,
    /// The arms that each block will hold.
    pub arms: Vec<&'a Arm>,
    /// The seed of the next block, and of some after it; only for arenas with one seed a block.
    pub seeds: Vec<u64>,
    /// The measured window.
    pub duration: Duration,
    /// Work before the window.
    pub warmup: Duration,
}

/// A place where arms can be applied and trials measured.
pub trait Arena {
    /// Facts about the machine.
    fn capture(&mut self) -> Result<Environment>;

    /// Takes in an arm that the plan does not hold, as `open` took in those of the plan: whatever can be known to be wrong with it is
    /// found here.
    fn admit(&mut self, arm: &Arm) -> Result<()>;

    /// Tries what the plan holds before the record begins, so that a slip costs no measuring.
    fn rehearse(&mut self, _plan: &Plan) -> Result<()> {
        Ok(())
    }

    /// From now on writes the events of the first trial of each workload and arm into `dir`; only where somebody sees them.
    fn trace(&mut self, _format: Format, _dir: &Path) -> Result<()> {
        Ok(())
    }

    /// Brings an arm's setting into effect. What went wrong is data: the trial is void, with these reasons.
    fn apply(&mut self, arm: &Arm) -> Result<Vec<VoidReason>>;

    /// Measures one trial under the setting that was applied last.
    fn measure(&mut self, order: &TrialOrder<'_>) -> Result<Observation>;

    /// Whether all arms of a block get the same seed: where nothing can be left in a cache by the arm before, the same random
    /// choices make the comparison sharper.
    fn one_seed_a_block(&self) -> bool {
        false
    }

    /// Whether something is filled or warmed by the first trial on it, which is then no evidence.
    fn preconditions(&self) -> bool {
        true
    }

    /// Hears which trials come next.
    fn announce(&mut self, _upcoming: &Upcoming<'_>) -> Result<()> {
        Ok(())
    }

    /// How much time of the budget was spent since the arena was opened: wall time, or virtual time.
    fn elapsed(&self) -> Duration;

    /// Puts everything back, and fails if it cannot. Returns what to tell the user.
    fn finish(&mut self) -> Result<Vec<String>>;
}

/// A plan's share of the device in the words of `host`.
fn share_of(share: &plan::Share) -> Share {
    let plan::Share { io_weight, io_max, ioprio } = share.clone();
    Share { io_weight, io_max, ioprio }
}

/// What was found wrong with a setting, in the words of a record.
fn void_of(problem: Problem) -> VoidReason {
    match problem {
        Problem::WriteFailed { attribute, wanted, error } => VoidReason::WriteFailed { attribute, wanted, error },
        Problem::NotInEffect { attribute, wanted, found } => VoidReason::NotInEffect { attribute, wanted, found },
        Problem::ChangedMeanwhile { attribute, wanted, found } => {
            VoidReason::ChangedMeanwhile { attribute, wanted, found }
        }
        Problem::DeviceGone { device } => VoidReason::DeviceVanished { detail: format!("{device} is gone") },
    }
}

/// Why a trial was cut short.
fn interrupted(stop: &Stop) -> VoidReason {
    VoidReason::Interrupted { by: stop.signal().unwrap_or("a signal").to_owned() }
}
