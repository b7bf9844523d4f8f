//! After the confirmation: what of the winner is not needed ([`tuner::prune`]).
//!
//! Each step is an ordinary experiment in OUT/prune-1, OUT/prune-2, …: the winner is its baseline, and its seeds are its own. The steps get
//! what search and confirmation have left of the budget, so a search that is pruned takes no longer than one that is not.

use anyhow::Result;
use experiment::plan::{Arm, Budget, Plan};
use experiment::stats::{Moments, sequence};
use files::Dir;
use lab::arena::{Arena, ArmIndex};
use lab::session;
use lab::signals::Stop;
use lab::tune::outcome::SearchSummary;
use lab::tune::result::{Confirmation, PruneStep, Pruning, constraints_shown, effects, end};
use lab::tune::scored::Scored;
use tuner::Search;
use tuner::prune::{Outcome, Pruner, Step};

use super::design::{Design, FRESH_SEEDS, conduct_args, each_s};
use super::done::Pruned;
use crate::cli::{ConductArgs, TuneArgs};
use crate::command::experiment::record_options;
use crate::failure::usage;
use crate::progress::Progress;
use crate::report_files;

/// Blocks of a step: at least, and at most. With fewer, values without any spread bound nothing.
const BLOCKS: (u32, u32) = (sequence::LEAST_WITHOUT_SPREAD as u32, 40);

/// What the steps have to spend.
struct Purse {
    trials: u32,
    time_s: Option<f64>,
}

/// Puts back what the winner does not need, as far as the budget reaches.
pub(super) fn prune(
    design: &Design,
    (search, course): (&Search, &SearchSummary),
    (winner, confirmed, spent): (usize, &Confirmation, (u32, f64)),
    (dir, args): (&Dir, &TuneArgs),
    scored: &mut Scored<'_>,
    ends: (&Stop, &Progress),
) -> Result<Pruned> {
    let margin = design.plan.criteria.margin.ln_1p();
    let mut pruner = Pruner::new(search, winner, margin, design.alpha);
    let whole = design.field.arm(search.candidates()[winner].point.as_ref().expect("a winner is a point of the space"));
    let departures = |pruner: &Pruner| search.space().departures(pruner.left());
    let settings = departures(&pruner);
    let mut purse = Purse {
        trials: design.trials.saturating_sub(course.trials).saturating_sub(spent.0),
        time_s: design.time_s.map(|s| s - course.spent.as_secs_f64() - spent.1),
    };
    let (mut steps, mut ratio, mut early) = (Vec::new(), None, None);
    let mut untried = 0;
    while let Some(step) = pruner.next() {
        let Some(blocks) = purse.blocks(design, &step) else {
            untried = pruner.untried();
            break;
        };
        let name = format!("prune-{}", steps.len() + 1);
        let plan = step_plan(design, &whole, (&step, blocks), steps.len() as u64)?;
        let (shown, took, ended) = measured(design, &plan, (&step, &name), (dir, args), scored, ends)?;
        if let Some(ended) = ended {
            early = Some(ended);
            break;
        }
        purse.trials = purse.trials.saturating_sub(took.0);
        purse.time_s = purse.time_s.map(|s| s - took.1);
        let (mut shown, interval, holds) = shown;
        // What a constraint forbids is not put back, however little it loses.
        let interval = if holds { interval } else { experiment::stats::Interval::UNBOUNDED };
        shown.put_back = pruner.tell(&interval) == Outcome::PutBack;
        if shown.put_back {
            ratio = shown.ratio;
        }
        steps.push(shown);
    }
    let low = confirmed.low.map_or(f64::NEG_INFINITY, f64::ln);
    let accepted = pruner.recommendable(low) && early.is_none();
    let arm = design.field.arm(pruner.left());
    let loss = pruner.loss();
    let shown = Pruning {
        steps,
        put_back: settings - departures(&pruner),
        settings,
        untried,
        arm: arm.name.clone(),
        accepted,
        ratio,
        low: loss.and_then(|loss| end(loss.low)),
        high: loss.and_then(|loss| end(loss.high)),
        least_gain: end(low + loss.map_or(0.0, |loss| loss.low)),
    };
    Ok(Pruned { shown, arm, early })
}

impl Purse {
    /// The blocks of the next step, its part of what is left; none where that is too little.
    fn blocks(&self, design: &Design, step: &Step) -> Option<u32> {
        let pair = 2 * design.plan.workloads.len() as u32;
        let by_time = |s: f64| (s.max(0.0) / (each_s(&design.plan) * f64::from(pair))) as u32;
        let left = self.time_s.map_or(u32::MAX, by_time).min(self.trials / pair);
        let part = left / step.steps.max(1) as u32;
        (left >= BLOCKS.0).then(|| part.clamp(BLOCKS.0, BLOCKS.1))
    }
}

/// The plan of one step: the winner, and what is left without its settings.
fn step_plan(design: &Design, whole: &Arm, (step, blocks): (&Step, u32), number: u64) -> Result<Plan> {
    let mut plan = design.plan.clone();
    let left = design.field.arm(&step.point);
    plan.name = format!("{} against the winner, {}: is what it lacks needed?", left.name, whole.name);
    plan.arms = vec![whole.clone(), left];
    plan.baseline = Some(whole.name.clone());
    plan.seed = (plan.seed ^ FRESH_SEEDS).wrapping_add(number + 1);
    plan.criteria.alpha = step.alpha;
    let to_the_end = plan.workloads.len() > 1 || !design.constraints.is_empty();
    let time_s = 4.0 * f64::from(blocks * 2 * plan.workloads.len() as u32) * each_s(&plan);
    plan.budget =
        Budget { time_s: time_s.max(1.0), blocks: Some(blocks), no_early_stop: to_the_end, ..Budget::default() };
    plan.check().map_err(|e| usage(e.to_string()))?;
    Ok(plan)
}

type Shown = (PruneStep, experiment::stats::Interval, bool);

/// Measures a step: what it showed, the trials and seconds that it took, and its end where that was early.
#[allow(clippy::type_complexity, reason = "one caller, which takes it apart")]
fn measured(
    design: &Design,
    plan: &Plan,
    (step, name): (&Step, &str),
    (dir, args): (&Dir, &TuneArgs),
    scored: &mut Scored<'_>,
    (stop, progress): (&Stop, &Progress),
) -> Result<(Shown, (u32, f64), Option<experiment::record::End>)> {
    let below = dir.file(name);
    let resume = below.join(lab::store::RECORD).metadata().is_ok_and(|meta| meta.len() > 0);
    let args = ConductArgs { out: Some(below.clone()), resume, ..conduct_args(args) };
    let arms = [scored.admit(&plan.arms[0])?, scored.admit(&plan.arms[1])?];
    let arms: Vec<ArmIndex> = arms.to_vec();
    let (mut store, record) = session::open(plan, &record_options(&args), scored, stop)?;
    let ended = lab::conduct::conduct(plan, &record, &arms, scored, &mut store, (stop, progress))?;
    let record = lab::store::read(&below)?;
    let study = experiment::study(&record, None);
    report_files::write_all(&below, &study, Some(&report_files::evidence(&record)))?;
    let values = effects(plan, &record.trials);
    let interval = sequence::interval(&Moments::of(&values), step.alpha);
    let holds =
        constraints_shown(plan, &record.trials, design.alpha, &design.constraints).iter().all(|(_, shown)| *shown);
    let shown = PruneStep {
        dir: name.to_owned(),
        settings: step.settings.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        blocks: values.len(),
        ratio: Some(Moments::of(&values).mean.exp()).filter(|_| !values.is_empty()),
        low: end(interval.low),
        high: end(interval.high),
        confidence: 1.0 - step.alpha,
        put_back: false,
    };
    let took = (record.trials.len() as u32, ended.at_ms as f64 / 1e3);
    let early = ended.reason.ending().is_early().then_some(ended);
    Ok(((shown, interval, holds), took, early))
}
