//! Pools several repeats of one question: the interval holds for the effect on any day.
//!
//! Each repeat gives one mean log ratio per variant and metric;
//! [`stats::repeats`](crate::stats::repeats) makes an interval of them. Margin, Holm's levels and
//! advice are as in an analysis; medians, round counts and invalid evidence are over all repeats. A
//! repeat with invalid evidence about a variant is reported and left out for it.

use std::collections::BTreeMap;

use crate::advice::recommend;
use crate::analysis::{
    Analysis, Options, Origin, VariantSettings, WorkloadSettings, analyze_samples, of_results,
};
use crate::claims::{Claim, claims};
use crate::compare::{self, MAX_ROUNDS};
use crate::comparison::{Comparison, Verdict};
use crate::metric::Direction;
use crate::plan::{Criteria, Method};
use crate::reason::Reason;
use crate::results::{Environment, Results};
use crate::samples::{Sample, of_trials};
use crate::stats::repeats::{Pooled as Interval, Repeat, between};
use crate::stats::{Moments, projection};

mod same;

pub use crate::pooled::{Effect, Pooled, RepeatSamples};
pub use same::Difference;

/// Minimum number of repeats.
pub const MIN_REPEATS: usize = 2;

/// Pools results files by the first one's criteria or by others.
///
/// # Errors
/// [`Difference`] names what makes a results file one of another question.
pub fn pool_results(
    all_results: &[(String, &Results)],
    criteria: Option<&Criteria>,
    planned: Option<u32>,
) -> Result<Analysis, Difference> {
    same::all_results(all_results, criteria.is_some())?;
    let mut repeats = Vec::new();
    let mut all: Option<Options> = None;
    for (name, results) in all_results {
        let options = of_results(results, criteria);
        let samples = of_trials(&results.trials, &options.primary);
        repeats.push(RepeatSamples { name: name.clone(), samples });
        let named = |caution: &String| format!("{name}: {caution}");
        let cautions: Vec<String> = options.cautions.iter().map(named).collect();
        let all = all.get_or_insert_with(|| Options { cautions: Vec::new(), ..options.clone() });
        all.cautions.extend(cautions);
    }
    let mut options = all.unwrap_or_default();
    options.cautions.extend(same::cautions(all_results));
    let name = all_results.first().map_or_else(String::new, |(_, results)| {
        let plan = &results.header.plan;
        if plan.name.is_empty() { plan.device.clone() } else { plan.name.clone() }
    });
    let mut analysis = pool_samples(&name, &repeats, &options, planned)?;
    if let Some((_, first)) = all_results.first() {
        let plan = &first.header.plan;
        analysis.variants = plan.variants.iter().map(VariantSettings::from).collect();
        analysis.workloads = plan.workloads.iter().map(WorkloadSettings::from).collect();
        let trials = all_results.iter().map(|(_, results)| results.trials.len()).sum();
        let environment =
            common_facts(all_results.iter().map(|(_, results)| &results.header.environment));
        analysis.origin = Some(Origin {
            device: Some(plan.device.clone()),
            environment,
            ..Origin::of_table(trials)
        });
    }
    Ok(analysis)
}

fn common_facts<'a>(mut all: impl Iterator<Item = &'a Environment>) -> Environment {
    let mut common = all.next().cloned().unwrap_or_default();
    for other in all {
        for (section, facts) in &mut common {
            facts.retain(|name, value| {
                other.get(section).and_then(|facts| facts.get(name)) == Some(value)
            });
        }
    }
    common.retain(|_, facts| !facts.is_empty());
    common
}

/// Pools samples of any origin, one list per repeat.
///
/// # Errors
/// [`Difference`] names a workload, metric or variant missing from a repeat.
pub fn pool_samples(
    name: &str,
    repeats: &[RepeatSamples],
    options: &Options,
    planned: Option<u32>,
) -> Result<Analysis, Difference> {
    same::samples(repeats)?;
    // Each repeat is looked at once, and its own interval is not used.
    let criteria = Criteria { method: Method::Fixed, planned: None, ..options.criteria.clone() };
    let options = Options { criteria, looks: None, ..options.clone() };
    let mut analysis = analyze_samples(name, &join(repeats), &options);
    let each: Vec<Each> = repeats.iter().map(|repeat| Each::of(repeat, &options)).collect();
    let mut effects = Vec::new();
    let mut compared = Vec::new();
    let all = std::mem::take(&mut analysis.comparisons);
    // One metric's variants are adjacent.
    for family in all.chunk_by(|a, b| a.workload == b.workload && a.metric == b.metric) {
        let direction = options.direction(&family[0].metric);
        let cases: Vec<Case> =
            family.iter().map(|comparison| Case::of(comparison, &each)).collect();
        let (mut family, shown) = of_family(cases, direction, &options.criteria);
        options.withhold_equivalence(&mut family);
        compared.extend(family);
        effects.extend(shown);
    }
    analysis.comparisons = compared;
    let mut workloads: Vec<String> = Vec::new();
    for sample in repeats.iter().flat_map(|repeat| &repeat.samples) {
        if !workloads.contains(&sample.workload) {
            workloads.push(sample.workload.clone());
        }
    }
    analysis.recommendation =
        recommend(&analysis.comparisons, &workloads, &options.criteria, &|metric| {
            options.direction(metric)
        });
    let there = repeats.len() as u32;
    if let Some(planned) = planned.filter(|planned| *planned > there) {
        analysis.cautions.insert(0, format!(
            "{there} of {planned} planned repeats are complete: the interval holds for the planned number, so decide when all are"
        ));
    }
    let repeats = repeats.iter().map(|repeat| repeat.name.clone()).collect();
    analysis.pooled = Some(Pooled { repeats, planned, effects });
    Ok(analysis)
}

/// Joins the samples, with consecutive round numbers.
fn join(repeats: &[RepeatSamples]) -> Vec<Sample> {
    let (mut samples, mut rounds, mut sequence) = (Vec::new(), 0, 0);
    for repeat in repeats {
        let place = |sample: &Sample| Sample {
            round: sample.round.map(|round| round.saturating_add(rounds)),
            sequence: sample.sequence.saturating_add(sequence),
            ..sample.clone()
        };
        samples.extend(repeat.samples.iter().map(place));
        let most = |of: &dyn Fn(&Sample) -> u64| {
            repeat.samples.iter().map(of).max().map_or(0, |n| n.saturating_add(1))
        };
        rounds = rounds.saturating_add(most(&|sample| sample.round.unwrap_or(0).into()) as u32);
        sequence = sequence.saturating_add(most(&|sample| sample.sequence));
    }
    samples
}

type Key = (String, String, String);

struct Each {
    name: String,
    comparisons: BTreeMap<Key, Comparison>,
    /// Log values by workload, metric and variant, for samples without rounds.
    logs: BTreeMap<Key, Vec<f64>>,
}

impl Each {
    fn of(repeat: &RepeatSamples, options: &Options) -> Each {
        let analysis = analyze_samples(&repeat.name, &repeat.samples, options);
        let key = |j: &Comparison| (j.workload.clone(), j.metric.clone(), j.variant.clone());
        let mut logs: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
        for sample in repeat.samples.iter().filter(|sample| sample.round.is_none()) {
            let Some(log) = sample.log() else { continue };
            let key = (sample.workload.clone(), sample.metric.clone(), sample.variant.clone());
            logs.entry(key).or_default().push(log);
        }
        let comparisons = analysis
            .comparisons
            .into_iter()
            .map(|comparison| (key(&comparison), comparison))
            .collect();
        Each { name: repeat.name.clone(), comparisons, logs }
    }

    /// The error is the reason why it does not count.
    fn repeat(&self, of: &Comparison) -> Result<Repeat, String> {
        let key = (of.workload.clone(), of.metric.clone(), of.variant.clone());
        let own = self.comparisons.get(&key).ok_or("it has no value of it")?;
        if own.verdict == Verdict::Invalid {
            return Err(own
                .reasons
                .first()
                .map_or("its evidence is invalid".to_owned(), ToString::to_string));
        }
        if let Some(repeat) = Repeat::of_rounds(&own.log_ratios) {
            return Ok(repeat);
        }
        let base = (of.workload.clone(), of.metric.clone(), of.baseline.clone());
        let (Some(variant), Some(base)) = (self.logs.get(&key), self.logs.get(&base)) else {
            return Err("it has no round that counts".to_owned());
        };
        let (variant, base) = (Moments::of(variant), Moments::of(base));
        let variance = variant.sd.powi(2) / variant.n as f64 + base.sd.powi(2) / base.n as f64;
        let known = variant.n > 1 && base.n > 1;
        let degrees = (variant.n.min(base.n) as f64 - 1.0).max(0.0);
        Ok(Repeat { mean: variant.mean - base.mean, variance: known.then_some(variance), degrees })
    }
}

struct Case<'a> {
    all: &'a Comparison,
    ratios: Vec<Option<f64>>,
    repeats: Vec<Repeat>,
    own: Vec<&'a Comparison>,
    pooled: Interval,
    left_out: Vec<Reason>,
}

impl<'a> Case<'a> {
    fn of(all: &'a Comparison, each: &'a [Each]) -> Case<'a> {
        let (mut ratios, mut repeats, mut left_out, mut own) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let key = (all.workload.clone(), all.metric.clone(), all.variant.clone());
        for one in each {
            match one.repeat(all) {
                Ok(repeat) => {
                    ratios.push(Some(repeat.mean.exp()).filter(|ratio| ratio.is_finite()));
                    repeats.push(repeat);
                    own.extend(one.comparisons.get(&key));
                }
                Err(why) => {
                    ratios.push(None);
                    left_out.push(Reason::RepeatLeftOut { repeat: one.name.clone(), why });
                }
            }
        }
        Case { all, ratios, pooled: Interval::of(&repeats), repeats, own, left_out }
    }

    /// The mean of logarithms, so that these are the two sides of the mean ratio.
    fn mean_of(&self, value: impl Fn(&Comparison) -> Option<f64>) -> Option<f64> {
        let logs: Option<Vec<f64>> = self.own.iter().map(|own| value(own).map(f64::ln)).collect();
        logs.filter(|logs| !logs.is_empty()).map(|logs| Moments::of(&logs).mean)
    }

    fn starved(&self) -> [bool; 2] {
        [&self.all.variant, &self.all.baseline].map(|name| {
            self.all
                .reasons
                .iter()
                .any(|reason| matches!(reason, Reason::Starved { variant, .. } if variant == name))
        })
    }

    fn is_invalid(&self) -> bool {
        self.all.verdict == Verdict::Invalid || self.repeats.is_empty()
    }

    /// Estimates further repeats at constant mean and deviation.
    fn more(&self, margin: f64, levels: [f64; 2]) -> Option<u32> {
        if self.repeats.len() < MIN_REPEATS {
            return None;
        }
        let at = |alpha: f64| move |n: usize| self.pooled.interval_of(n, alpha);
        let differ = projection::values_needed(MAX_ROUNDS, at(levels[0]), |found| {
            compare::differs(found, margin)
        });
        let equal = projection::values_needed(MAX_ROUNDS, at(levels[1]), |found| {
            compare::equivalent(found, margin)
        });
        let needed = differ.into_iter().chain(equal).min()?;
        Some(needed.saturating_sub(self.repeats.len()).max(1) as u32)
    }

    fn reasons(&self) -> Vec<Reason> {
        // Reasons about the interval over all rounds do not apply to this one.
        let of_rounds = |reason: &&Reason| {
            !matches!(
                reason,
                Reason::Welch
                    | Reason::TooFewRounds { .. }
                    | Reason::SameRatio { .. }
                    | Reason::OneObservationPerVariant
                    | Reason::OneObservationOf { .. }
                    | Reason::CpuTimeOmitted
            )
        };
        let mut reasons: Vec<Reason> = self.all.reasons.iter().filter(of_rounds).cloned().collect();
        reasons.extend(self.left_out.iter().cloned());
        if !self.is_invalid() && self.repeats.len() < MIN_REPEATS {
            reasons.push(Reason::OneRepeat);
        }
        reasons
    }
}

/// A verdict beyond the margin depends only on the near end.
fn holds_with_open_end(verdict: Verdict, is_above: bool, [low, high]: [bool; 2]) -> bool {
    match verdict {
        Verdict::Better | Verdict::Worse => !(if is_above { low } else { high }),
        Verdict::Equivalent => !low && !high,
        Verdict::Inconclusive | Verdict::Invalid => true,
    }
}

fn of_family(
    cases: Vec<Case<'_>>,
    direction: Direction,
    criteria: &Criteria,
) -> (Vec<Comparison>, Vec<Effect>) {
    let margin = criteria.margin.ln_1p();
    let variants: Vec<(&Interval, bool)> =
        cases.iter().map(|case| (&case.pooled, case.is_invalid())).collect();
    let (claims, next_levels) = claims(&variants, direction, criteria);
    let finite = |log: f64| Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite());
    let one = |(case, claim): (&Case<'_>, &Claim)| {
        let Claim { verdict, level, interval } = *claim;
        let next = case.pooled.next(level);
        let open = compare::open_ends(case.starved(), direction);
        let verdict = if holds_with_open_end(verdict, interval.low > 0.0, open) {
            verdict
        } else {
            Verdict::Inconclusive
        };
        let (low, high) =
            (Some(interval.low).filter(|_| !open[0]), Some(interval.high).filter(|_| !open[1]));
        let shown = |log: f64| finite(log).filter(|_| verdict != Verdict::Invalid);
        let comparison = Comparison {
            variant_mean: case.mean_of(|own| own.variant_mean).and_then(shown),
            baseline_mean: case.mean_of(|own| own.baseline_mean).and_then(shown),
            ratio: shown(case.pooled.means.mean),
            low: low.and_then(shown),
            high: high.and_then(shown),
            verdict,
            confidence: 1.0 - level,
            more_rounds: None,
            new_plan_rounds: None,
            reasons: case.reasons(),
            log_ratios: case.repeats.iter().map(|repeat| repeat.mean).collect(),
            ..case.all.clone()
        };
        let spread = between(&case.repeats);
        let open = verdict == Verdict::Inconclusive;
        let effect = Effect {
            workload: comparison.workload.clone(),
            metric: comparison.metric.clone(),
            variant: comparison.variant.clone(),
            ratios: case.ratios.clone(),
            between_percent: spread.map(|(tau, _)| 100.0 * tau.exp_m1()),
            between_share: spread.map(|(_, share)| share),
            next_low: shown(next.low),
            next_high: shown(next.high),
            more_repeats: open.then(|| case.more(margin, next_levels)).flatten(),
        };
        (comparison, effect)
    };
    cases.iter().zip(&claims).map(one).unzip()
}

#[cfg(test)]
mod tests;
