//! Plans, results files, statistics and verdicts.
//!
//! Pure: a verdict is a function of results file and criteria. No clock, file, thread or
//! environment variable, so any conclusion can be recomputed elsewhere from the results file alone.
#![forbid(unsafe_code)]

pub mod advice;
pub mod analysis;
pub mod atlas;
pub mod calibration;
mod claims;
pub mod compare;
pub mod comparison;
pub mod decider;
pub mod direction;
pub mod environment;
pub mod feasibility;
pub mod fleet;
pub mod gate;
pub mod history;
pub mod metric;
pub mod notation;
pub mod outcome;
pub mod plan;
pub mod pool;
mod pooled;
pub mod reason;
pub mod resolution;
pub mod results;
pub mod samples;
pub mod schedule;
pub mod search;
pub mod stats;
pub mod sweep;

pub use analysis::{Options, analyze, analyze_samples};
pub use decider::Decider;
