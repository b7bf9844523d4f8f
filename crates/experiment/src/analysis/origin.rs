//! Where the evidence of an analysis comes from, and what its names mean: what lets analysis.json
//! be read without the results file beside it.
//!
//! All of it is copied from the results file's header and the table of metrics. Nothing here takes
//! part in a verdict.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::direction;
use crate::metric::{self, Direction};
use crate::plan::{Plan, Variant, WorkloadSpec};
use crate::results::{Environment, Results};

/// Where the evidence comes from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The build of schedlab that compared.
    pub compared_by: String,
    /// The build of schedlab that measured; none for a table.
    pub measured_by: Option<String>,
    /// The device, as the plan names it; none for a table.
    pub device: Option<String>,
    /// Start of the experiment in milliseconds since 1970 (UTC); none in virtual time and for a
    /// table.
    pub started_unix_ms: Option<u64>,
    /// Seed of every random choice; none for a table.
    pub seed: Option<u64>,
    /// SHA-256 of plan.toml as this version writes it; none for a table.
    pub plan_sha256: Option<String>,
    /// The command that repeats the experiment; none for a table.
    pub command: Option<String>,
    /// Trials of the results file, invalid ones included; values of a table.
    pub trials: u64,
    /// Facts about the machine, by section and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: Environment,
}

/// A variant with what it sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantSettings {
    /// Its name.
    pub name: String,
    /// Its scheduler; none for a table.
    pub scheduler: Option<String>,
    /// Tunables and attributes of the queue that it sets; in the cpu arena `nice`, `policy`, ….
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A workload with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSettings {
    /// Its label.
    pub name: String,
    /// The row of the workload table; none for a table of measurements.
    pub kind: Option<String>,
    /// The parameters that the plan sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

/// What a metric's name means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricMeaning {
    /// The name in comparisons and summaries.
    pub name: String,
    /// The unit of every value; empty where it is not known.
    pub unit: String,
    /// Which way is better.
    #[serde(with = "direction")]
    pub direction: Direction,
    /// What it counts, where it is a metric of schedlab.
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
    /// A variant of which only the name is known.
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
    /// A workload of which only the label is known.
    pub fn named(name: &str) -> WorkloadSettings {
        WorkloadSettings { name: name.to_owned(), kind: None, params: BTreeMap::new() }
    }
}

impl MetricMeaning {
    /// The meaning of a metric that improves in this direction.
    pub fn of(name: &str, direction: Direction) -> MetricMeaning {
        let meaning = metric::find(name).map(|row| row.help.to_owned());
        MetricMeaning { name: name.to_owned(), unit: metric::unit_of(name), direction, meaning }
    }
}

/// SHA-256 of a plan as plan.toml has it, in hexadecimal: what `sha256sum plan.toml` prints.
pub fn sha256_of(plan: &Plan) -> String {
    Sha256::digest(plan.to_toml()).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
