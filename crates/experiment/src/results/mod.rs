//! The results file of an experiment: every observation as a JSON line, in order.
//!
//! It is append-only, so that nothing measured is lost or revised; a crash can truncate only the
//! last line. The analysis is a function of these lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;

mod end;
mod finite;
mod invalid;
mod note;
mod parse;

pub use end::{End, EndReason, Ending};
pub use invalid::InvalidReason;
pub use note::{Event, Note};
pub use parse::{Cut, Results, ResultsError, ResultsReader};

/// schedlab's own CPU time while it waited for a program, as a share of the window.
pub const OWN_CPU: &str = "schedlab_cpu_share";

/// One line of results.jsonl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// One trial.
    Trial(Box<Trial>),
    /// An event between trials.
    Note(Note),
    /// The end; without it the experiment was cut off and can be resumed.
    End(End),
}

/// Plan and environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Format version.
    pub schema: u32,
    /// The build of schedlab.
    pub schedlab: String,
    /// The plan with all defaults.
    pub plan: Plan,
    /// The machine.
    pub environment: Environment,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The command that repeats the experiment.
    pub command: String,
}

/// Environment section: variants with an unconfirmed scheduler, as `R recalled, not confirmed`.
pub const UNCONFIRMED: &str = "evidence";

/// Environment section: variants without CPU cost in a simulated flash device.
pub const CPU_TIME_OMITTED: &str = "cpu time omitted";

/// Facts as text, by section (`kernel`, `device`, `cpu`, …) and name.
pub type Environment = BTreeMap<String, BTreeMap<String, String>>;

/// One trial of a variant on a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of the trial, from 0, over the whole experiment.
    pub sequence: u64,
    /// The workload's label.
    pub workload: String,
    /// Round per workload, from 0.
    pub round: u32,
    /// Place in the round, from 0.
    pub position: u32,
    /// The variant's name.
    pub variant: String,
    /// Milliseconds from the start of the experiment.
    pub started_ms: u64,
    /// Its results.
    pub observation: Observation,
}

/// The results of a trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// Length of the measured window in ns.
    pub duration_ns: u64,
    /// Metrics in the unit of their names.
    #[serde(with = "finite")]
    pub metrics: BTreeMap<String, f64>,
    /// Latency curves: of all requests, of reads, of writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyCurve>,
    /// Counters of device and system: `device_read_bytes`, `issued_read_bytes`, `steal_share`, ….
    #[serde(default, with = "finite", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// Why the trial, or a metric of it, is invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidReason>,
}

/// Latency percentiles of one kind of request in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurve {
    /// `all`, `read` or `write`.
    pub op: String,
    /// Number of requests.
    pub count: u64,
    /// (percentile 0…100, latency in ns), ascending.
    pub points: Vec<(f64, u64)>,
}
