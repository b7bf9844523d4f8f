//! Sweeps: experiments whose variants each differ from the baseline in one tunable.
//!
//! The shape is read off the plan, whether written by hand or by `schedlab sweep`: two or more
//! variants with the baseline's scheduler and exactly one different tunable form response curves.
//! Ratios, intervals and verdicts are those of the comparisons, at Holm's levels over all variants.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, Verdict};
use crate::metric::Direction;
use crate::plan::{Plan, Variant};
use crate::results::Environment;

/// Environment section with the baseline's tunables.
pub const DEFAULTS: &str = "defaults";

/// The tunables that a plan varies one at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The scheduler of baseline and variants.
    pub scheduler: String,
    /// The tunables varied, in plan order.
    pub tunables: Vec<SweptTunable>,
}

/// A tunable of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptTunable {
    /// Its name.
    pub name: String,
    /// The baseline's value; `None`: the kernel default.
    pub baseline_value: Option<String>,
    /// Variants and their values, ascending.
    pub points: Vec<(String, String)>,
}

/// CPU settings whose numeric values are CPU lists.
const LISTS_OF_CPUS: [&str; 2] = ["affinity", "isolate"];

/// The plan's sweep, if at least two variants differ from the baseline in exactly one tunable; a
/// CPU setting must be a number in both.
pub fn of_plan(plan: &Plan) -> Option<Sweep> {
    let baseline = plan.variants.iter().find(|variant| variant.name == plan.baseline())?;
    let mut tunables: Vec<SweptTunable> = Vec::new();
    for variant in plan.variants.iter().filter(|variant| variant.scheduler == baseline.scheduler) {
        let Some((name, value)) = only_difference(baseline, variant) else { continue };
        if plan.arena.is_cpu()
            && !is_on_a_scale(name, [baseline.tunables.get(name).map(String::as_str), Some(value)])
        {
            continue;
        }
        let point = (variant.name.clone(), value.to_string());
        match tunables.iter_mut().find(|tunable| tunable.name == name) {
            Some(tunable) => tunable.points.push(point),
            None => tunables.push(SweptTunable {
                name: name.to_string(),
                baseline_value: baseline.tunables.get(name).cloned(),
                points: vec![point],
            }),
        }
    }
    if tunables.iter().map(|tunable| tunable.points.len()).sum::<usize>() < 2 {
        return None;
    }
    for tunable in &mut tunables {
        // Non-numeric values come last, in plan order.
        tunable.points.sort_by(|a, b| sort_key(&a.1).total_cmp(&sort_key(&b.1)));
    }
    Some(Sweep { scheduler: baseline.scheduler.clone(), tunables })
}

fn is_on_a_scale(name: &str, values: [Option<&str>; 2]) -> bool {
    !LISTS_OF_CPUS.contains(&name) && values.iter().all(|value| value.and_then(number).is_some())
}

/// Parses the syntax of plans and the kernel: decimal, `_` between digits, `true` and `false`;
/// times with a unit in µs.
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

/// `None` also if the variant omits a tunable of the baseline.
fn only_difference<'a>(baseline: &Variant, variant: &'a Variant) -> Option<(&'a str, &'a str)> {
    if baseline.tunables.keys().any(|name| !variant.tunables.contains_key(name)) {
        return None;
    }
    let mut others =
        variant.tunables.iter().filter(|(name, value)| baseline.tunables.get(*name) != Some(value));
    let (name, value) = others.next()?;
    others.next().is_none().then_some((name, value))
}

/// A tunable's effect on a workload's primary metric.
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
    /// The variant to compare with.
    pub baseline: String,
    /// The baseline's value; `None`: not recorded.
    pub default: Option<String>,
    /// Tested values, ascending.
    pub points: Vec<Point>,
    /// The summary.
    pub effect: Effect,
}

/// One value of a tunable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The variant.
    pub variant: String,
    /// The value tested.
    pub value: String,
    /// The default's geometric mean over the rounds that also have this variant.
    pub at_default: Option<f64>,
    /// The value's geometric mean over the same rounds: the quotient is the ratio.
    pub at_value: Option<f64>,
    /// The ratio of the variant's comparison.
    pub ratio: Option<f64>,
    /// Lower end of its interval; none: unbounded.
    pub low: Option<f64>,
    /// Upper end of its interval; none: unbounded.
    pub high: Option<f64>,
    /// The verdict on the variant.
    pub verdict: Verdict,
    /// Rounds that count.
    pub rounds: u32,
    /// Estimated further rounds, if inconclusive.
    pub more_rounds: Option<u32>,
}

/// The effect of a tunable, with one example.
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
    /// No difference was shown, and some values are undecided.
    Open {
        /// Estimated rounds until all are settled; `None`: unknown or never.
        more_rounds: Option<u32>,
    },
    /// Every comparable value is equivalent to the default.
    Nothing,
    /// No valid evidence.
    Invalid,
}

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
        for tunable in &sweep.tunables {
            let of_variant = |(variant, value): &(String, String)| {
                Some(point(value, primary.iter().find(|of| of.variant == *variant)?))
            };
            let points: Vec<Point> = tunable.points.iter().filter_map(of_variant).collect();
            let default = tunable.baseline_value.as_ref().or_else(|| noted?.get(&tunable.name));
            found.push(Response {
                workload: workload.name.clone(),
                metric: first.metric.clone(),
                scheduler: sweep.scheduler.clone(),
                tunable: tunable.name.clone(),
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
        // Without one of them there is no guarantee.
        let more: Option<Vec<u32>> =
            of(Verdict::Inconclusive).map(|point| point.more_rounds).collect();
        return Effect::Open { more_rounds: more.and_then(|more| more.into_iter().max()) };
    }
    if of(Verdict::Equivalent).next().is_some() { Effect::Nothing } else { Effect::Invalid }
}

#[cfg(test)]
mod tests;
