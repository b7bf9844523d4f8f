//! Arenas: where trials are measured.
//!
//! All arenas share plans, results files, statistics and reports. Variants and workloads are
//! indices into settings passed on opening. Differences between arenas (seeds, preconditioning,
//! passing of time) are methods of [`Arena`].

pub mod agreement;
mod ahead;
pub mod cpu;
mod defaults;
pub mod disk;
mod evidence;
pub mod flows;
mod invalid;
pub mod kernel;
pub mod kernel_cpu;
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
    pub workload: usize,
    pub seed: u64,
    /// Excludes the warmup.
    pub duration: Duration,
    pub warmup: Duration,
}

impl TrialSpec {
    /// Duration on the arena's clock.
    pub fn took(&self, observation: &Observation) -> Duration {
        self.warmup + Duration::from_nanos(observation.duration_ns)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub round: u32,
    pub variants: Vec<VariantIndex>,
}

/// Upcoming trials, for parallel or remote measuring.
#[derive(Clone)]
pub struct Upcoming<'a> {
    pub workload: usize,
    /// Certain to be requested, unless measuring ends.
    pub next: Vec<Group>,
    /// Rounds that may follow, with the variants of the last group in `next`.
    pub then: Range<u32>,
    pub seed: &'a dyn Fn(u32) -> u64,
    pub duration: Duration,
    pub warmup: Duration,
}

impl Upcoming<'_> {
    pub fn nr_next(&self) -> usize {
        self.next.iter().map(|group| group.variants.len()).sum()
    }

    /// Round and variant of the trials in `next`, then of possible rounds with at least `more`
    /// trials.
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

pub trait Arena {
    fn capture(&mut self) -> Result<Environment>;

    /// Adds a variant, checked like the plan's.
    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex>;

    /// Tries all variants and prepares workloads before the results file exists, to report mistakes
    /// early.
    fn try_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// Traces the first trial of each workload and variant, if supported.
    fn trace(&mut self, _files: TraceFile) {}

    /// Applies a variant. Refusals by the kernel are data: reasons to invalidate the trial.
    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>>;

    /// Checks that the round may be measured.
    fn begin_round(&mut self) -> Result<()> {
        Ok(())
    }

    /// Measures a trial with the variant last applied.
    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation>;

    /// Whether variants share a round's seed. This sharpens comparisons if variants leave no state
    /// in caches.
    fn one_seed_a_round(&self) -> bool {
        false
    }

    /// Whether a workload's first trial only preconditions the device and is discarded.
    fn preconditions(&self) -> bool {
        !self.one_seed_a_round()
    }

    /// Announces upcoming trials and cancels others of the workload.
    fn announce(&mut self, _upcoming: &Upcoming<'_>) -> Result<()> {
        Ok(())
    }

    /// Wall or virtual time since opening, counted against the budget.
    fn elapsed(&self) -> Duration;

    /// Restores the machine. Returns messages for the user.
    fn finish(&mut self) -> Result<Vec<String>>;
}
