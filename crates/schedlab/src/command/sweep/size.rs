//! How long a sweep takes, said before it begins.
//!
//! Twenty to thirty-five variants share the chance of a false verdict, so an interval needs a block
//! or two more than in a comparison of four, and a block takes half a minute. The minute that the
//! other commands take by default would end before anything can be known.

use std::time::Duration;

use anyhow::Result;
use experiment::feasibility::least_blocks;
use experiment::plan::Plan;

use crate::cli::DesignArgs;
use crate::failure::usage;
use crate::out;
use lab::length;
use report::number::span_ms;

/// Blocks that the default budget has room for on the host: enough for an effect of two block
/// deviations at the levels of twenty variants.
const BLOCKS: f64 = 20.0;
/// The default length of a trial on the host.
const TRIAL_MS: u64 = 1000;

/// Fills in the usual length of a sweep on the host; in virtual time the usual one of every
/// experiment will do.
pub(super) fn plan(plan: &mut Plan, design: &DesignArgs) {
    if plan.arena.is_virtual() || design.budget.is_some() {
        return;
    }
    plan.trial.duration_ms.get_or_insert(TRIAL_MS);
    if plan.budget.blocks.is_none() {
        plan.budget.time_s = (BLOCKS * length::block_s(plan)).ceil();
    }
}

/// Says how long a block of a checked plan takes and how many the budget has room for.
///
/// # Errors
/// When the budget has not room for as many as an interval needs.
pub(super) fn tell(plan: &Plan, quiet: bool) -> Result<()> {
    let (block, least) =
        (length::block_s(plan), least_blocks(&plan.criteria, plan.variants.len() - 1));
    let variants = plan.variants.len();
    let spelt = |seconds: f64| span_ms(Duration::from_secs_f64(seconds).as_millis() as u64);
    let time = if plan.arena.is_virtual() { " of virtual time" } else { "" };
    let takes = format!(
        "{}: a block takes about {}{time}",
        text::counted(variants as u64, "variant"),
        spelt(block)
    );
    let needed = format!(
        "with {} no interval exists before {} are measured",
        text::counted(variants as u64 - 1, "comparison"),
        text::counted(least.into(), "block")
    );
    let room = (plan.budget.time_s / block).floor();
    match plan.budget.blocks {
        None if room < f64::from(least) => Err(usage(format!(
            "--budget: too short: {takes}, and {} has no room for {least} ({needed}); give --budget {:.0}s or more, or sweep less (--tunables, \
             --values)",
            spelt(plan.budget.time_s),
            (BLOCKS * block).ceil()
        ))),
        _ if quiet => Ok(()),
        None => {
            let most = plan.budget.time_s;
            out::note(format_args!(
                "{takes}; room for {} in {}; what is decided is not measured again",
                text::counted(room as u64, "block"),
                spelt(most)
            ));
            Ok(())
        }
        Some(blocks) => {
            out::note(format_args!(
                "{takes}, {blocks} of them {}",
                spelt(f64::from(blocks) * block)
            ));
            Ok(())
        }
    }
}
