//! The standard workloads.

use anyhow::{Context, Result};
use experiment::plan::WorkloadSpec;
use serde::Deserialize;

/// Workloads in the syntax of a plan.
const TABLE: &str = include_str!("workloads.toml");

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) spec: WorkloadSpec,
    pub(super) about: String,
    /// The metric of the fairness column.
    pub(super) fairness: String,
    /// Bounds of a trial's length.
    pub(super) least_ms: u64,
    pub(super) most_ms: u64,
    pub(super) real_time: bool,
}

/// Keys of a row that are not part of a plan's workload.
#[derive(Deserialize)]
#[serde(default)]
struct Beside {
    about: String,
    fairness: String,
    least_ms: u64,
    most_ms: u64,
    real_time: bool,
}

impl Default for Beside {
    fn default() -> Self {
        Beside {
            about: String::new(),
            fairness: "fairness_jain".to_owned(),
            least_ms: 0,
            most_ms: u64::MAX,
            real_time: false,
        }
    }
}

/// Every workload in table order. Fails only if the built-in table is malformed.
pub(super) fn rows() -> Result<Vec<Row>> {
    let table: toml::Table = toml::from_str(TABLE)?;
    let rows = table
        .get("workload")
        .and_then(toml::Value::as_array)
        .context("workloads: the table is empty")?;
    rows.iter().map(row).collect()
}

fn row(value: &toml::Value) -> Result<Row> {
    let Beside { about, fairness, least_ms, most_ms, real_time } = value.clone().try_into()?;
    let mut own = value.as_table().context("workload: not a table")?.clone();
    for key in ["about", "fairness", "least_ms", "most_ms", "real_time"] {
        own.remove(key);
    }
    let spec = toml::Value::Table(own).try_into()?;
    Ok(Row { spec, about, fairness, least_ms, most_ms, real_time })
}
