//! The result of a CPU workload, or why it failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    pub window_ns: u64,
    /// In the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// Samples per percentile in `metrics`.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    #[error("CPU workload: cannot {what}: {cause}")]
    Refused { what: &'static str, cause: std::io::Error },
    /// Because of CPU, memory or compiler.
    #[error("CPU workload: wrong result: {what}")]
    Wrong {
        /// The deviation.
        what: String,
    },
}

pub(crate) fn no_thread(cause: std::io::Error) -> Failure {
    Failure::Refused {
        what: "make a thread (a policy of deadline and a limit of processes forbid it)",
        cause,
    }
}

pub(crate) fn no_memory() -> Failure {
    let cause = std::io::ErrorKind::OutOfMemory.into();
    Failure::Refused {
        what: "get the memory that it streams through (name a smaller size=…)",
        cause,
    }
}
