//! Finds the patch, commit or kernel version that made a workload worse. Each step is an
//! experiment.
//!
//! The ends are compared first, because a bisection between equal ends still finds a step. Each
//! step is then compared with the good end by the plan's rule; see `experiment::search::bisect`. An
//! inconclusive experiment is followed by a larger one of fixed size; if that is inconclusive too,
//! the step is skipped, like one that does not build. Finally the two neighbours are compared.
//! Kernels are built from the good end's build tree, so only patched files are compiled.

mod evidence;
mod experiment;
mod git;
mod log;
mod progress;
mod result;
mod steps;

use std::time::{Duration, Instant};

use ::experiment::plan::{Plan, Variant};
use ::experiment::search::bisect::{Bisection, Bracket, ErrorShares, Finding};
use anyhow::{Context, Result};
use machine::Root;
use machine::files::Dir;

use crate::arena::VariantIndex;
use crate::arena::kernel;
use crate::arena::open::OpenOptions;
use crate::console::Console;
use crate::failure::usage;
use crate::output::Output;
use crate::progress::Progress;
use crate::resolve::programs::{Agreement, ProgramOptions};
use crate::resolve::{Resolved, resolve};

use self::experiment::{Bench, StepOutcome, plan_of};
use self::log::{Begin, Log, LogLine};
use self::progress::StepProgress;
use self::steps::Steps;

pub use self::evidence::Evidence;
pub use self::git::check_number;
pub use self::log::{Answer, AnswerResult, LOG};
pub use self::result::{BisectResult, Conclusion, SHOWN, Skipped, in_words, named};
pub use self::steps::Step;

/// Minimum error share of a verdict; a smaller one needs more rounds than a plan may have.
const LEAST_SHARE: f64 = 1e-6;

#[derive(Debug, Clone)]
pub struct BisectSpec<'a> {
    /// The plan as read from its file; its variants are schedulers, of which one is used.
    pub plan: Plan,
    /// The variant for all kernels; None: the baseline.
    pub variant: Option<&'a str>,
    /// The workload that decides; None: the plan's only one.
    pub workload: Option<&'a str>,
    /// Patches, `git:DIR` or versions.
    pub source: &'a str,
    pub good: Option<&'a str>,
    pub bad: Option<&'a str>,
    pub output: Output,
    pub resume: bool,
    pub command: String,
    pub keep_kernels: bool,
}

/// Searches until the answer is known or a signal ends the session.
///
/// # Errors
/// Wrong usage; a patch that does not apply; a failure of a kernel, guest or file system that the
/// step did not cause.
pub fn bisect(
    root: &Root,
    spec: &BisectSpec<'_>,
    opening: &OpenOptions,
    console: Console<'_>,
) -> Result<BisectResult> {
    let Console { stop, progress } = console;
    let steps = Steps::of(spec.source, spec.good, spec.bad)?;
    let plan = base_plan(spec)?;
    // The plan's programs need consent; the command line implies it for the rest.
    opening.programs.check(&Resolved::read(plan.clone())?, progress)?;
    let mut opening = opening.clone();
    opening.programs = ProgramOptions { agreement: Agreement::Given, user: None };
    steps.announced().iter().for_each(|line| progress.say(line));
    let dir = spec.output.open()?;
    let begin = Begin {
        schema: log::SCHEMA,
        schedlab: text::build::identity().to_owned(),
        command: spec.command.clone(),
        plan: plan.clone(),
        source: spec.source.to_owned(),
        steps: steps.list.clone(),
    };
    let log = Log::open(&dir, &begin, spec.resume)?;
    steps.copy_into(&dir)?;
    let mut run = Run {
        bench: Bench { root, opening: &opening, stop },
        shares: ErrorShares::of(plan.criteria.alpha, steps.last()),
        plan,
        steps,
        dir,
        log,
        progress,
        command: &spec.command,
        planned: 0,
        further: 0,
        measured: Vec::new(),
        keep_kernels: spec.keep_kernels,
    };
    let conclusion = run.search()?;
    progress.clear();
    run.result(conclusion)
}

/// The plan of all experiments: one variant, one workload.
fn base_plan(spec: &BisectSpec<'_>) -> Result<Plan> {
    let mut plan = resolve(spec.plan.clone(), &mut |_| ())?.plan;
    if !plan.arena.chooses_kernel() {
        return Err(usage(format!(
            "plan {:?}: kernels are bisected in the kernel arena (found {}); set arena = \"kernel\" and a modelled device, or a CPU workload",
            plan.name, plan.arena.name
        )));
    }
    let names = |names: Vec<&str>| names.join(", ");
    let variant = spec.variant.unwrap_or_else(|| plan.baseline()).to_owned();
    let found =
        plan.variants.iter().find(|known| known.name == variant).cloned().ok_or_else(|| {
            let known = names(plan.variants.iter().map(|variant| variant.name.as_str()).collect());
            usage(format!("--variant {variant}: not in the plan (expected one of {known})"))
        })?;
    if found.scheduler.contains('@') || found.tunables.contains_key(kernel::KERNEL) {
        return Err(usage(format!(
            "variant {variant}: names its own kernel or patch, but --source sets the kernel; name another with --variant, or put its patch \
             first in the series"
        )));
    }
    match (spec.workload, plan.workloads.len()) {
        (None, 1) => {}
        (None, count) => {
            let known =
                names(plan.workloads.iter().map(|workload| workload.name.as_str()).collect());
            return Err(usage(format!(
                "plan {:?}: has {count} workloads, and one decides; name it with --workload (one of {known})",
                plan.name
            )));
        }
        (Some(word), _) => {
            let known: Vec<String> =
                plan.workloads.iter().map(|workload| workload.name.clone()).collect();
            plan.workloads.retain(|workload| workload.name == word);
            if plan.workloads.is_empty() {
                return Err(usage(format!(
                    "--workload {word}: none of the plan (expected one of {}); name one of these",
                    known.join(", ")
                )));
            }
        }
    }
    plan.baseline = Some(found.name.clone());
    plan.variants = vec![found];
    plan.published.clear();
    Ok(plan)
}

struct Run<'a> {
    bench: Bench<'a>,
    /// The common plan, with only the variant under test.
    plan: Plan,
    steps: Steps,
    shares: ErrorShares,
    dir: Dir,
    log: Log,
    progress: &'a dyn Progress,
    command: &'a str,
    /// Verdicts so far: those of a search without skipped steps, and additional ones.
    planned: u32,
    further: u32,
    measured: Vec<Duration>,
    keep_kernels: bool,
}

enum Shown {
    Side(Finding),
    /// The pair cannot be compared.
    Nothing,
    Interrupted {
        by: String,
    },
}

impl Run<'_> {
    fn search(&mut self) -> Result<Conclusion> {
        let last = self.steps.last();
        let expected = ::experiment::search::bisect::halvings(last);
        match self.compare((0, last), expected + 1)? {
            Shown::Side(Finding::Bad) => {}
            Shown::Side(_) => return Ok(Conclusion::EndsDoNotDiffer),
            Shown::Nothing => return Ok(Conclusion::EndsUnclear),
            Shown::Interrupted { by } => return Ok(Conclusion::Interrupted { by }),
        }
        let mut search = Bisection::new(last);
        while let Some(step) = search.next_step() {
            let before = search.bracket();
            let finding = match self.compare((0, step), search.verdicts_left())? {
                Shown::Side(finding) => finding,
                Shown::Nothing => Finding::Skipped,
                Shown::Interrupted { by } => return Ok(Conclusion::Interrupted { by }),
            };
            search.record(step, finding);
            let Bracket { good, bad } = search.bracket();
            let out = match finding {
                Finding::Good => before.good,
                Finding::Bad => before.bad,
                Finding::Skipped => step,
            };
            self.forget_kernel(out, &[0, last, good, bad])?;
        }
        let Bracket { good, bad } = search.bracket();
        let is_one = search.bracket().is_one_step();
        if good == 0 {
            // Already compared with the good end.
            return Ok(Conclusion::of(search.bracket()));
        }
        Ok(match self.compare((good, bad), 0)? {
            Shown::Side(Finding::Bad) if is_one => Conclusion::Found { good, bad },
            Shown::Side(Finding::Bad) => Conclusion::Range { good, bad },
            Shown::Side(_) | Shown::Nothing => Conclusion::NotConfirmed { good, bad },
            Shown::Interrupted { by } => Conclusion::Interrupted { by },
        })
    }

    /// Compares two steps in at most two experiments; about `later` more follow.
    fn compare(&mut self, pair: (usize, usize), later: u32) -> Result<Shown> {
        let primary = self.plan.workloads[0].primary.clone().unwrap_or_default();
        let (direction, margin) = (self.plan.direction_of(&primary), self.plan.criteria.margin);
        for attempt in 1..=2 {
            if self.log.answer(pair.0, pair.1, attempt).is_none()
                && self.next_share(attempt).0 < LEAST_SHARE
            {
                self.progress.remark("error budget spent; remaining steps are skipped");
                return Ok(Shown::Nothing);
            }
            let answer = match self.answer(pair.0, pair.1, attempt, later)? {
                Ok(answer) => answer,
                Err(by) => return Ok(Shown::Interrupted { by }),
            };
            let words = self.in_words(&answer);
            let AnswerResult::Compared(evidence) = answer.result else {
                self.progress.remark(&format!("{words}: skipped"));
                return Ok(Shown::Nothing);
            };
            match evidence.side(direction, margin) {
                Some(finding) => {
                    self.progress.remark(&words);
                    return Ok(Shown::Side(finding));
                }
                None if evidence.verdict == ::experiment::analysis::Verdict::Invalid
                    || attempt == 2 =>
                {
                    self.progress.remark(&format!("{words}: skipped"));
                    return Ok(Shown::Nothing);
                }
                None => self.progress.remark(&format!(
                    "{words}: measured again, {} times as long",
                    experiment::LONGER
                )),
            }
        }
        Ok(Shown::Nothing)
    }

    /// The answer from the log or from a new experiment; Err: the signal that interrupted it.
    fn answer(
        &mut self,
        baseline: usize,
        step: usize,
        attempt: u32,
        later: u32,
    ) -> Result<Result<Answer, String>> {
        if let Some(answer) = self.log.answer(baseline, step, attempt).cloned() {
            self.count(&answer);
            return Ok(Ok(answer));
        }
        let begun = Instant::now();
        let (alpha, _) = self.next_share(attempt);
        let variants = [self.variant(baseline)?, self.variant(step)?];
        let resolved = plan_of(&self.plan, variants, alpha, attempt)?;
        let directory = format!(
            "experiment-{step}-against-{baseline}{}",
            if attempt > 1 { "-longer" } else { "" }
        );
        let each = self
            .measured
            .iter()
            .sum::<Duration>()
            .checked_div(u32::try_from(self.measured.len()).unwrap_or(1));
        let done = u32::try_from(self.log.answers.len()).unwrap_or(u32::MAX);
        let progress = StepProgress {
            shown: self.progress,
            prefix: format!(
                "{} of about {} · {}",
                done + 1,
                done + 1 + later,
                self.steps.list[step].name
            ),
            done,
            total: done + 1 + later,
            each,
        };
        let mut outcome = None;
        // Build the candidate first: if that fails, the baseline is not needed.
        for (variant, position) in [(1, step), (0, baseline)] {
            match self.bench.build(&resolved, VariantIndex(variant), &progress)? {
                Ok((key, true)) => self.log.append(&LogLine::Built { step: position, key })?,
                Ok((_, false)) => {}
                Err(failed) if variant == 1 => {
                    outcome = Some(failed);
                    break;
                }
                Err(StepOutcome::Interrupted { by }) => return Ok(Err(by)),
                Err(StepOutcome::Done(failed)) => {
                    let message = result::failure(&failed).unwrap_or_default();
                    return Err(anyhow::anyhow!("{}: {message}", self.steps.list[position].name));
                }
            }
        }
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => {
                let dir = self.dir.file(&directory);
                self.bench.measure(resolved, &dir, self.command, &progress)?
            }
        };
        let result = match outcome {
            StepOutcome::Interrupted { by } => return Ok(Err(by)),
            StepOutcome::Done(result) => result,
        };
        let took = begun.elapsed();
        self.measured.push(took);
        let alpha = if matches!(result, AnswerResult::Compared(_)) { alpha } else { 0.0 };
        let answer = Answer {
            baseline,
            step,
            attempt,
            alpha,
            directory,
            result,
            seconds: took.as_secs_f64(),
        };
        self.log.append(&LogLine::Answer(answer.clone()))?;
        self.count(&answer);
        Ok(Ok(answer))
    }

    /// The error share of the next verdict, and whether it is a planned one.
    fn next_share(&self, attempt: u32) -> (f64, bool) {
        let is_planned = attempt == 1 && self.planned < self.shares.planned;
        (self.shares.of_verdict((!is_planned).then_some(self.further)), is_planned)
    }

    /// Counts a verdict, since each error share can be spent only once.
    fn count(&mut self, answer: &Answer) {
        if answer.alpha > 0.0 {
            let (_, is_planned) = self.next_share(answer.attempt);
            *(if is_planned { &mut self.planned } else { &mut self.further }) += 1;
        }
    }

    fn variant(&self, step: usize) -> Result<Variant> {
        self.steps.variant(step, &self.plan.variants[0], &self.dir)
    }

    /// Removes a step's kernel from the cache if this bisection built it and no longer needs it.
    fn forget_kernel(&mut self, step: usize, needed: &[usize]) -> Result<()> {
        if self.keep_kernels || needed.contains(&step) {
            return Ok(());
        }
        let cache = kernel::cache(self.bench.opening.cache_dir.as_deref())?;
        for (_, key) in self.log.built.iter().filter(|(of, _)| *of == step) {
            // Another schedlab may be using it or may have removed it.
            let _ = cache.remove(key);
        }
        Ok(())
    }

    fn in_words(&self, answer: &Answer) -> String {
        let step = result::named(&self.steps.list, answer.step);
        let what = match &answer.result {
            AnswerResult::Compared(evidence) => result::in_words(evidence),
            failed => result::failure(failed).unwrap_or_default(),
        };
        let against = result::named(&self.steps.list, answer.baseline);
        format!("{step} against {against}: {what} ({:.0} s)", answer.seconds)
    }

    fn result(self, conclusion: Conclusion) -> Result<BisectResult> {
        let pair = match conclusion.bracket() {
            Some((good, bad)) => [good, bad],
            None => [0, self.steps.last()],
        };
        let mut shown = self.plan.clone();
        shown.variants = pair.iter().map(|step| self.variant(*step)).collect::<Result<_>>()?;
        shown.baseline = Some(shown.variants[0].name.clone());
        shown.name = format!("{}: {}", self.plan.name, self.steps.list[pair[1]].name);
        self.dir.replace(SHOWN, shown.to_toml().as_bytes()).context("plan of the two kernels")?;
        Ok(BisectResult::of(
            &self.plan,
            &self.steps.list,
            &self.log.answers,
            conclusion,
            self.dir.path(),
        ))
    }
}

#[cfg(test)]
mod tests;
