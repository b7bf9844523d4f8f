//! The plan of an experiment: variants, workloads, budget, and the criteria of a difference.
//!
//! Everything that decides a verdict is fixed before the first trial, so margin, metric and
//! stopping rule cannot be chosen after seeing the numbers. Consent to destroy data is not part of
//! a plan: plans are copied between machines, and consent is for one device on one day.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, direction_of};
use scalars::scalars;

mod arena;
mod check;
mod check_flows;
mod compact;
mod flow;
mod read;
mod scalars;
mod sizes;
mod units;

pub use arena::{ARENAS, ArenaFacts, ArenaKind, CPU, CPU_DEVICE, DISK, KERNEL, KERNEL_CPU, SIM};
pub use check::MAX_TIME_S;
pub use check_flows::is_flow_name;
pub use compact::{
    parse_background, parse_cpu_variants, parse_variant, parse_variants, parse_workload,
    parse_workloads,
};
pub use flow::{FLOWS, Flow};
pub use read::PlanError;
pub use units::{parse_duration_s, parse_percent};

/// Version written by this build.
pub const SCHEMA: u32 = 3;

/// Versions that are read.
pub const READABLE: std::ops::RangeInclusive<u32> = 2..=SCHEMA;

/// The first version without a look after each round of a long experiment.
pub const THIN_LOOKS: u32 = 3;

/// An experiment (plan.toml).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Format version.
    #[serde(default = "schema")]
    pub schema: u32,
    /// A title for the report.
    #[serde(default)]
    pub name: String,
    /// Where trials run.
    #[serde(default)]
    pub arena: &'static ArenaFacts,
    /// disk: `/dev/NAME`, `NAME`, `/dev/disk/by-id/…`, or `loop:SIZE` for a temporary loop device.
    /// sim, kernel: a model, `NAME:KEY=VALUE…`, or a TOML description. cpu: optional,
    /// [`CPU_DEVICE`].
    #[serde(default)]
    pub device: String,
    /// Kernel arena: as `schedlab kernel build --source`; default `debian:7.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Seed of every random choice.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Default: the first variant.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Measuring time.
    #[serde(default)]
    pub budget: Budget,
    /// Length of a trial.
    #[serde(default)]
    pub trial: TrialLength,
    /// Criteria of a difference.
    #[serde(default)]
    pub criteria: Criteria,
    /// Limits beyond which a trial is invalid.
    #[serde(default)]
    pub limits: Limits,
    /// The settings compared.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    /// The workloads.
    #[serde(rename = "workload")]
    pub workloads: Vec<WorkloadSpec>,
    /// The file system made on the device, if the workload uses files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSystemSpec>,
    /// Metrics of this plan's own programs.
    #[serde(rename = "metric", default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<OwnMetric>,
    /// Published figures, shown for reference only.
    #[serde(rename = "published", default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The workload's label in this plan.
    pub workload: String,
    /// The metric, by its name here.
    pub metric: String,
    /// The variant's name in this plan.
    pub variant: String,
    /// The value, in the metric's unit.
    pub value: f64,
    /// Its source.
    pub source: String,
}

/// One of the settings compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in the report; unique.
    pub name: String,
    /// The scheduler as written (aliases are resolved by the check); in the cpu arena the CPU
    /// scheduler, default `default`.
    #[serde(default)]
    pub scheduler: String,
    /// Settings as text: scheduler tunables and queue attributes (`slice_idle`, `nr_requests`, …),
    /// or `nice`, `policy`, ….
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub tunables: BTreeMap<String, String>,
}

/// The temporary file system on the device under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystemSpec {
    /// `ext4`, `xfs` or `btrfs`.
    pub kind: String,
    /// Additional mkfs options.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mkfs: String,
    /// Mount options, e.g. `noatime,data=journal`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount: String,
}

/// A metric of a user's own program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnMetric {
    /// Its name, preferably ending with the unit.
    pub name: String,
    /// Direction of improvement.
    pub better: Better,
}

/// Direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A process's share of the device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Weight of its control group, 1 to 10000; default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_weight: Option<u32>,
    /// Limit in the syntax of cgroup v2's io.max, e.g. `wbps=10M wiops=100`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_max: Option<String>,
    /// `idle`, `best-effort:0…7` or `realtime:0…7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ioprio: Option<String>,
}

impl Share {
    /// Whether nothing is set.
    pub fn is_plain(&self) -> bool {
        *self == Share::default()
    }
}

/// Background load; its metrics are recorded but never compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// A row of the workload table.
    pub kind: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub params: BTreeMap<String, String>,
    /// Its share of the device.
    #[serde(default, skip_serializing_if = "Share::is_plain")]
    pub share: Share,
}

/// One workload with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Its label in the report; unique.
    pub name: String,
    /// A row of the workload table, or a program.
    pub kind: String,
    /// Default: the workload's primary metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Parameters as text (`clients = "8"`, `block_size = "4k"`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub params: BTreeMap<String, String>,
    /// Its share of the device.
    #[serde(default, skip_serializing_if = "Share::is_plain")]
    pub share: Share,
    /// Concurrent background load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// The flows of a workload of kind `flows`.
    #[serde(rename = "flow", default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
}

impl Plan {
    /// The direction from the plan, the table, or the words of the name.
    pub fn direction_of(&self, metric: &str) -> Direction {
        let own = self.metrics.iter().find(|own| own.name == metric);
        own.map_or_else(
            || direction_of(metric).unwrap_or(Direction::Descriptive),
            |own| own.better.into(),
        )
    }
}

impl From<Better> for Direction {
    fn from(better: Better) -> Direction {
        match better {
            Better::Higher => Direction::HigherIsBetter,
            Better::Lower => Direction::LowerIsBetter,
        }
    }
}

/// An experiment ends here or once every verdict is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Wall time of all rounds, in seconds.
    pub time_s: f64,
    /// Maximum rounds per workload; `None`: time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Continue even when every verdict is reached.
    pub no_early_stop: bool,
    /// Measure even with too few rounds for an interval.
    #[serde(skip_serializing_if = "is_false")]
    pub figures_only: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { time_s: 60.0, rounds: None, no_early_stop: false, figures_only: false }
    }
}

/// The length of a trial; by default about a dozen rounds fit the budget.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrialLength {
    /// The measured window, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Uncounted work before the window, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
}

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Group-sequential: looks within a fixed budget, at the overall level `alpha`.
    #[default]
    Spending,
    /// A confidence sequence, valid at every look.
    Anytime,
    /// Student's t for a fixed number of rounds (Welch's without rounds).
    Fixed,
    /// Baseline mean ± 3 standard deviations, as in older studies; for reference only.
    ThreeSigma,
}

/// Criteria of a difference, fixed before the first trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Criteria {
    /// Smallest relevant difference, as a fraction: 0.01 is 1 %.
    pub margin: f64,
    /// Family-wise error over all variants of one metric.
    pub alpha: f64,
    /// The interval method.
    pub method: Method,
    /// Rounds per workload for the bounds of `spending`; default: `budget.rounds`, or the number
    /// that fits by the first round, as noted in the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// Maximum share of invalid rounds in a valid comparison.
    pub max_invalid_share: f64,
}

impl Default for Criteria {
    fn default() -> Self {
        Criteria {
            margin: 0.01,
            alpha: 0.05,
            method: Method::default(),
            planned: None,
            max_invalid_share: 0.2,
        }
    }
}

/// Limits beyond which a trial is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum share of the device's bytes from other processes.
    pub foreign_io_share: f64,
    /// Minimum share of the workload's bytes counted by the device.
    pub reached_share: f64,
    /// Maximum share of CPU time stolen by the hypervisor. Generous: random steal affects all
    /// variants of a round and only widens the interval.
    pub steal_share: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { foreign_io_share: 0.05, reached_share: 0.9, steal_share: 0.25 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn schema() -> u32 {
    SCHEMA
}

fn seed() -> u64 {
    1
}
