//! What a process has to do, and what it tells of it.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::{linpack, spin};

/// What a process has to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Order {
    /// Solves systems of linear equations, and ends by itself.
    Linpack(linpack::Order),
    /// Computes until it is told to end.
    Spin(spin::Order),
}

/// What a work has shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Length of what was measured, in nanoseconds.
    pub window_ns: u64,
    /// Value of each metric, in the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// How many measurements each percentile of `metrics` rests on.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// What else was counted.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

/// Why a work gave no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The machine refused something.
    #[error("cannot {what}: {cause}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// The kernel's answer.
        cause: std::io::Error,
    },
    /// The result is wrong: the processor, the memory or the compiler is.
    #[error("the result is wrong: {what}")]
    Wrong {
        /// By how much.
        what: String,
    },
}

/// Does the work; `begun` is called when it has started, and what goes on until it is told so ends when `stop` is set.
///
/// # Errors
/// [`Failure`].
pub fn run(order: &Order, stop: &AtomicBool, begun: impl FnOnce()) -> Result<Report, Failure> {
    begun();
    match order {
        Order::Linpack(order) => linpack::run(order, stop),
        Order::Spin(order) => Ok(spin::run(order, stop)),
    }
}
