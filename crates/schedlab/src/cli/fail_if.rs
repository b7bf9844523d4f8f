//! `--fail-if`: verdicts that make a command fail, and the exit statuses.

use clap::{Args, ValueEnum};
use experiment::analysis::{Analysis, Verdict};
use experiment::outcome::{Condition, Outcome, deciding, deciding_verdicts};

use crate::failure;
use crate::out;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FailIfArgs {
    /// Fail if a deciding comparison has this verdict, with exit status 5 worse, 6 not-better, 7
    /// inconclusive, 8 partly-invalid; may be repeated.
    #[arg(long, value_name = "VERDICT,…", value_delimiter = ',')]
    pub(crate) fail_if: Vec<FailIfArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailIfArg {
    /// A variant is worse than the baseline.
    Worse,
    /// A variant is anything but better than the baseline.
    NotBetter,
    /// A variant has no verdict.
    Inconclusive,
    /// The evidence of a variant is invalid, and that of others counts.
    PartlyInvalid,
}

impl From<FailIfArg> for Condition {
    fn from(arg: FailIfArg) -> Condition {
        match arg {
            FailIfArg::Worse => Condition::Worse,
            FailIfArg::NotBetter => Condition::NotBetter,
            FailIfArg::Inconclusive => Condition::Inconclusive,
            FailIfArg::PartlyInvalid => Condition::PartlyInvalid,
        }
    }
}

impl FailIfArgs {
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.fail_if.iter().map(|arg| (*arg).into()).collect()
    }

    /// The exit status of an analysis; a failure is explained on standard error.
    pub(crate) fn status(&self, analysis: &Analysis) -> u8 {
        self.status_of_all([analysis])
    }

    /// The exit status of several analyses: invalid if any is.
    pub(crate) fn status_of_all<'a>(&self, analyses: impl IntoIterator<Item = &'a Analysis>) -> u8 {
        let conditions = self.conditions();
        let mut status = failure::REACHED;
        for analysis in analyses {
            let verdicts = deciding_verdicts(analysis);
            match failure::of_verdicts(&verdicts, &conditions) {
                failure::REACHED => remark_on_invalid(&verdicts),
                failure::INVALID => status = failure::INVALID,
                found => {
                    let held = Condition::first_that_holds(&conditions, &verdicts)
                        .expect("a condition gave the status");
                    say(analysis, held);
                    status = if status == failure::REACHED { found } else { found.min(status) };
                }
            }
        }
        status
    }
}

/// An invalid variant must not be overlooked, even if it is not a failure.
fn remark_on_invalid(verdicts: &[Verdict]) {
    if Outcome::of(verdicts) == Outcome::PartlyInvalid {
        let invalid = verdicts.iter().filter(|verdict| **verdict == Verdict::Invalid).count();
        let all = verdicts.len();
        out::note(format_args!(
            "{invalid} of {all} deciding comparisons are invalid; --fail-if partly-invalid makes that a failure"
        ));
    }
}

/// Names at most three of the comparisons that failed.
fn say(analysis: &Analysis, held: Condition) {
    let word = |verdict: Verdict| format!("{verdict:?}").to_lowercase();
    let all: Vec<String> = deciding(analysis)
        .filter(|comparison| held.holds_of(comparison.verdict))
        .map(|comparison| {
            let (variant, baseline, verdict) =
                (&comparison.variant, &comparison.baseline, word(comparison.verdict));
            format!(
                "{variant} against {baseline} is {verdict} on {} ({})",
                comparison.metric, comparison.workload
            )
        })
        .collect();
    let more = if all.len() > 3 { format!("; and {} more", all.len() - 3) } else { String::new() };
    out::note(format_args!("--fail-if: {}{more}", all[..all.len().min(3)].join("; ")));
}
