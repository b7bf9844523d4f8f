//! The duration of a sweep.
//!
//! With twenty to thirty-five variants sharing α, an interval needs a round or two more than with
//! four, and a round takes half a minute: the usual minute would end before any verdict.

use std::time::Duration;

use anyhow::Result;
use experiment::feasibility::least_rounds;
use experiment::plan::Plan;

use crate::cli::DesignArgs;
use crate::failure::usage;
use crate::out;
use lab::length;
use report::number::span_ms;

/// Rounds that the default budget allows on the host: enough for an effect of two round-to-round
/// SDs at the levels of twenty variants.
const ROUNDS: f64 = 20.0;
const TRIAL_MS: u64 = 1000;

/// Only on the host; virtual time keeps the usual default.
pub(super) fn plan(plan: &mut Plan, design: &DesignArgs) {
    if plan.arena.is_virtual() || design.budget.is_some() {
        return;
    }
    plan.trial.duration_ms.get_or_insert(TRIAL_MS);
    if plan.budget.rounds.is_none() {
        plan.budget.time_s = (ROUNDS * length::round_s(plan)).ceil();
    }
}

/// Reports the rounds that the budget allows; an error if an interval needs more.
pub(super) fn tell(plan: &Plan, quiet: bool) -> Result<()> {
    let (round, least) =
        (length::round_s(plan), least_rounds(&plan.criteria, plan.variants.len() - 1));
    let variants = plan.variants.len();
    let spelt = |seconds: f64| span_ms(Duration::from_secs_f64(seconds).as_millis() as u64);
    let time = if plan.arena.is_virtual() { " of virtual time" } else { "" };
    let takes = format!(
        "{}: a round takes about {}{time}",
        text::counted(variants as u64, "variant"),
        spelt(round)
    );
    let needed = format!(
        "with {} no interval exists before {} are measured",
        text::counted(variants as u64 - 1, "comparison"),
        text::counted(least.into(), "round")
    );
    let room = (plan.budget.time_s / round).floor();
    match plan.budget.rounds {
        None if room < f64::from(least) => Err(usage(format!(
            "--budget: too short: {takes}, and {} has no room for {least} ({needed}); give --budget {:.0}s or more, or sweep less (--tunables, \
             --values)",
            spelt(plan.budget.time_s),
            (ROUNDS * round).ceil()
        ))),
        _ if quiet => Ok(()),
        None => {
            let most = plan.budget.time_s;
            out::note(format_args!(
                "{takes}; room for {} in {}; what is decided is not measured again",
                text::counted(room as u64, "round"),
                spelt(most)
            ));
            Ok(())
        }
        Some(rounds) => {
            out::note(format_args!(
                "{takes}, {rounds} of them {}",
                spelt(f64::from(rounds) * round)
            ));
            Ok(())
        }
    }
}
