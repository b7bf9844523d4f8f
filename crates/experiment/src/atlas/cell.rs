//! What the parts of an atlas share: keys, factors, a cell, and the values that it is made of.

use serde::{Deserialize, Serialize};

use crate::metric::Direction;
use crate::resolution::{self, Resolution};
use crate::results::{InvalidReason, Results, Trial};

/// The share of intervals, and of sets of the best, that may err.
pub const ALPHA: f64 = 0.05;

/// Which experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// `sim`, `kernel`, or `matched-sim`: the simulator with the settings of the kernel arena's
    /// guest, for comparison with it.
    pub arena: String,
    /// The device's name, without the directory of a file.
    pub device: String,
    /// The workload's label.
    pub workload: String,
}

/// A factor with its interval; an end that is unbounded is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// The estimate.
    pub factor: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One variant in one cell, on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The variant.
    pub variant: String,
    /// Geometric mean over the rounds that count.
    pub mean: f64,
    /// Rounds that count.
    pub rounds: u32,
    /// How many times better than the baseline; none for itself.
    pub against_baseline: Option<Factor>,
    /// How many times better the best is, 1 or more.
    pub regret: Factor,
    /// Whether no rival is better for certain.
    pub among_best: bool,
}

/// All variants of a cell on one metric, the best estimate first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aspect {
    /// The metric.
    pub metric: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// The variants that have evidence.
    pub entries: Vec<Entry>,
    /// Variants that served too little to have a value where others have one: worse than every
    /// entry, by a factor without bound.
    pub starved: Vec<Starved>,
    /// Variants without evidence, and why.
    pub invalid: Vec<(String, String)>,
}

/// A variant that starved: without a value in some trial that nothing disturbed, its mean over the
/// rounds has no bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starved {
    /// The variant.
    pub variant: String,
    /// Trials in which it did, and all of its trials that nothing disturbed.
    pub trials: (u32, u32),
    /// What it lacked in the first of them.
    pub why: String,
}

/// A value that is described and not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The variant.
    pub variant: String,
    /// The mean over the rounds.
    pub mean: f64,
    /// Its interval; none for fewer than two rounds.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
}

/// One experiment: a workload on a device in an arena.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// The variant that the others are compared with.
    pub baseline: String,
    /// On the metric that decides.
    pub deciding: Aspect,
    /// On the 99th percentile of latency; none where trials hold too few requests for it.
    pub tail: Option<Aspect>,
    /// The metric of fairness, and each variant's.
    pub fairness: (String, Vec<Described>),
    /// Schedulers that are not for every workload, and are left out of the table of regret.
    pub special: Vec<String>,
    /// The logarithms of the deciding metric, oriented: more is better. For each variant its
    /// rounds.
    #[serde(skip)]
    pub(crate) logs: Vec<(String, Vec<(u32, f64)>)>,
    /// By what share the variants' figures are known to differ between simulator and kernel.
    #[serde(skip)]
    pub(crate) known: Vec<(String, f64)>,
}

/// The values of one metric in one cell.
pub(crate) struct Values<'a> {
    pub(crate) metric: &'a str,
    pub(crate) direction: Direction,
    /// For each variant, in the plan's order: round and value of those that count.
    pub(crate) variants: Vec<(&'a str, Vec<(u32, f64)>)>,
    /// Variants that starved, of which there are none where no variant has a value.
    pub(crate) starved: Vec<Starved>,
    /// Variants with too few, and why.
    pub(crate) invalid: Vec<(&'a str, String)>,
}

/// What a trial says of a metric.
enum Found {
    Value(f64),
    Starved(String),
    Invalid(String),
}

impl Found {
    fn of(trial: &Trial, metric: &str, direction: Direction) -> Found {
        let few = |invalid: &InvalidReason| matches!(invalid, InvalidReason::TooFewIos { .. });
        let invalid = &trial.observation.invalid;
        if let Some(why) =
            invalid.iter().find(|invalid| invalid.applies_to(metric) && !few(invalid))
        {
            return Found::Invalid(why.to_string());
        }
        let Some(value) = trial.observation.metrics.get(metric).copied() else {
            return Found::Starved("no request that it counts was completed".to_owned());
        };
        let is_percentile = crate::metric::find(metric).is_some_and(|row| row.percentile.is_some());
        match resolution::of_trial(&trial.observation, metric)
            .filter(|found| is_percentile && !found.is_enough())
        {
            // A percentile that a few requests are missing for is no sign of starvation.
            Some(Resolution { what, events, floor }) if events * 2 < floor => Found::Starved(
                format!("{events} {what} in a trial, of {floor} that the percentile needs"),
            ),
            Some(Resolution { what, events, floor }) => Found::Invalid(format!(
                "{events} {what} in a trial, of {floor} that the percentile needs"
            )),
            None if !value.is_finite() => Found::Invalid("no number".to_owned()),
            None if value <= 0.0 && direction == Direction::HigherIsBetter => {
                Found::Starved("nothing was done".to_owned())
            }
            None => Found::Value(value),
        }
    }
}

impl<'a> Values<'a> {
    pub(crate) fn of(
        results: &Results,
        workload: &str,
        metric: &'a str,
        variants: &[&'a str],
    ) -> Values<'a> {
        let plan = &results.header.plan;
        let direction = plan.direction_of(metric);
        let (mut valid, mut starved, mut invalid) = (Vec::new(), Vec::new(), Vec::new());
        for variant in variants {
            let trials = results
                .trials
                .iter()
                .filter(|trial| trial.variant == *variant && trial.workload == workload);
            let (mut rounds, mut hungry, mut lost) = (Vec::new(), Vec::new(), Vec::new());
            for trial in trials {
                match Found::of(trial, metric, direction) {
                    Found::Value(value) => rounds.push((trial.round, value)),
                    Found::Starved(why) => hungry.push(why),
                    Found::Invalid(why) => lost.push(why),
                }
            }
            // A round that a cut left torn is completed later, in another place of the results
            // file.
            rounds.sort_by_key(|(round, _)| *round);
            rounds.dedup_by_key(|(round, _)| *round);
            let (sound, all) =
                (rounds.len() + hungry.len(), rounds.len() + hungry.len() + lost.len());
            if sound < 2 || lost.len() as f64 > plan.criteria.max_invalid_share * all as f64 {
                invalid.push((
                    *variant,
                    lost.into_iter().next().unwrap_or_else(|| "fewer than two rounds".to_owned()),
                ));
            } else if let Some(why) = hungry.first() {
                let trials = (hungry.len() as u32, sound as u32);
                starved.push(Starved { variant: (*variant).to_owned(), trials, why: why.clone() });
            } else {
                valid.push((*variant, rounds));
            }
        }
        // What no variant has is not this one's fault.
        if valid.is_empty() {
            let all = starved.drain(..).filter_map(|one| {
                Some((*variants.iter().find(|variant| **variant == one.variant)?, one.why))
            });
            invalid.extend(all);
        }
        Values { metric, direction, variants: valid, starved, invalid }
    }

    /// Oriented logarithms; a variant with a value that has none is left out.
    pub(crate) fn logs(&self) -> Vec<(String, Vec<(u32, f64)>)> {
        let sign = if self.direction == Direction::LowerIsBetter { -1.0 } else { 1.0 };
        let positive =
            self.variants.iter().filter(|(_, rounds)| rounds.iter().all(|(_, value)| *value > 0.0));
        let log = |(round, value): &(u32, f64)| (*round, sign * value.ln());
        positive
            .map(|(variant, rounds)| ((*variant).to_owned(), rounds.iter().map(log).collect()))
            .collect()
    }
}
