//! The origin of an analysis's evidence and the meaning of its names, so that analysis.json is
//! self-contained. It is copied from the results' header and the metric table, and has no effect on
//! verdicts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::direction;
use crate::metric::{self, Direction};
use crate::plan::{Plan, Variant, WorkloadSpec};
use crate::results::{Environment, Results};

/// The origin of the evidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The build of schedlab that analyzed.
    pub compared_by: String,
    /// The build that measured; `None` for a table.
    pub measured_by: Option<String>,
    /// The device as in the plan; `None` for a table.
    pub device: Option<String>,
    /// Start in ms since 1970 (UTC); `None` in virtual time and for a table.
    pub started_unix_ms: Option<u64>,
    /// Seed of every random choice; `None` for a table.
    pub seed: Option<u64>,
    /// SHA-256 of plan.toml in this version's form; `None` for a table.
    pub plan_sha256: Option<String>,
    /// The command that repeats the experiment; `None` for a table.
    pub command: Option<String>,
    /// Trials including invalid ones; values of a table.
    pub trials: u64,
    /// Facts about the machine, by section and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: Environment,
}

/// A variant's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantSettings {
    /// Its name.
    pub name: String,
    /// Its scheduler; `None` for a table.
    pub scheduler: Option<String>,
    /// Tunables and queue attributes; in the cpu arena `nice`, `policy`, ….
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A workload's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSettings {
    /// Its label.
    pub name: String,
    /// The row of the workload table; `None` for a table.
    pub kind: Option<String>,
    /// Parameters set by the plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

/// The meaning of a metric's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricMeaning {
    /// The name in comparisons and summaries.
    pub name: String,
    /// The unit; empty if unknown.
    pub unit: String,
    /// Which way is better.
    #[serde(with = "direction")]
    pub direction: Direction,
    /// Its explanation, for schedlab's metrics.
    pub meaning: Option<String>,
}

impl Origin {
    /// The origin of a table of `values` numbers.
    pub fn of_table(values: usize) -> Origin {
        Origin {
            compared_by: text::build::identity().to_owned(),
            trials: values as u64,
            ..Origin::default()
        }
    }

    /// The origin of a results file.
    pub fn of(results: &Results) -> Origin {
        let header = &results.header;
        Origin {
            measured_by: Some(header.schedlab.clone()),
            device: Some(header.plan.device.clone()),
            started_unix_ms: Some(header.started_unix_ms).filter(|at| *at > 0),
            seed: Some(header.plan.seed),
            plan_sha256: Some(sha256_of(&header.plan)),
            command: Some(header.command.clone()),
            environment: header.environment.clone(),
            ..Origin::of_table(results.trials.len())
        }
    }
}

impl From<&Variant> for VariantSettings {
    fn from(variant: &Variant) -> VariantSettings {
        VariantSettings {
            name: variant.name.clone(),
            scheduler: Some(variant.scheduler.clone()),
            settings: variant.tunables.clone(),
        }
    }
}

impl VariantSettings {
    /// A variant known only by name.
    pub fn named(name: &str) -> VariantSettings {
        VariantSettings { name: name.to_owned(), scheduler: None, settings: BTreeMap::new() }
    }
}

impl From<&WorkloadSpec> for WorkloadSettings {
    fn from(workload: &WorkloadSpec) -> WorkloadSettings {
        WorkloadSettings {
            name: workload.name.clone(),
            kind: Some(workload.kind.clone()),
            params: workload.params.clone(),
        }
    }
}

impl WorkloadSettings {
    /// A workload known only by label.
    pub fn named(name: &str) -> WorkloadSettings {
        WorkloadSettings { name: name.to_owned(), kind: None, params: BTreeMap::new() }
    }
}

impl MetricMeaning {
    /// The meaning of a metric with this direction.
    pub fn of(name: &str, direction: Direction) -> MetricMeaning {
        let meaning = metric::find(name).map(|row| row.help.to_owned());
        MetricMeaning { name: name.to_owned(), unit: metric::unit_of(name), direction, meaning }
    }
}

/// The plan's hash in hexadecimal, as printed by `sha256sum plan.toml`.
pub fn sha256_of(plan: &Plan) -> String {
    Sha256::digest(plan.to_toml()).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
