//! One experiment of a bisection: two kernels under one scheduler and workload.
//!
//! It is an ordinary experiment in its own directory, except that its alpha is the verdict's share
//! of the bisection's. A kernel that fails to build, boot or survive the workload is an answer
//! about the step, not an error, because the other kernel of the pair has already been measured.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use experiment::plan::{MAX_TIME_S, Plan, Variant};
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

/// How many times longer the experiment after an inconclusive one is.
pub(super) const LONGER: u32 = 4;

#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) root: &'a Root,
    pub(super) opening: &'a OpenOptions,
    pub(super) stop: &'a Stop,
}

#[derive(Debug)]
pub(super) enum StepOutcome {
    Done(AnswerResult),
    Interrupted { by: String },
}

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
        // New random choices: existing measurements have been used.
        plan.seed = base.seed.wrapping_add(u64::from(attempt - 1));
        plan.budget.time_s = (base.budget.time_s * f64::from(LONGER)).min(MAX_TIME_S);
        let most = u32::try_from(ROUNDS.most).unwrap_or(u32::MAX);
        plan.budget.rounds =
            base.budget.rounds.map(|rounds| rounds.saturating_mul(LONGER).min(most));
    }
    // A bisection needs verdicts.
    plan.budget.figures_only = false;
    let resolved = resolve(plan, &mut |_| ())?;
    feasibility::check(&resolved.plan)?;
    Ok(resolved)
}

impl Bench<'_> {
    /// Builds a kernel or finds it in the cache. Returns its key and whether it was built.
    pub(super) fn build(
        &self,
        resolved: &Resolved,
        variant: VariantIndex,
        progress: &StepProgress<'_>,
    ) -> Result<Result<(String, bool), StepOutcome>> {
        let cache = kernel::cache(self.opening.cache_dir.as_deref())?;
        let request = match &resolved.under_test {
            UnderTest::Kernel { source, variants, .. } => {
                variants.setting(variant).kernel.request(source)
            }
            UnderTest::KernelCpu { source, variants, .. } => {
                variants.setting(variant).request(source)
            }
            _ => unreachable!("kernels are bisected in arenas that choose theirs"),
        };
        match kernel::build(&cache, &request, self.stop, progress) {
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
