//! How long a sweep takes, said before it begins.
//!
//! Twenty to thirty-five arms share the chance of a false verdict, so an interval needs a block or two more than in a comparison of
//! four, and a block takes half a minute. The minute that the other commands take by default would end before anything can be
//! known.

use std::time::Duration;

use anyhow::Result;
use experiment::plan::{Method, Plan};
use experiment::stats::sequence;
use experiment::stats::spending::FIRST_LOOK;

use crate::cli::DesignArgs;
use crate::failure::usage;
use crate::out;
use lab::length;
use report::number::span_ms;

/// Blocks that the default budget has room for on the host: enough for an effect of two block deviations at the levels of
/// twenty arms.
const BLOCKS: f64 = 20.0;
/// The default length of a trial on the host.
const TRIAL_MS: u64 = 1000;

/// Fills in the usual length of a sweep on the host; in virtual time the usual one of every experiment will do.
pub(super) fn plan(plan: &mut Plan, design: &DesignArgs) {
    if plan.arena.is_virtual() || design.budget.is_some() {
        return;
    }
    plan.trial.duration_ms.get_or_insert(TRIAL_MS);
    if plan.budget.blocks.is_none() {
        plan.budget.time_s = (BLOCKS * block_s(plan)).ceil();
    }
}

/// Says how long a block of a checked plan takes and how many the budget has room for.
///
/// # Errors
/// When the budget has not room for as many as an interval needs.
pub(super) fn tell(plan: &Plan, quiet: bool) -> Result<()> {
    let (block, least) = (block_s(plan), least_blocks(plan));
    let arms = plan.arms.len();
    let spelt = |seconds: f64| span_ms(Duration::from_secs_f64(seconds).as_millis() as u64);
    let time = if plan.arena.is_virtual() { " of virtual time" } else { "" };
    let takes = format!("{arms} arms: a block takes about {}{time}", spelt(block));
    let needed = format!("with {} comparisons no interval exists before {least} blocks are measured", arms - 1);
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
                "{takes}; room for {room:.0} blocks in {}; what is decided is not measured again",
                spelt(most)
            ));
            Ok(())
        }
        Some(blocks) => {
            out::note(format_args!("{takes}, {blocks} of them {}", spelt(f64::from(blocks) * block)));
            if blocks < least {
                out::note(format_args!("note: {needed}, so {blocks} will decide nothing"));
            }
            Ok(())
        }
    }
}

/// What one block of every workload takes, in seconds.
fn block_s(plan: &Plan) -> f64 {
    let one = Plan { budget: experiment::plan::Budget { blocks: Some(1), ..plan.budget.clone() }, ..plan.clone() };
    let (duration, warmup) = length::trial_length(plan);
    let ms = |length: Duration| Some(u64::try_from(length.as_millis()).expect("a trial is shorter than a day"));
    let trial = experiment::plan::TrialLength { duration_ms: ms(duration), warmup_ms: ms(warmup) };
    length::expected_s(&Plan { trial, ..one })
}

/// The fewest blocks after which the arm that is judged first can have an interval.
fn least_blocks(plan: &Plan) -> u32 {
    let level = plan.criteria.alpha / (plan.arms.len() - 1).max(1) as f64;
    match plan.criteria.method {
        Method::Spending => FIRST_LOOK as u32,
        Method::Anytime => (2..1000).find(|n| sequence::critical_t(*n, level).is_some()).unwrap_or(1000) as u32,
        Method::Fixed | Method::ThreeSigma => 2,
    }
}
