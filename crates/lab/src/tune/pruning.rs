//! Resets settings that a confirmed winner does not need ([`experiment::search::prune`]).
//!
//! Each step is an experiment in OUT/prune-1, OUT/prune-2, …, with the winner as the baseline and
//! fresh seeds. Steps use only the remaining budget, so pruning does not prolong a search.

use anyhow::Result;
use experiment::plan::{Budget, Plan, Variant};
use experiment::results::End;
use experiment::search::Search;
use experiment::search::prune::{Outcome, Pruner, Step};
use experiment::stats::{Interval, Moments, sequence};

use super::course::{Bench, Pruned};
use super::design::{Design, FRESH_SEEDS, each_s};
use super::result::{Confirmation, PruneStep, Pruning, constraints_shown, effects, end};
use super::scored::Scored;
use crate::failure::usage;

/// Minimum and maximum. With fewer, values without spread give no bound.
const ROUNDS: (u32, u32) = (sequence::MIN_WITHOUT_SPREAD as u32, 40);

pub(super) struct Remaining {
    pub(super) trials: u32,
    pub(super) time_s: Option<f64>,
}

pub(super) fn prune(
    bench: &Bench<'_>,
    search: &Search,
    winner: usize,
    confirmed: &Confirmation,
    mut remaining: Remaining,
    arena: &mut Scored<'_>,
) -> Result<Pruned> {
    let design = bench.design;
    let margin = design.resolved.plan.criteria.margin.ln_1p();
    let mut pruner = Pruner::new(search, winner, margin, design.alpha);
    let whole = design.field.variant(
        search.candidates()[winner].point.as_ref().expect("a winner is a point of the space"),
    );
    let departures = |pruner: &Pruner| search.space().departures(pruner.current());
    let settings = departures(&pruner);
    let (mut steps, mut ratio, mut early) = (Vec::new(), None, None);
    let mut untried = 0;
    while let Some(step) = pruner.next() {
        let Some(rounds) = remaining.rounds(design, &step) else {
            untried = pruner.untried();
            break;
        };
        let name = format!("prune-{}", steps.len() + 1);
        let plan = step_plan(design, &whole, &step, rounds, steps.len() as u64)?;
        let Compared { mut shown, interval, trials, end } =
            compare(bench, &plan, &step, &name, arena)?;
        if end.reason.ending().is_early() {
            early = Some(end);
            break;
        }
        remaining.trials = remaining.trials.saturating_sub(trials);
        remaining.time_s = remaining.time_s.map(|s| s - end.at_ms as f64 / 1e3);
        shown.put_back = pruner.report(&interval) == Outcome::Reverted;
        if shown.put_back {
            ratio = shown.ratio;
        }
        steps.push(shown);
    }
    let low = confirmed.low.map_or(f64::NEG_INFINITY, f64::ln);
    let accepted = pruner.recommendable(low) && early.is_none();
    let variant = design.field.variant(pruner.current());
    let loss = pruner.loss();
    let shown = Pruning {
        steps,
        put_back: settings - departures(&pruner),
        settings,
        untried,
        variant: variant.name.clone(),
        accepted,
        ratio,
        low: loss.and_then(|loss| end(loss.low)),
        high: loss.and_then(|loss| end(loss.high)),
        least_gain: end(low + loss.map_or(0.0, |loss| loss.low)),
    };
    Ok(Pruned { shown, variant, early })
}

impl Remaining {
    /// Rounds of the next step, its share of the budget; None if too small.
    fn rounds(&self, design: &Design, step: &Step) -> Option<u32> {
        let pair = 2 * design.resolved.plan.workloads.len() as u32;
        let by_time =
            |s: f64| (s.max(0.0) / (each_s(&design.resolved.plan) * f64::from(pair))) as u32;
        let left = self.time_s.map_or(u32::MAX, by_time).min(self.trials / pair);
        let part = left / step.steps.max(1) as u32;
        (left >= ROUNDS.0).then(|| part.clamp(ROUNDS.0, ROUNDS.1))
    }
}

/// Compares the winner with its reduced form.
fn step_plan(
    design: &Design,
    whole: &Variant,
    step: &Step,
    rounds: u32,
    number: u64,
) -> Result<Plan> {
    let mut plan = design.resolved.plan.clone();
    let left = design.field.variant(&step.point);
    plan.name = format!("pruning: {} compared with the winner, {}", left.name, whole.name);
    plan.variants = vec![whole.clone(), left];
    plan.baseline = Some(whole.name.clone());
    plan.seed = (plan.seed ^ FRESH_SEEDS).wrapping_add(number + 1);
    plan.criteria.alpha = step.alpha;
    let to_the_end = plan.workloads.len() > 1 || !design.constraints.is_empty();
    let time_s = 4.0 * f64::from(rounds * 2 * plan.workloads.len() as u32) * each_s(&plan);
    plan.budget = Budget {
        time_s: time_s.max(1.0),
        rounds: Some(rounds),
        no_early_stop: to_the_end,
        ..Budget::default()
    };
    plan.check().map_err(|e| usage(e.to_string()))?;
    Ok(plan)
}

struct Compared {
    shown: PruneStep,
    /// Interval of the loss. Unbounded if a constraint is not shown to hold, so that the settings
    /// stay.
    interval: Interval,
    trials: u32,
    end: End,
}

fn compare(
    bench: &Bench<'_>,
    plan: &Plan,
    step: &Step,
    name: &str,
    arena: &mut Scored<'_>,
) -> Result<Compared> {
    let ended = bench.compare(plan, name, arena)?;
    let results = bench.conclude(name)?;
    let Design { alpha, constraints, .. } = bench.design;
    let values = effects(plan, &results.trials);
    let interval = sequence::interval(&Moments::of(&values), step.alpha);
    let holds = constraints_shown(plan, &results.trials, *alpha, constraints)
        .iter()
        .all(|(_, shown)| *shown);
    let shown = PruneStep {
        dir: name.to_owned(),
        settings: step.settings.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        rounds: values.len(),
        ratio: Some(Moments::of(&values).mean.exp()).filter(|_| !values.is_empty()),
        low: end(interval.low),
        high: end(interval.high),
        confidence: 1.0 - step.alpha,
        put_back: false,
    };
    let interval = if holds { interval } else { Interval::UNBOUNDED };
    Ok(Compared { shown, interval, trials: results.trials.len() as u32, end: ended })
}
