//! Where trials take place.
//!
//! The same plan, results file, statistics and reports serve every arena, so whatever measures
//! knows this trait alone. What an arena takes is resolved: variants and workloads are numbers,
//! whose settings the arena received, typed, when it was opened. What differs between arenas (one
//! seed a round, preconditions, how time passes) is a method of the trait.

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

/// One trial to be measured.
#[derive(Debug, Clone, Copy)]
pub struct TrialSpec {
    /// The number of the workload in the plan.
    pub workload: usize,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// The measured window.
    pub duration: Duration,
    /// The time before the window.
    pub warmup: Duration,
}

impl TrialSpec {
    /// The time that a trial took of the arena's clock.
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

/// The trials that are asked for next, for an arena that measures elsewhere or in parallel.
#[derive(Clone)]
pub struct Upcoming<'a> {
    /// The number of the workload in the plan.
    pub workload: usize,
    /// Asked for next, unless measuring ends.
    pub next: Vec<Group>,
    /// Rounds that may follow, with the variants of the last of `next`.
    pub then: Range<u32>,
    /// The seed of a round.
    pub seed: &'a dyn Fn(u32) -> u64,
    /// The measured window.
    pub duration: Duration,
    /// The time before the window.
    pub warmup: Duration,
}

impl Upcoming<'_> {
    /// How many trials are asked for next.
    pub fn nr_next(&self) -> usize {
        self.next.iter().map(|group| group.variants.len()).sum()
    }

    /// Round and variant of what is asked for next, then of whole rounds that may follow, until
    /// these have `more` trials.
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

/// A place where variants can be applied and trials measured.
pub trait Arena {
    /// Facts about the machine.
    fn capture(&mut self) -> Result<Environment>;

    /// Adds a variant to those of the plan, checked as they were.
    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex>;

    /// Tries every variant and prepares every workload before the results file begins, so that a
    /// mistake costs no measuring.
    fn try_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// From now on writes the events of the first trial of each workload and variant into these
    /// files, where events can be observed.
    fn trace(&mut self, _files: TraceFile) {}

    /// Puts a variant's setting into effect. A refusal of the kernel is data: the trial is invalid,
    /// with these reasons.
    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>>;

    /// Checks before the trials of a round that it may still be measured.
    fn begin_round(&mut self) -> Result<()> {
        Ok(())
    }

    /// Measures one trial under the setting that was applied last.
    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation>;

    /// Whether all variants of a round get the same seed: where a variant can leave nothing in a
    /// cache for the next one, the same random choices make the comparison sharper.
    fn one_seed_a_round(&self) -> bool {
        false
    }

    /// Whether the first trial of a workload fills or warms something, and is no evidence for that
    /// reason.
    fn preconditions(&self) -> bool {
        !self.one_seed_a_round()
    }

    /// Announces the next trials, so that an arena that measures in parallel can start them. Those
    /// of the workload that were announced before and are not among them are not asked for any
    /// more.
    fn announce(&mut self, _upcoming: &Upcoming<'_>) -> Result<()> {
        Ok(())
    }

    /// The part of the budget that was spent since the arena was opened: wall time, or virtual
    /// time.
    fn elapsed(&self) -> Duration;

    /// Restores the machine, and fails if that is impossible. Returns messages for the user.
    fn finish(&mut self) -> Result<Vec<String>>;
}
