//! What is concluded about one variant on one metric.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// A conclusion about one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies wholly beyond the margin, on the good side.
    Better,
    /// The interval lies wholly beyond the margin, on the bad side.
    Worse,
    /// The interval lies wholly inside the margin.
    Equivalent,
    /// None of these.
    Inconclusive,
    /// The evidence is invalid.
    Invalid,
}

impl Comparison {
    /// Takes "equivalent" back where the model leaves out the CPU time that tells schedulers apart.
    pub(crate) fn withhold_equivalence(&mut self) {
        if self.verdict == Verdict::Equivalent {
            self.verdict = Verdict::Inconclusive;
            self.reasons.push(Reason::CpuTimeOmitted);
        }
    }

    /// The chance of a verdict for which the variant was given up; none for one that was not, or
    /// that was read back from analysis.json.
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
    /// Whether this metric decides for the workload.
    pub primary: bool,
    /// The variant.
    pub variant: String,
    /// What it is compared with.
    pub baseline: String,
    /// What the variant measured: the geometric mean over the rounds that count. None without
    /// evidence, and in analyses written before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant_mean: Option<f64>,
    /// What the baseline measured in the same rounds: `variant_mean` over this is `ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_mean: Option<f64>,
    /// Estimate of variant / baseline: exp of the mean log ratio. None without evidence.
    pub ratio: Option<f64>,
    /// Lower end of the interval; none: unbounded (0).
    pub low: Option<f64>,
    /// Upper end of the interval; none: unbounded.
    pub high: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Rounds that count (pairs), or observations of the variant where there are no rounds.
    pub rounds: u32,
    /// Rounds that were invalid for this comparison.
    pub invalid_rounds: u32,
    /// Confidence of the interval after the correction for many variants, e.g. 0.983.
    pub confidence: f64,
    /// For an inconclusive one: how many more rounds would probably settle it; none: unknown or
    /// never.
    pub more_rounds: Option<u32>,
    /// For an inconclusive one whose budget does not suffice: how many rounds a new experiment
    /// would probably need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_plan_rounds: Option<u32>,
    /// Why invalid; otherwise what else must be known (invalid rounds left out, outliers kept, …).
    pub reasons: Vec<Reason>,
    /// log(variant/baseline) of each counted round, in order of rounds: what the plots show.
    pub log_ratios: Vec<f64>,
}
