//! The comparison of one variant with the baseline on one metric.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// A conclusion about one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval is beyond the margin on the good side.
    Better,
    /// The interval is beyond the margin on the bad side.
    Worse,
    /// The interval is inside the margin.
    Equivalent,
    /// None of these.
    Inconclusive,
    /// The evidence is invalid.
    Invalid,
}

impl Comparison {
    pub(crate) fn withhold_equivalence(&mut self) {
        if self.verdict == Verdict::Equivalent {
            self.verdict = Verdict::Inconclusive;
            self.reasons.push(Reason::CpuTimeOmitted);
        }
    }

    /// The chance of a verdict, if given up; `None` when read from analysis.json.
    pub fn given_up(&self) -> Option<f64> {
        self.reasons.iter().find_map(|reason| match reason {
            Reason::Futile { chance, .. } => Some(*chance),
            _ => None,
        })
    }
}

/// One variant against the baseline, on one metric of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// Whether this is the primary metric.
    pub primary: bool,
    /// The variant.
    pub variant: String,
    /// The variant compared with.
    pub baseline: String,
    /// Mean over the rounds that count; missing without evidence and in old analyses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant_mean: Option<f64>,
    /// Mean over the same rounds: `variant_mean` / `baseline_mean` is `ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_mean: Option<f64>,
    /// exp of the mean log ratio; `None` without evidence.
    pub ratio: Option<f64>,
    /// Lower end of the interval; `None`: unbounded (0).
    pub low: Option<f64>,
    /// Upper end of the interval; `None`: unbounded.
    pub high: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Pairs, or observations of the variant without rounds.
    pub rounds: u32,
    /// Rounds invalid for this comparison.
    pub invalid_rounds: u32,
    /// Corrected for the number of variants, e.g. 0.983.
    pub confidence: f64,
    /// Estimate, if inconclusive; `None`: unknown or never.
    pub more_rounds: Option<u32>,
    /// Estimate for a new experiment, if the budget is too small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_plan_rounds: Option<u32>,
    /// Or other qualifications: omitted rounds, outliers, ….
    pub reasons: Vec<Reason>,
    /// log(variant/baseline) by counted round, for plots.
    pub log_ratios: Vec<f64>,
}
