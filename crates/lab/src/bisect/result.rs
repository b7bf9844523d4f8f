//! The result of a bisection: the step, the verdicts on both sides, and how to reproduce it.

use std::path::{Path, PathBuf};

use experiment::analysis::Verdict;
use experiment::notation::Change;
use experiment::plan::Plan;
use experiment::search::bisect::Bracket;
use serde::Serialize;

use super::evidence::Evidence;
use super::log::{Answer, AnswerResult};
use super::steps::Step;

/// The plan that compares the two kernels around the result, in the bisection's directory.
pub const SHOWN: &str = "found.toml";
const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "conclusion", rename_all = "kebab-case")]
pub enum Conclusion {
    /// Step `bad` is worse than its neighbour `good`.
    Found {
        good: usize,
        bad: usize,
    },
    /// One of the steps after `good` up to `bad`; those between cannot be compared.
    Range {
        good: usize,
        bad: usize,
    },
    /// Comparisons with the good end give this bracket, but its two sides do not differ from each
    /// other.
    NotConfirmed {
        good: usize,
        bad: usize,
    },
    /// The bad end is not worse than the good one.
    EndsDoNotDiffer,
    EndsUnclear,
    Interrupted {
        by: String,
    },
}

impl Conclusion {
    pub(super) fn of(bracket: Bracket) -> Conclusion {
        let Bracket { good, bad } = bracket;
        if bracket.is_one_step() {
            Conclusion::Found { good, bad }
        } else {
            Conclusion::Range { good, bad }
        }
    }

    #[must_use]
    pub fn bracket(&self) -> Option<(usize, usize)> {
        match self {
            Conclusion::Found { good, bad }
            | Conclusion::Range { good, bad }
            | Conclusion::NotConfirmed { good, bad } => Some((*good, *bad)),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skipped {
    pub step: usize,
    pub name: String,
    pub why: String,
}

/// The result, as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BisectResult {
    pub schema: u32,
    #[serde(flatten)]
    pub conclusion: Conclusion,
    pub plan: String,
    pub scheduler: String,
    pub workload: String,
    pub metric: String,
    pub margin: f64,
    /// The error level of all verdicts together.
    pub alpha: f64,
    /// Steps between the ends, without the good end.
    pub nr_steps: usize,
    pub good_end: Step,
    pub bad_end: Step,
    /// One step, or the first to the last of a range.
    pub blamed: Vec<Step>,
    /// The bad end against the good one.
    pub ends: Option<Evidence>,
    /// The last good and the first bad step against the good end; None for the good end itself.
    pub last_good: Option<Evidence>,
    pub first_bad: Option<Evidence>,
    /// The first bad step against the last good one.
    pub neighbours: Option<Evidence>,
    /// The share of the difference between the ends, on a log scale, that lies between the
    /// neighbours.
    pub share_of_difference: Option<f64>,
    pub skipped: Vec<Skipped>,
    pub answers: Vec<Answer>,
    pub directory: PathBuf,
    /// The command that compares the two kernels again.
    pub command: String,
}

impl BisectResult {
    pub(super) fn of(
        plan: &Plan,
        steps: &[Step],
        answers: &[Answer],
        conclusion: Conclusion,
        dir: &Path,
    ) -> BisectResult {
        let last = steps.len() - 1;
        let last_compared = |baseline: usize, step: usize| {
            let of_pair = answers
                .iter()
                .rev()
                .filter(|answer| (answer.baseline, answer.step) == (baseline, step));
            let mut compared = of_pair.filter_map(|answer| match &answer.result {
                AnswerResult::Compared(evidence) => Some(evidence.clone()),
                _ => None,
            });
            compared.next()
        };
        let bracket = conclusion.bracket();
        let neighbours = bracket.and_then(|(good, bad)| last_compared(good, bad));
        let ends = last_compared(0, last);
        let log_ratio =
            |evidence: &Option<Evidence>| evidence.as_ref().and_then(|it| it.ratio).map(f64::ln);
        let share = match (log_ratio(&neighbours), log_ratio(&ends)) {
            (Some(of), Some(whole)) if whole != 0.0 => Some(of / whole),
            _ => None,
        };
        let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        BisectResult {
            schema: SCHEMA,
            plan: plan.name.clone(),
            scheduler: plan.variants[0].name.clone(),
            workload: plan.workloads[0].name.clone(),
            metric: plan.workloads[0].primary.clone().unwrap_or_default(),
            margin: plan.criteria.margin,
            alpha: plan.criteria.alpha,
            nr_steps: last,
            good_end: steps[0].clone(),
            bad_end: steps[last].clone(),
            blamed: bracket.map_or_else(Vec::new, |(good, bad)| steps[good + 1..=bad].to_vec()),
            last_good: bracket
                .filter(|(good, _)| *good > 0)
                .and_then(|(good, _)| last_compared(0, good)),
            first_bad: bracket.and_then(|(_, bad)| last_compared(0, bad)),
            ends,
            neighbours,
            share_of_difference: share,
            skipped: skipped(steps, answers, bracket),
            answers: answers.to_vec(),
            command: format!(
                "schedlab run {} --allow-commands --out {}",
                quoted(&whole.join(SHOWN)),
                quoted(&whole.join("shown"))
            ),
            directory: whole,
            conclusion,
        }
    }
}

/// Steps whose last answer has no verdict.
fn skipped(steps: &[Step], answers: &[Answer], bracket: Option<(usize, usize)>) -> Vec<Skipped> {
    let of =
        |step: usize| answers.iter().rfind(|answer| answer.step == step && answer.baseline == 0);
    let between = bracket.map_or(1..steps.len(), |(good, bad)| good + 1..bad);
    let of_step = |step: usize| {
        let why = match &of(step)?.result {
            AnswerResult::Compared(evidence) if bracket.is_some() || is_open(evidence) => {
                in_words(evidence)
            }
            AnswerResult::Compared(_) => return None,
            failed => failure(failed).unwrap_or_default(),
        };
        Some(Skipped { step, name: steps[step].name.clone(), why })
    };
    between.filter_map(of_step).collect()
}

fn is_open(evidence: &Evidence) -> bool {
    matches!(evidence.verdict, Verdict::Invalid | Verdict::Inconclusive)
}

/// Why a step has no verdict; None if it was compared.
pub(super) fn failure(result: &AnswerResult) -> Option<String> {
    match result {
        AnswerResult::Compared(_) => None,
        AnswerResult::DoesNotBuild { message } => Some(format!("does not build: {message}")),
        AnswerResult::DoesNotBoot { message } => Some(format!("does not boot: {message}")),
        AnswerResult::GuestFailed { message } => {
            Some(format!("fails under the workload: {message}"))
        }
    }
}

/// `worse, -41 % [-46, -36]`.
#[must_use]
pub fn in_words(evidence: &Evidence) -> String {
    let verdict = match evidence.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => return format!("invalid: {}", evidence.reasons.join("; ")),
    };
    let &Evidence { low, high, .. } = evidence;
    match evidence.ratio {
        Some(ratio) => format!("{verdict}, {}", Change { ratio, low, high }),
        None => format!("{verdict}, no evidence"),
    }
}

/// A step with its number, `step 37 of 64 (0037-x.patch)`; the good end by name only.
#[must_use]
pub fn named(steps: &[Step], step: usize) -> String {
    match step {
        0 => format!("the good end ({})", steps[0].name),
        step if step + 1 == steps.len() => format!("the bad end ({})", steps[step].name),
        step => format!("step {step} of {} ({})", steps.len() - 1, steps[step].name),
    }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let word = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
