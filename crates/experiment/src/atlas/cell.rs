//! What the parts of an atlas share: keys, factors, a cell, and the values that it is made of.

use serde::{Deserialize, Serialize};

use crate::metric::Direction;
use crate::record::Record;
use crate::samples::{Sample, sample};

/// The share of intervals, and of sets of the best, that may err.
pub const ALPHA: f64 = 0.05;

/// Which experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// `sim` or `kernel`.
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

/// One arm in one cell, on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The arm.
    pub arm: String,
    /// Geometric mean over the blocks that count.
    pub mean: f64,
    /// Blocks that count.
    pub blocks: u32,
    /// How many times better than the baseline; none for itself.
    pub against_baseline: Option<Factor>,
    /// How many times better the best is, 1 or more.
    pub regret: Factor,
    /// Whether no rival is better for certain.
    pub among_best: bool,
}

/// All arms of a cell on one metric, the best estimate first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aspect {
    /// The metric.
    pub metric: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// The arms that have evidence.
    pub entries: Vec<Entry>,
    /// Arms without, and why.
    pub void: Vec<(String, String)>,
}

/// A value that is described and not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The arm.
    pub arm: String,
    /// The mean over the blocks.
    pub mean: f64,
    /// Its interval; none for fewer than two blocks.
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
    /// The arm that the others are compared with.
    pub baseline: String,
    /// On the metric that decides.
    pub deciding: Aspect,
    /// On the 99th percentile of latency; none where trials hold too few requests for it.
    pub tail: Option<Aspect>,
    /// The metric of fairness, and each arm's.
    pub fairness: (String, Vec<Described>),
    /// Schedulers that are not for every workload, and are left out of the table of regret.
    pub special: Vec<String>,
    /// The logarithms of the deciding metric, oriented: more is better. For each arm its blocks.
    #[serde(skip)]
    pub(crate) logs: Vec<(String, Vec<(u32, f64)>)>,
}

/// The values of one metric in one cell.
pub(crate) struct Values<'a> {
    pub(crate) metric: &'a str,
    pub(crate) direction: Direction,
    /// For each arm, in the plan's order: block and value of those that count.
    pub(crate) arms: Vec<(&'a str, Vec<(u32, f64)>)>,
    /// Arms with too few, and why.
    pub(crate) void: Vec<(&'a str, String)>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(record: &Record, (workload, metric): (&str, &'a str), arms: &[&'a str]) -> Values<'a> {
        let plan = &record.header.plan;
        let (mut valid, mut void) = (Vec::new(), Vec::new());
        for arm in arms {
            let trials = record.trials.iter().filter(|trial| trial.arm == *arm && trial.workload == workload);
            let samples: Vec<Sample> = trials.map(|trial| sample(trial, metric)).collect();
            let counts = |one: &&Sample| one.voids.is_empty() && one.value.is_finite();
            let mut blocks: Vec<(u32, f64)> =
                samples.iter().filter(counts).map(|one| (one.block.unwrap_or_default(), one.value)).collect();
            // A block that a cut left torn is completed later, in another place of the record.
            blocks.sort_by_key(|(block, _)| *block);
            blocks.dedup_by_key(|(block, _)| *block);
            let lost = samples.len() - blocks.len();
            if blocks.len() < 2 || lost as f64 > plan.criteria.max_void_share * samples.len() as f64 {
                let reason = samples.iter().flat_map(|one| &one.voids).next();
                let reason = reason.map_or_else(|| "fewer than two blocks".to_owned(), ToString::to_string);
                void.push((*arm, reason));
            } else {
                valid.push((*arm, blocks));
            }
        }
        Values { metric, direction: plan.direction_of(metric), arms: valid, void }
    }

    /// Oriented logarithms; an arm with a value that has none is left out.
    pub(crate) fn logs(&self) -> Vec<(String, Vec<(u32, f64)>)> {
        let sign = if self.direction == Direction::LowerIsBetter { -1.0 } else { 1.0 };
        let positive = self.arms.iter().filter(|(_, blocks)| blocks.iter().all(|(_, value)| *value > 0.0));
        let log = |(block, value): &(u32, f64)| (*block, sign * value.ln());
        positive.map(|(arm, blocks)| ((*arm).to_owned(), blocks.iter().map(log).collect())).collect()
    }
}
