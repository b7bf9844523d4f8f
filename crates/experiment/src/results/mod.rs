//! The results file of an experiment: everything that was observed, one JSON line each, in order of
//! observation.
//!
//! Append-only, so that nothing measured can be lost or revised: a crash can cut the last line and
//! nothing else. The analysis is a function of these lines.

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

/// The counter of the CPU time that schedlab itself has used while it waited for a program, as a
/// share of the measured window.
pub const OWN_CPU: &str = "schedlab_cpu_share";

/// One line of results.jsonl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// One trial.
    Trial(Box<Trial>),
    /// Something that happened between trials.
    Note(Note),
    /// The experiment ended (a results file without it was cut off, and can be resumed).
    End(End),
}

/// What was planned, where and with what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this format.
    pub schema: u32,
    /// The build of schedlab.
    pub schedlab: String,
    /// The plan, defaults filled in.
    pub plan: Plan,
    /// The machine.
    pub environment: Environment,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The command that repeats the experiment.
    pub command: String,
}

/// Section of the environment that says of each variant whose scheduler is not confirmed in its
/// source how sure it is: a mark, a space and words, as `R recalled, not confirmed`.
pub const UNCONFIRMED: &str = "evidence";

/// Section of the environment that names each variant whose requests cost no CPU time in a
/// simulation of a flash device.
pub const CPU_TIME_OMITTED: &str = "cpu time omitted";

/// Facts about the machine, by section (`kernel`, `device`, `cpu`, …) and name, as text.
pub type Environment = BTreeMap<String, BTreeMap<String, String>>;

/// One trial: one variant, one workload, one place in the order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// 0, 1, 2 … over the whole experiment.
    pub sequence: u64,
    /// The workload's label.
    pub workload: String,
    /// Number of the round, counted per workload from 0.
    pub round: u32,
    /// Place in the round, from 0.
    pub position: u32,
    /// The variant's name.
    pub variant: String,
    /// Start of the trial in milliseconds after the start of the experiment.
    pub started_ms: u64,
    /// What was observed.
    pub observation: Observation,
}

/// What was observed in a trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// Length of the measured window in nanoseconds.
    pub duration_ns: u64,
    /// Value of each metric, in the unit of its name.
    #[serde(with = "finite")]
    pub metrics: BTreeMap<String, f64>,
    /// Latency curves: of all requests, of reads, of writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyCurve>,
    /// What the device and the system counted meanwhile (`device_read_bytes`, `issued_read_bytes`,
    /// `steal_share`, …).
    #[serde(default, with = "finite", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// What invalidates this trial, or one metric of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidReason>,
}

/// Percentiles of the latency of one kind of request in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurve {
    /// `all`, `read` or `write`.
    pub op: String,
    /// How many requests.
    pub count: u64,
    /// (percentile 0…100, latency in ns), ascending.
    pub points: Vec<(f64, u64)>,
}
