//! What a study of several occasions holds beside its judgements, and the samples that it is made
//! of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::Sample;

/// What a study of several occasions has beside its judgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Names of the occasions, in their order.
    pub occasions: Vec<String>,
    /// How many were planned; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// One per judgement, in the order of the judgements.
    pub effects: Vec<Effect>,
}

/// How the effect of one variant on one metric differs between occasions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// Estimate of variant / baseline on each occasion; none where the evidence of an occasion is
    /// void.
    pub ratios: Vec<Option<f64>>,
    /// Standard deviation between occasions beyond what the scatter within them explains, in
    /// percent of the effect.
    pub between_percent: Option<f64>,
    /// Its share of the variance of an occasion's mean, 0 to 1 (I²).
    pub between_share: Option<f64>,
    /// Lower end of the interval of what one further occasion will show, at the confidence of the
    /// judgement; none: unbounded.
    pub next_low: Option<f64>,
    /// Upper end of that interval; none: unbounded.
    pub next_high: Option<f64>,
    /// For an inconclusive judgement: how many more occasions would probably settle it; none:
    /// unknown or never.
    pub more_occasions: Option<u32>,
}

/// The samples of one occasion.
#[derive(Debug, Clone, PartialEq)]
pub struct OccasionSamples {
    /// What it is called in reports.
    pub name: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

impl fmt::Display for Pooled {
    /// `over 3 occasions`, `over 2 of 3 occasions`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.occasions.len();
        match self.planned.filter(|planned| *planned as usize > there) {
            Some(planned) => write!(f, "over {there} of {planned} occasions"),
            None => write!(f, "over {there} occasions"),
        }
    }
}
