//! Additional results of an analysis of several repeats, and its samples.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::Sample;

/// Additional results of an analysis of several repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Names of the repeats, in order.
    pub repeats: Vec<String>,
    /// Number planned, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// One effect per comparison, in order.
    pub effects: Vec<Effect>,
}

/// How an effect varies between repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// `None` if a repeat's evidence is invalid.
    pub ratios: Vec<Option<f64>>,
    /// Beyond the scatter within them, in percent of the effect.
    pub between_percent: Option<f64>,
    /// Share of the variance of a repeat's mean, 0 to 1 (I²).
    pub between_share: Option<f64>,
    /// Interval for a further repeat, at the comparison's confidence; `None`: unbounded.
    pub next_low: Option<f64>,
    /// `None`: unbounded.
    pub next_high: Option<f64>,
    /// Estimate, if inconclusive; `None`: unknown or never.
    pub more_repeats: Option<u32>,
}

/// The samples of one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatSamples {
    /// Its name in reports.
    pub name: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

impl fmt::Display for Pooled {
    /// Writes `over 3 repeats` or `over 2 of 3 repeats`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.repeats.len();
        match self.planned.filter(|planned| *planned as usize > there) {
            Some(planned) => write!(f, "over {there} of {planned} repeats"),
            None => write!(f, "over {there} repeats"),
        }
    }
}
