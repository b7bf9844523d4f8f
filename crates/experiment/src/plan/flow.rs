//! A flow of a `flows` workload: its work and its guarantees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::scalars::scalars;

/// The kind of workload that has flows.
pub const FLOWS: &str = "flows";

/// One flow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// A row of the workload table.
    pub kind: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub params: BTreeMap<String, String>,
    /// Relative weight, 1 to 10000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Bytes/s of its arrival curve, e.g. `10M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Burst bytes above the rate, e.g. `1M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<String>,
    /// Latency bound of requests inside the arrival curve, e.g. `20ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// I/O priority of its clients: `idle`, `best-effort:0…7` or `realtime:0…7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ioprio: Option<String>,
}
