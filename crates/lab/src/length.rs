//! The length of trials, rounds and experiments.

use std::time::Duration;

use experiment::plan::Plan;
use experiment::stats::spending::FIRST_LOOK;
use text::limits::ROUNDS;

/// The number of rounds for which the default trial length is chosen: enough for a verdict on a
/// two-sigma effect, plus a few.
pub const ROUNDS_AIMED_AT: f64 = 12.0;

/// Maximum default length of a trial; the user may set a longer one.
const LONGEST_CHOSEN: Duration = Duration::from_secs(10);

/// Maximum ratio of planned rounds to those that fit with all variants; decided variants leave
/// their time to the others.
const MOST_TIMES_MORE: f64 = 1.5;

/// The planned rounds per workload for spending functions: those that fit into the budget, or more
/// if variants may stop early. `spent` is all time so far, `cycle` the trial time of the first
/// rounds. Planning too many costs little, because unspent alpha is spent at the end of the budget.
pub fn planned_rounds(plan: &Plan, spent: Duration, cycle: Duration) -> u32 {
    let left = (plan.budget.time_s - spent.as_secs_f64()).max(0.0);
    let trials = plan.variants.len() as f64 * plan.workloads.len() as f64;
    let cycle = (cycle + overhead(plan).mul_f64(trials)).as_secs_f64().max(1e-9);
    let fit = 1.0 + left / cycle;
    let times = (plan.variants.len() as f64 / 2.0).clamp(1.0, MOST_TIMES_MORE);
    (fit * times).floor().clamp(FIRST_LOOK as f64, ROUNDS.most as f64) as u32
}

/// How many times longer than planned a program's trials may be before its own run time is used.
pub(crate) const TOLERATED: f64 = 2.0;

/// Approximate time to switch and check settings, per trial on a machine.
const OVERHEAD: Duration = Duration::from_millis(30);

/// One round of every workload including preconditioning.
pub fn cycle_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    let preconditions = usize::from(!plan.arena.is_virtual());
    let trials = (plan.variants.len() + preconditions) as f64 * plan.workloads.len() as f64;
    trials * (duration + warmup + overhead(plan)).as_secs_f64()
}

pub fn round_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    let trials = plan.variants.len() as f64 * plan.workloads.len() as f64;
    trials * (duration + warmup + overhead(plan)).as_secs_f64()
}

/// Preconditioning, in seconds of the budget.
pub fn before_s(plan: &Plan) -> f64 {
    cycle_s(plan) - round_s(plan)
}

/// Rounds per workload that fit into the budget, at most the plan's fixed number. The last round
/// may exceed the budget.
pub fn rounds(plan: &Plan) -> u32 {
    let room = ((plan.budget.time_s - before_s(plan)) / round_s(plan))
        .ceil()
        .clamp(0.0, f64::from(u32::MAX)) as u32;
    plan.budget.rounds.map_or(room, |fixed| fixed.min(room))
}

/// Expected seconds for a fixed number of rounds, else the budget.
pub fn expected_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    let each = duration + warmup + overhead(plan);
    let trials =
        |rounds: u32| f64::from(rounds) * plan.variants.len() as f64 * plan.workloads.len() as f64;
    plan.budget.rounds.map_or(plan.budget.time_s, |rounds| trials(rounds) * each.as_secs_f64())
}

/// Time of a trial outside its window and warm-up.
pub(crate) fn overhead(plan: &Plan) -> Duration {
    if plan.arena.is_virtual() { Duration::ZERO } else { OVERHEAD }
}

/// Window and warm-up of a trial: the plan's, or such that about twelve rounds fit into the budget.
pub fn trial_length(plan: &Plan) -> (Duration, Duration) {
    let rounds = plan.budget.rounds.map_or(ROUNDS_AIMED_AT, f64::from);
    let trials = rounds * plan.variants.len() as f64 * plan.workloads.len() as f64;
    let each_ms = plan.budget.time_s * 1000.0 / trials;
    // One sixth of each trial is warm-up.
    let chosen = ((each_ms - overhead(plan).as_secs_f64() * 1000.0) * 5.0 / 6.0)
        .clamp(100.0, LONGEST_CHOSEN.as_millis() as f64) as u64;
    let duration = plan.trial.duration_ms.unwrap_or(chosen);
    let warmup = plan.trial.warmup_ms.unwrap_or(duration / 5);
    (Duration::from_millis(duration), Duration::from_millis(warmup))
}
