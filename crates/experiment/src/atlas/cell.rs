//! Shared by the parts of an atlas: keys, factors, cells and their values.

use serde::{Deserialize, Serialize};

use crate::metric::Direction;
use crate::resolution::{self, Resolution};
use crate::results::{InvalidReason, Results, Trial};

/// Error of intervals and of sets of the best.
pub const ALPHA: f64 = 0.05;

/// Identifies an experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// `sim`, `kernel`, or `matched-sim`: with the settings of the kernel arena's guest. The latter
    /// two name the kernel if there are several: `kernel 7.3`.
    pub arena: String,
    /// The device's name, without a file's directory.
    pub device: String,
    /// The workload's label.
    pub workload: String,
}

impl Key {
    /// Whether both are of one workload on one device, in any arena.
    pub(super) fn is_same_work(&self, other: &Key) -> bool {
        self.device == other.device && self.workload == other.workload
    }
}

/// A factor with its interval; `None` is unbounded.
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
    /// The factor over the baseline; `None` for the baseline itself.
    pub against_baseline: Option<Factor>,
    /// The factor of the best over this one; at least 1.
    pub regret: Factor,
    /// Whether no other variant is certainly better.
    pub among_best: bool,
}

/// One metric's variants, best estimate first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aspect {
    /// The metric.
    pub metric: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Variants with evidence.
    pub entries: Vec<Entry>,
    /// Variants that served too little for a value where others have one: worse than every entry,
    /// without bound.
    pub starved: Vec<Starved>,
    /// Variants without evidence, and why.
    pub invalid: Vec<(String, String)>,
}

/// A variant without a value in some undisturbed trial: its mean has no bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starved {
    /// The variant.
    pub variant: String,
    /// Starved trials, and all undisturbed trials.
    pub trials: (u32, u32),
    /// The missing quantity in the first of them.
    pub why: String,
}

/// A value that is only described.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The variant.
    pub variant: String,
    /// The mean over the rounds.
    pub mean: f64,
    /// Its lower end; `None` for fewer than two rounds.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

/// One experiment: a workload on a device in an arena.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the atlas.
    #[serde(flatten)]
    pub key: Key,
    /// The variant to compare with.
    pub baseline: String,
    /// The variants on the primary metric.
    pub deciding: Aspect,
    /// 99th percentile of latency; `None` with too few requests.
    pub tail: Option<Aspect>,
    /// The fairness metric, and its values.
    pub fairness: (String, Vec<Described>),
    /// Variants omitted from the regret table.
    pub special: Vec<String>,
    /// The smallest relevant difference, as a log ratio.
    #[serde(skip)]
    pub(crate) margin: f64,
    /// Logarithms of the primary metric, larger is better.
    #[serde(skip)]
    pub(crate) logs: Vec<(String, Vec<(u32, f64)>)>,
    /// Known differences between simulator and kernel, by variant, as shares.
    #[serde(skip)]
    pub(crate) known: Vec<(String, f64)>,
}

pub(crate) struct Values<'a> {
    pub(crate) metric: &'a str,
    pub(crate) direction: Direction,
    /// Values by variant, in plan order.
    pub(crate) variants: Vec<(&'a str, Vec<(u32, f64)>)>,
    /// Starved variants; empty if no variant has a value.
    pub(crate) starved: Vec<Starved>,
    /// Variants with too few values, and why.
    pub(crate) invalid: Vec<(&'a str, String)>,
}

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
            // A percentile that misses only a few requests does not indicate starvation.
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
            // A torn round is completed later in the results file.
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
        // A value that no variant has is not this one's fault.
        if valid.is_empty() {
            let all = starved.drain(..).filter_map(|one| {
                Some((*variants.iter().find(|variant| **variant == one.variant)?, one.why))
            });
            invalid.extend(all);
        }
        Values { metric, direction, variants: valid, starved, invalid }
    }

    /// The logarithms, larger is better; variants with a value that has none are omitted.
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
