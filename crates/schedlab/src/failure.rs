//! Exit statuses that scripts rely on: one table, from which the reference page is rendered.
//!
//! A usage error is an ordinary error until `main` asks for its kind, so `?` works everywhere.
//! After SIGHUP, SIGINT or SIGTERM the status is the shell's 128 + n, regardless of other
//! failures.

use experiment::analysis::Verdict;
use experiment::outcome::{Condition, Outcome};
use lab::failure::is_usage;
pub(crate) use lab::failure::usage;
use lab::signals;

/// All verdicts were reached; inconclusive is a verdict.
pub(crate) const REACHED: u8 = 0;
pub(crate) const FAILED: u8 = 1;
/// The command line or the plan makes no sense.
pub(crate) const USAGE: u8 = 2;
/// No deciding comparison has valid evidence.
pub(crate) const INVALID: u8 = 3;
/// A setting to restore belongs to a running process and was left alone.
pub(crate) const BUSY: u8 = 4;

/// Segments do not cover all rounds of the experiment.
pub(crate) const INCOMPLETE: u8 = 9;

#[cfg_attr(not(test), allow(dead_code))]
pub(crate) struct Status {
    pub(crate) code: u8,
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) then: &'static str,
}

const fn row(code: u8, name: &'static str, meaning: &'static str, then: &'static str) -> Status {
    Status { code, name, meaning, then }
}

/// All but those of fatal signals and of the program under `kernel exec`.
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) static STATUSES: &[Status] = &[
    row(
        REACHED,
        "conclusive",
        "done; of an experiment: the evidence counts, also if *inconclusive* or *partly invalid*, unless `--fail-if` names that",
        "read the report",
    ),
    row(
        FAILED,
        "failed",
        "an operation failed: a device, a file, a program",
        "the message names the subject and the next step",
    ),
    row(
        USAGE,
        "usage",
        "wrong usage: an impossible option, plan key or combination, or a missing input",
        "nothing was measured; correct the command",
    ),
    row(
        INVALID,
        "invalid",
        "the evidence is invalid: no deciding comparison is left that counts",
        "the report names each reason",
    ),
    row(
        BUSY,
        "restore-left",
        "`restore` left an entry of a running process",
        "end that process or wait for it, then repeat",
    ),
    row(
        condition(Condition::Worse),
        "worse",
        "a deciding comparison is worse (`--fail-if worse`, and `gate`)",
        "the last line of standard error names it",
    ),
    row(
        condition(Condition::NotBetter),
        "not-better",
        "a deciding comparison is anything but better (`--fail-if not-better`)",
        "the same",
    ),
    row(
        condition(Condition::Inconclusive),
        "inconclusive",
        "a deciding comparison is inconclusive (`--fail-if inconclusive`)",
        "measure more rounds, or widen the margin before the next experiment",
    ),
    row(
        condition(Condition::PartlyInvalid),
        "partly-invalid",
        "a deciding comparison is invalid, and others count (`--fail-if partly-invalid`)",
        "the report names each reason",
    ),
    row(
        INCOMPLETE,
        "incomplete",
        "`shard merge`: the experiment asks for rounds that no segment has, and nothing was written; `atlas`: cells are missing",
        "measure the rounds or cells that the message names, and repeat",
    ),
    row(129, "interrupted", "SIGHUP", "`--resume` continues the experiment"),
    row(130, "interrupted", "SIGINT", "`--resume` continues the experiment"),
    row(143, "interrupted", "SIGTERM", "`--resume` continues the experiment"),
];

pub(crate) const fn condition(condition: Condition) -> u8 {
    match condition {
        Condition::Worse => 5,
        Condition::NotBetter => 6,
        Condition::Inconclusive => 7,
        Condition::PartlyInvalid => 8,
    }
}

pub(crate) fn of_verdicts(verdicts: &[Verdict], conditions: &[Condition]) -> u8 {
    match Condition::first_that_holds(conditions, verdicts) {
        _ if Outcome::of(verdicts) == Outcome::Invalid => INVALID,
        Some(held) => condition(held),
        None => REACHED,
    }
}

pub(crate) fn status_of(error: &anyhow::Error) -> u8 {
    signals::status().unwrap_or(if is_usage(error) { USAGE } else { FAILED })
}

pub(crate) fn cut_short() -> u8 {
    signals::status().unwrap_or(FAILED)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn wrong_usage_keeps_its_status_under_any_context() {
        let wrapped = Err::<(), _>(usage("no such workload")).context("in plan.toml").unwrap_err();
        assert_eq!(status_of(&wrapped), USAGE);
        assert_eq!(status_of(&anyhow::anyhow!("disk full")), FAILED);
    }

    #[test]
    fn every_status_stands_once_in_the_table() {
        let mut codes: Vec<u8> = STATUSES.iter().map(|status| status.code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 129, 130, 143]);
    }

    #[test]
    fn invalid_is_a_status_of_its_own_whatever_was_to_be_a_failure() {
        let all = [
            Condition::Worse,
            Condition::NotBetter,
            Condition::Inconclusive,
            Condition::PartlyInvalid,
        ];
        assert_eq!(of_verdicts(&[Verdict::Invalid], &all), INVALID);
        assert_eq!(of_verdicts(&[], &[]), INVALID);
        assert_eq!(of_verdicts(&[Verdict::Invalid, Verdict::Better], &[]), REACHED);
        assert_eq!(
            of_verdicts(&[Verdict::Invalid, Verdict::Better], &[Condition::PartlyInvalid]),
            8
        );
        assert_eq!(of_verdicts(&[Verdict::Inconclusive], &[]), REACHED);
        assert_eq!(of_verdicts(&[Verdict::Worse, Verdict::Better], &all), 5);
    }
}
