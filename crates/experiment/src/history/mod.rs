//! The history of a watched device, one entry per test. Data only: the caller owns the file, the
//! reports make plots and tables.

pub mod changes;
pub mod finding;

use serde::{Deserialize, Serialize};

use crate::analysis::{Analysis, Comparison};
use crate::environment::{Facts, relevant_facts};
use crate::results::Results;
use crate::samples::{DecidingValues, deciding_values};
use crate::stats::Moments;

/// One line of a history: a test, or why there was none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// UTC: `2026-11-22T02:00:07Z`.
    pub at: String,
    /// The watch that requested it.
    pub watch: String,
    /// The device's name at that time.
    pub device: String,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The test was made.
    Measured(Box<Measured>),
    /// The test was not started.
    Skipped {
        /// The reason.
        why: String,
    },
    /// The test failed.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// `None` if workloads disagree or the evidence is invalid.
    pub recommended: Option<String>,
    /// The recommendation as text.
    pub sentence: String,
    /// Whether this test significantly changed the watch's verdict.
    pub changed: bool,
    /// The setting applied as a consequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// The primary comparisons.
    pub effects: Vec<Comparison>,
    /// The directory of its reports, relative to the history.
    pub report: String,
    /// The values themselves.
    pub levels: Vec<LevelOf>,
    /// Kernel, programs, firmware and build of schedlab.
    pub environment: Facts,
}

/// A variant's value of a primary metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelOf {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// Valid trials.
    pub n: usize,
    /// Their geometric mean.
    pub mean: f64,
}

impl Measured {
    /// Summarizes the analysis of a results file.
    pub fn of(analysis: &Analysis, results: &Results, report: String) -> Measured {
        let effects = analysis.comparisons.iter().filter(|comparison| comparison.primary).cloned();
        Measured {
            recommended: analysis.recommendation.variant.clone(),
            sentence: analysis.recommendation.sentence.clone(),
            changed: false,
            applied: None,
            effects: effects.collect(),
            report,
            levels: levels(results),
            environment: relevant_facts(&results.header.environment),
        }
    }
}

/// The levels in plan order.
pub fn levels(results: &Results) -> Vec<LevelOf> {
    let of = |found: DecidingValues| LevelOf {
        n: found.logs.len(),
        mean: Moments::of(&found.logs).mean.exp(),
        workload: found.workload,
        metric: found.metric,
        variant: found.variant,
    };
    deciding_values(results).into_iter().filter(|found| !found.logs.is_empty()).map(of).collect()
}
