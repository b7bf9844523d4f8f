//! One experiment of a bisection: two kernels under one scheduler and one workload.
//!
//! It is an experiment like any other, with a plan, a results file and the rule of the plan, in a
//! directory of its own; only its alpha is the verdict's part of the bisection's. A kernel that
//! cannot be built or booted, or that fails under the workload, is an answer about the step, not an
//! error: the other kernel of the pair has been measured before.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use experiment::plan::{LONGEST_S, Plan, Variant};
use experiment::results::EndReason;
use guest::BootError;
use machine::Root;
use text::limits::ROUNDS;

use super::evidence::Evidence;
use super::log::AnswerResult;
use super::progress::StepProgress;
use crate::arena::VariantIndex;
use crate::arena::kernel;
use crate::arena::open::OpenOptions;
use crate::arena::under_test::UnderTest;
use crate::console::Console;
use crate::feasibility;
use crate::output::Output;
use crate::resolve::{Resolved, resolve};
use crate::run::{Destination, Experiment, Outcome, Pilot, Place, run};
use crate::session::ResultsOptions;
use crate::signals::Stop;

/// How much longer the experiment after an inconclusive one is.
pub(super) const LONGER: u32 = 4;

/// Where and how experiments are carried out.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) root: &'a Root,
    pub(super) opening: &'a OpenOptions,
    pub(super) stop: &'a Stop,
}

/// What came of an experiment.
#[derive(Debug)]
pub(super) enum StepOutcome {
    Done(AnswerResult),
    Interrupted { by: String },
}

/// The plan of an experiment, read: the variants of two steps, and the error that its verdict may
/// have.
pub(super) fn plan_of(
    base: &Plan,
    [baseline, step]: [Variant; 2],
    alpha: f64,
    attempt: u32,
) -> Result<Resolved> {
    let mut plan = base.clone();
    plan.name = format!("{}: {} against {}", base.name, step.name, baseline.name);
    plan.baseline = Some(baseline.name.clone());
    plan.variants = vec![baseline, step];
    plan.criteria.alpha = alpha;
    if attempt > 1 {
        // Other random choices: what was measured already has been compared.
        plan.seed = base.seed.wrapping_add(u64::from(attempt - 1));
        plan.budget.time_s = (base.budget.time_s * f64::from(LONGER)).min(LONGEST_S);
        let most = u32::try_from(ROUNDS.most).unwrap_or(u32::MAX);
        plan.budget.rounds =
            base.budget.rounds.map(|rounds| rounds.saturating_mul(LONGER).min(most));
    }
    // A bisection lives on verdicts, which figures alone are not.
    plan.budget.figures_only = false;
    let resolved = resolve(plan, &mut |_| ())?;
    feasibility::check(&resolved.plan)?;
    Ok(resolved)
}

impl Bench<'_> {
    /// Builds the kernel of a variant, or finds it in the cache: its key, and whether it was built
    /// now.
    pub(super) fn build(
        &self,
        resolved: &Resolved,
        variant: VariantIndex,
        progress: &StepProgress<'_>,
    ) -> Result<Result<(String, bool), StepOutcome>> {
        let cache = kernel::cache(self.opening.cache_dir.as_deref())?;
        let UnderTest::Kernel { source, variants, .. } = &resolved.under_test else {
            unreachable!("kernels are bisected in the kernel arena");
        };
        match kernel::build(&cache, source, variants.setting(variant), self.stop, progress) {
            Ok(built) => Ok(Ok(built)),
            Err(error) => match error.downcast_ref::<guest::Error>() {
                Some(guest::Error::Compile { .. } | guest::Error::Modules { .. }) => {
                    Ok(Err(StepOutcome::Done(AnswerResult::DoesNotBuild {
                        message: format!("{error:#}"),
                    })))
                }
                Some(guest::Error::Boot { .. }) => {
                    Ok(Err(StepOutcome::Done(AnswerResult::DoesNotBoot {
                        message: format!("{error:#}"),
                    })))
                }
                Some(guest::Error::Interrupted) => {
                    Ok(Err(StepOutcome::Interrupted { by: self.signal() }))
                }
                _ => Err(error),
            },
        }
    }

    /// Measures the plan in `dir`, or continues the results file that is there, and compares the
    /// second variant.
    pub(super) fn measure(
        &self,
        resolved: Resolved,
        dir: &Path,
        command: &str,
        progress: &StepProgress<'_>,
    ) -> Result<StepOutcome> {
        let results = ResultsOptions {
            output: Output::Named(dir.to_owned()),
            resume: dir.join(crate::store::RESULTS).exists(),
            command: command.to_owned(),
        };
        let candidate = resolved.plan.variants[1].name.clone();
        let experiment = Experiment {
            place: Place::New { resolved, root: self.root, opening: self.opening },
            pilot: Pilot::Skipped("all steps are measured in trials of one length"),
            results: Destination::Directory(results),
            hooks: &(),
        };
        match run(experiment, Console::new(self.stop, progress)) {
            Ok(Outcome { end, .. }) => match end.reason {
                EndReason::Interrupted { by } => Ok(StepOutcome::Interrupted { by }),
                _ => Ok(StepOutcome::Done(AnswerResult::Compared(compared(&candidate, dir)?))),
            },
            Err(error) => match error.downcast_ref::<BootError>() {
                Some(BootError::Interrupted) => Ok(StepOutcome::Interrupted { by: self.signal() }),
                Some(BootError::Panic { .. } | BootError::Hung { .. } | BootError::Died { .. }) => {
                    Ok(StepOutcome::Done(AnswerResult::GuestFailed {
                        message: format!("{error:#}"),
                    }))
                }
                _ => Err(error),
            },
        }
    }

    fn signal(&self) -> String {
        self.stop.signal().unwrap_or("SIGINT").to_owned()
    }
}

/// The comparison of the second variant on the deciding metric.
fn compared(variant: &str, dir: &Path) -> Result<Evidence> {
    let results = crate::store::read(dir)?;
    let analysis = experiment::analyze(&results, None);
    let found = analysis
        .comparisons
        .iter()
        .find(|comparison| comparison.primary && comparison.variant == *variant);
    let found = found.ok_or_else(|| {
        anyhow!("variant {variant}: has no verdict; begin again with another --out")
    });
    Ok(Evidence::of(found.with_context(|| dir.display().to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "name = 'p'\ndevice = 'hp97560'\narena = 'kernel'\nseed = 7\n[budget]\nrounds = 12\n[[variant]]\nname = 'a'\n\
                        scheduler = 'none'\n[[variant]]\nname = 'b'\nscheduler = 'bfq'\n[[workload]]\nname = 'w'\nkind = 'randread'\n";

    #[test]
    fn the_second_attempt_is_larger_by_a_factor_that_is_fixed_and_has_other_random_choices() {
        let base = resolve(Plan::from_toml(PLAN).unwrap(), &mut |_| ()).unwrap().plan;
        let variants = || [base.variants[0].clone(), base.variants[1].clone()];
        let one = plan_of(&base, variants(), 0.005, 1).unwrap().plan;
        let two = plan_of(&base, variants(), 0.001, 2).unwrap().plan;
        assert_eq!((one.seed, one.budget.rounds, one.criteria.alpha), (7, Some(12), 0.005));
        assert_eq!((two.seed, two.budget.rounds, two.criteria.alpha), (8, Some(48), 0.001));
        assert_eq!(one.baseline.as_deref(), Some("a"));
        assert!(one.criteria.margin == base.criteria.margin && two.trial == one.trial);
    }
}
