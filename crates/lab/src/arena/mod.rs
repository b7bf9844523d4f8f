//! Arenas: where trials are measured.
//!
//! All arenas share plans, results files, statistics and reports, through the trait [`Arena`].
//! Arguments are resolved: variants and workloads are indices into settings passed when the arena
//! was opened. Differences between arenas (seeds, preconditioning, passing of time) are methods of
//! the trait.

pub mod agreement;
mod ahead;
pub mod cpu;
mod defaults;
pub mod disk;
mod evidence;
pub mod flows;
mod invalid;
pub mod kernel;
pub mod model;
mod modelled;
pub mod open;
pub mod parallel;
mod processes;
mod program;
pub mod sim;
mod streams;
mod tasks;
mod traced;
mod tunables;
pub mod under_test;
mod variants;
mod virtual_time;

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::Variant;
use experiment::results::{Environment, InvalidReason, Observation};

pub use variants::{VariantIndex, Variants};

use crate::trace_file::TraceFile;

#[derive(Debug, Clone, Copy)]
pub struct TrialSpec {
    /// Index of the workload in the plan.
    pub workload: usize,
    pub seed: u64,
    /// Length of the measurement, without warmup.
    pub duration: Duration,
    /// Time before the measurement.
    pub warmup: Duration,
}

impl TrialSpec {
    /// Duration of a trial on the arena's clock.
    pub fn took(&self, observation: &Observation) -> Duration {
        self.warmup + Duration::from_nanos(observation.duration_ns)
    }
}

/// The variants of one round of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub round: u32,
    pub variants: Vec<VariantIndex>,
}

/// Upcoming trials, for an arena that measures remotely or in parallel.
#[derive(Clone)]
pub struct Upcoming<'a> {
    pub workload: usize,
    /// Certain to be requested, unless measuring ends.
    pub next: Vec<Group>,
    /// Rounds that may follow, with the variants of the last group in `next`.
    pub then: Range<u32>,
    /// The seed of a round.
    pub seed: &'a dyn Fn(u32) -> u64,
    pub duration: Duration,
    pub warmup: Duration,
}

impl Upcoming<'_> {
    pub fn nr_next(&self) -> usize {
        self.next.iter().map(|group| group.variants.len()).sum()
    }

    /// Round and variant of the trials in `next`, followed by complete possible rounds with at
    /// least `more` trials.
    pub fn trials(&self, more: usize) -> impl Iterator<Item = (u32, VariantIndex)> {
        let each = |round: u32, variants: &[VariantIndex]| {
            variants.iter().map(|variant| (round, *variant)).collect::<Vec<_>>()
        };
        let last = self.next.last().map_or(&[][..], |group| &group.variants);
        let rounds = more.div_ceil(last.len().max(1));
        let next = self.next.iter().flat_map(move |group| each(group.round, &group.variants));
        next.chain(self.then.clone().take(rounds).flat_map(move |round| each(round, last)))
    }
}

/// Applies variants and measures trials.
pub trait Arena {
    fn capture(&mut self) -> Result<Environment>;

    /// Adds a variant, with the same checks as for those of the plan.
    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex>;

    /// Tries every variant and prepares every workload before the results file is created, so that
    /// mistakes surface early.
    fn try_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// Starts writing traces of the first trial of each workload and variant, if the arena supports
    /// it.
    fn trace(&mut self, _files: TraceFile) {}

    /// Applies a variant's settings. A refusal by the kernel is data: it invalidates the trial for
    /// the reasons returned.
    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>>;

    /// Checks before each round that its trials may be measured.
    fn begin_round(&mut self) -> Result<()> {
        Ok(())
    }

    /// Measures one trial with the variant applied last.
    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation>;

    /// Whether all variants of a round use the same seed. This sharpens comparisons, provided no
    /// variant leaves cached state for the next.
    fn one_seed_a_round(&self) -> bool {
        false
    }

    /// Whether a workload's first trial preconditions the device and must be discarded.
    fn preconditions(&self) -> bool {
        !self.one_seed_a_round()
    }

    /// Announces upcoming trials so that they can be measured in parallel. Cancels trials of the
    /// workload that are no longer listed.
    fn announce(&mut self, _upcoming: &Upcoming<'_>) -> Result<()> {
        Ok(())
    }

    /// Wall or virtual time since opening, counted against the budget.
    fn elapsed(&self) -> Duration;

    /// Restores the machine, or fails if impossible. Returns messages for the user.
    fn finish(&mut self) -> Result<Vec<String>>;
}
