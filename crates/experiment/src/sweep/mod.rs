//! Sweeps: experiments whose variants differ from the baseline in one tunable each.
//!
//! **Problem.** Twenty variants called `fifo_batch=64` and `read_expire=2000` are twenty verdicts;
//! the question was which knob does anything, and in which direction. **Approach.** The shape is
//! read off the plan, so that a plan written by hand, one made by `schedlab sweep` and an old
//! results file are all the same thing: wherever two or more variants have the baseline's scheduler
//! and differ from it in exactly one tunable, these variants are points of response curves, one
//! curve a tunable. Nothing is compared here: every ratio, interval and verdict is that of the
//! variant's comparison, at Holm's levels over *all* variants of the sweep.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, Verdict};
use crate::metric::Direction;
use crate::plan::{Plan, Variant};
use crate::results::Environment;

/// Where an arena notes what the tunables of a sweep have at the baseline: the section of the
/// environment.
pub const DEFAULTS: &str = "defaults";

/// What a plan turns, one tunable at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The scheduler of the baseline and of every variant here.
    pub scheduler: String,
    /// The tunables, in the order of the plan.
    pub tunables: Vec<Turned>,
}

/// A tunable of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// Its name.
    pub name: String,
    /// The value that the baseline asks for; none: it leaves the default alone.
    pub asked: Option<String>,
    /// Variants and their values, ascending.
    pub points: Vec<(String, String)>,
}

/// CPU settings whose values are names of CPUs, although they look like numbers.
const LISTS_OF_CPUS: [&str; 2] = ["affinity", "isolate"];

/// The sweep that a plan holds, if two or more of its variants differ from the baseline in exactly
/// one tunable. A CPU setting is a tunable with a default and a scale where it is a number and the
/// baseline has one too: beside a baseline that sets no nice level, `nice=-20` is a variant like
/// any other.
pub fn of_plan(plan: &Plan) -> Option<Sweep> {
    let baseline = plan.variants.iter().find(|variant| variant.name == plan.baseline())?;
    let mut tunables: Vec<Turned> = Vec::new();
    for variant in plan.variants.iter().filter(|variant| variant.scheduler == baseline.scheduler) {
        let Some((name, value)) = only_difference(baseline, variant) else { continue };
        if plan.arena.is_cpu()
            && !is_on_a_scale(name, [baseline.tunables.get(name).map(String::as_str), Some(value)])
        {
            continue;
        }
        let point = (variant.name.clone(), value.to_string());
        match tunables.iter_mut().find(|turned| turned.name == name) {
            Some(turned) => turned.points.push(point),
            None => tunables.push(Turned {
                name: name.to_string(),
                asked: baseline.tunables.get(name).cloned(),
                points: vec![point],
            }),
        }
    }
    if tunables.iter().map(|turned| turned.points.len()).sum::<usize>() < 2 {
        return None;
    }
    for turned in &mut tunables {
        // Words that are no numbers come last, in the order of the plan.
        turned.points.sort_by(|a, b| sort_key(&a.1).total_cmp(&sort_key(&b.1)));
    }
    Some(Sweep { scheduler: baseline.scheduler.clone(), tunables })
}

/// Whether a CPU setting has numbers for values, at the baseline too.
fn is_on_a_scale(name: &str, values: [Option<&str>; 2]) -> bool {
    !LISTS_OF_CPUS.contains(&name) && values.iter().all(|value| value.and_then(number).is_some())
}

/// A value as a number, as plans and the kernel write them: decimal, `_` between digits, `true` and
/// `false` for a switch; a time with its unit in microseconds.
pub fn number(value: &str) -> Option<f64> {
    match value.trim() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        text => {
            let time = || text::parse_duration_ns(text).map(|ns| ns as f64 / 1000.0);
            text.replace('_', "")
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .or_else(time)
        }
    }
}

fn sort_key(value: &str) -> f64 {
    number(value).unwrap_or(f64::INFINITY)
}

/// The tunable in which `variant` differs from the baseline, with the variant's value; none where
/// there is not exactly one, or where the variant leaves to the kernel what the baseline sets.
fn only_difference<'a>(baseline: &Variant, variant: &'a Variant) -> Option<(&'a str, &'a str)> {
    if baseline.tunables.keys().any(|name| !variant.tunables.contains_key(name)) {
        return None;
    }
    let mut others =
        variant.tunables.iter().filter(|(name, value)| baseline.tunables.get(*name) != Some(value));
    let (name, value) = others.next()?;
    others.next().is_none().then_some((name, value))
}

/// How one tunable acts on the metric that decides for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The scheduler.
    pub scheduler: String,
    /// The tunable.
    pub tunable: String,
    /// The variant that every point is compared with.
    pub baseline: String,
    /// The value that the baseline has; none: the arena did not record it.
    pub default: Option<String>,
    /// What was tried, ascending.
    pub points: Vec<Point>,
    /// What the tunable does over these values.
    pub effect: Effect,
}

/// One value of a tunable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The variant.
    pub variant: String,
    /// The value tried.
    pub value: String,
    /// The metric at the baseline: geometric mean of the rounds in which this variant was measured
    /// too.
    pub at_default: Option<f64>,
    /// The metric at the value, of the same rounds: their quotient is the ratio.
    pub at_value: Option<f64>,
    /// As the comparison of the variant has it.
    pub ratio: Option<f64>,
    /// Lower end of its interval; none: unbounded.
    pub low: Option<f64>,
    /// Upper end of its interval; none: unbounded.
    pub high: Option<f64>,
    /// The verdict on the variant.
    pub verdict: Verdict,
    /// Rounds that count.
    pub rounds: u32,
    /// For an inconclusive one: how many more rounds would probably settle it.
    pub more_rounds: Option<u32>,
}

/// What turning a tunable does, in one word and one example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// Some value is better than the default.
    Helps {
        /// The one with the largest gain.
        variant: String,
    },
    /// No value is better, and some is worse.
    Hurts {
        /// The one with the largest loss.
        variant: String,
    },
    /// No difference was shown, and not every value is known to make none.
    Open {
        /// Rounds until the last of them would probably be settled; none: unknown or never.
        more_rounds: Option<u32>,
    },
    /// Every value that could be compared is equivalent to the default.
    Nothing,
    /// There is no valid evidence.
    Invalid,
}

/// The responses of a results file's analysis: for each workload every tunable of the plan's sweep,
/// on the metric that decides.
pub(crate) fn responses(
    plan: &Plan,
    environment: &Environment,
    comparisons: &[Comparison],
    direction: &dyn Fn(&str) -> Direction,
) -> Vec<Response> {
    let Some(sweep) = of_plan(plan) else { return Vec::new() };
    let noted = environment.get(DEFAULTS);
    let mut found = Vec::new();
    for workload in &plan.workloads {
        let primary: Vec<&Comparison> =
            comparisons.iter().filter(|j| j.primary && j.workload == workload.name).collect();
        let Some(first) = primary.first() else { continue };
        for turned in &sweep.tunables {
            let of_variant = |(variant, value): &(String, String)| {
                Some(point(value, primary.iter().find(|of| of.variant == *variant)?))
            };
            let points: Vec<Point> = turned.points.iter().filter_map(of_variant).collect();
            let default = turned.asked.as_ref().or_else(|| noted?.get(&turned.name));
            found.push(Response {
                workload: workload.name.clone(),
                metric: first.metric.clone(),
                scheduler: sweep.scheduler.clone(),
                tunable: turned.name.clone(),
                baseline: first.baseline.clone(),
                default: default.cloned(),
                effect: effect(&points, direction(&first.metric)),
                points,
            });
        }
    }
    found
}

fn point(value: &str, comparison: &Comparison) -> Point {
    Point {
        variant: comparison.variant.clone(),
        value: value.to_string(),
        at_default: comparison.baseline_mean,
        at_value: comparison.variant_mean,
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        verdict: comparison.verdict,
        rounds: comparison.rounds,
        more_rounds: comparison.more_rounds,
    }
}

fn effect(points: &[Point], direction: Direction) -> Effect {
    let gain = |point: &&Point| {
        let log = point.ratio.map_or(0.0, f64::ln);
        if direction == Direction::LowerIsBetter { -log } else { log }
    };
    let of = |verdict: Verdict| points.iter().filter(move |point| point.verdict == verdict);
    if let Some(best) = of(Verdict::Better).max_by(|a, b| gain(a).total_cmp(&gain(b))) {
        return Effect::Helps { variant: best.variant.clone() };
    }
    if let Some(worst) = of(Verdict::Worse).min_by(|a, b| gain(a).total_cmp(&gain(b))) {
        return Effect::Hurts { variant: worst.variant.clone() };
    }
    if of(Verdict::Inconclusive).next().is_some() {
        // All of them, or nothing is guaranteed.
        let more: Option<Vec<u32>> =
            of(Verdict::Inconclusive).map(|point| point.more_rounds).collect();
        return Effect::Open { more_rounds: more.and_then(|more| more.into_iter().max()) };
    }
    if of(Verdict::Equivalent).next().is_some() { Effect::Nothing } else { Effect::Invalid }
}

#[cfg(test)]
mod tests;
