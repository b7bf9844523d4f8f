//! What an analysis of several repeats holds beside its comparisons, and the samples that it is
//! made of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::Sample;

/// What an analysis of several repeats has beside its comparisons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Names of the repeats, in their order.
    pub repeats: Vec<String>,
    /// How many were planned; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// One per comparison, in the order of the comparisons.
    pub effects: Vec<Effect>,
}

/// How the effect of one variant on one metric differs between repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// Estimate of variant / baseline in each repeat; none where the evidence of a repeat is
    /// invalid.
    pub ratios: Vec<Option<f64>>,
    /// Standard deviation between repeats beyond what the scatter within them explains, in
    /// percent of the effect.
    pub between_percent: Option<f64>,
    /// Its share of the variance of a repeat's mean, 0 to 1 (I²).
    pub between_share: Option<f64>,
    /// Lower end of the interval of what one further repeat will show, at the confidence of the
    /// comparison; none: unbounded.
    pub next_low: Option<f64>,
    /// Upper end of that interval; none: unbounded.
    pub next_high: Option<f64>,
    /// For an inconclusive comparison: how many more repeats would probably settle it; none:
    /// unknown or never.
    pub more_repeats: Option<u32>,
}

/// The samples of one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatSamples {
    /// What it is called in reports.
    pub name: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

impl fmt::Display for Pooled {
    /// `over 3 repeats`, `over 2 of 3 repeats`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.repeats.len();
        match self.planned.filter(|planned| *planned as usize > there) {
            Some(planned) => write!(f, "over {there} of {planned} repeats"),
            None => write!(f, "over {there} repeats"),
        }
    }
}
