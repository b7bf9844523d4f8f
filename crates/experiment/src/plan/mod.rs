//! The plan of an experiment: what is compared, on what work, for how long, and what will count as
//! a difference.
//!
//! Everything that decides a verdict is written down before the first trial, so that it is not
//! possible to choose the margin, the metric or the stopping rule after seeing the numbers. Consent
//! to destroy data is not part of a plan: a plan is copied from machine to machine, and consent
//! belongs to one device on one day.

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

pub use arena::{ARENAS, ArenaFacts, ArenaKind, CPU, CPU_DEVICE, DISK, KERNEL, SIM};
pub use check::LONGEST_S;
pub use check_flows::is_flow_name;
pub use compact::{
    parse_background, parse_cpu_variants, parse_variant, parse_variants, parse_workload,
    parse_workloads,
};
pub use flow::{FLOWS, Flow};
pub use read::PlanError;
pub use units::{parse_duration_s, parse_percent};

/// The version of the plan's and record's schema that this build writes.
pub const SCHEMA: u32 = 2;

/// An experiment, as written in plan.toml.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format.
    #[serde(default = "schema")]
    pub schema: u32,
    /// A title for the report.
    #[serde(default)]
    pub name: String,
    /// Where trials take place.
    #[serde(default)]
    pub arena: &'static ArenaFacts,
    /// In the disk arena `/dev/NAME`, `NAME`, `/dev/disk/by-id/…`, or `loop:SIZE` for a temporary
    /// loop device. In the sim and kernel arenas a model's name, `NAME:KEY=VALUE…` with parts of it
    /// changed, or a TOML file that describes one. In the cpu arena it may be left out; it is
    /// [`CPU_DEVICE`] there.
    #[serde(default)]
    pub device: String,
    /// In the kernel arena: which kernel, as `schedlab kernel build --source` takes it;
    /// `debian:6.1` if not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Seed of every random choice: order of variants, offsets of requests.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The variant that the others are compared with; the first one if not named.
    #[serde(default)]
    pub baseline: Option<String>,
    /// How long to measure.
    #[serde(default)]
    pub budget: Budget,
    /// How long one trial is.
    #[serde(default)]
    pub trial: TrialLength,
    /// What counts as a difference.
    #[serde(default)]
    pub criteria: Criteria,
    /// What makes a trial invalid.
    #[serde(default)]
    pub limits: Limits,
    /// The settings under comparison.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    /// The work.
    #[serde(rename = "workload")]
    pub workloads: Vec<WorkloadSpec>,
    /// The file system that is made on the device, where the work uses files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSystemSpec>,
    /// Metrics that only this plan's programs report.
    #[serde(rename = "metric", default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<OwnMetric>,
    /// What somebody else published about the same: shown beside what is measured here, never part
    /// of a verdict.
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
    /// The figure, in the metric's unit.
    pub value: f64,
    /// Where it stands.
    pub source: String,
}

/// One setting under comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in the report; unique.
    pub name: String,
    /// The I/O scheduler, as the user wrote it (old names are resolved when the plan is checked).
    /// In the cpu arena the CPU scheduler: `default` if it is left out.
    #[serde(default)]
    pub scheduler: String,
    /// Tunables of the scheduler and attributes of the queue (`slice_idle`, `nr_requests`, …) as
    /// text; in the cpu arena `nice`, `policy`, ….
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub tunables: BTreeMap<String, String>,
}

/// The file system that is made on the device under test for the time of the experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystemSpec {
    /// `ext4`, `xfs` or `btrfs`.
    pub kind: String,
    /// Further options of mkfs, as on its command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mkfs: String,
    /// Options of mount, e.g. `noatime,data=journal`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount: String,
}

/// A metric of a user's own program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnMetric {
    /// Its name; it should end with the unit.
    pub name: String,
    /// Which way it improves.
    pub better: Better,
}

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// What share of the device a process gets, beside what the scheduler gives everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Weight of its control group for I/O, 1 to 10000; 100 is everybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_weight: Option<u32>,
    /// Bounds of its control group: `rbps`, `wbps`, `riops`, `wiops` as in cgroup v2's io.max, e.g.
    /// `wbps=10M wiops=100`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_max: Option<String>,
    /// Its I/O priority: `idle`, `best-effort:0…7` or `realtime:0…7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ioprio: Option<String>,
}

impl Share {
    /// Whether nothing is asked for.
    pub fn is_plain(&self) -> bool {
        *self == Share::default()
    }
}

/// Load beside the work that is measured; its own figures are noted and never compared.
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
    /// A row of the workload table, or a program that is started.
    pub kind: String,
    /// The metric that decides; the workload's own choice if not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Parameters as text (`clients = "8"`, `block_size = "4k"`), read by the workload crate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "scalars")]
    pub params: BTreeMap<String, String>,
    /// Its share of the device.
    #[serde(default, skip_serializing_if = "Share::is_plain")]
    pub share: Share,
    /// What goes on beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// The flows of a workload of kind `flows`.
    #[serde(rename = "flow", default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
}

impl Plan {
    /// Which way a metric improves: as the plan says of its own, else as the table or the words of
    /// its name say. Where none says it, the metric only describes.
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

/// How long to measure: an experiment ends when every verdict is reached, or here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Wall time of all rounds together, in seconds.
    pub time_s: f64,
    /// At most this many rounds of each workload; none: only time limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Go on to the end of the budget even when every verdict is reached.
    pub no_early_stop: bool,
    /// Measure although there are fewer rounds than an interval takes: for figures and traces
    /// without verdicts.
    #[serde(skip_serializing_if = "is_false")]
    pub figures_only: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { time_s: 60.0, rounds: None, no_early_stop: false, figures_only: false }
    }
}

/// Length of a trial; what is not named is chosen so that about a dozen rounds fit into the budget.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrialLength {
    /// The measured window, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Work done before the window opens and not counted, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
}

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Group-sequential: looks after every round of a budget that is known beforehand, all of them
    /// together at the level of `alpha`.
    #[default]
    Spending,
    /// A confidence sequence: valid at every look, for work without a known end.
    Anytime,
    /// Student's t for a number of rounds fixed beforehand (Welch's where there are no rounds).
    Fixed,
    /// Baseline mean ± 3 standard deviations, the rule of older studies; for comparison only.
    ThreeSigma,
}

/// What counts as a difference; fixed before the first trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Criteria {
    /// Practical margin as a fraction: 0.01 means that less than 1 % either way is of no interest.
    pub margin: f64,
    /// Family-wise error over all variants of one metric.
    pub alpha: f64,
    /// How intervals are computed.
    pub method: Method,
    /// The number of rounds of each workload that the bounds of `spending` are for; none:
    /// `budget.rounds`, else what fits into the budget's time by the first round, which the results
    /// file notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// A comparison is invalid when more than this share of its rounds is invalid.
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

/// Bounds outside of which a trial is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes that others moved on the device, as a share of all bytes that it moved.
    pub foreign_io_share: f64,
    /// At least this share of the workload's bytes must have been counted by the device.
    pub reached_share: f64,
    /// CPU time stolen by the hypervisor, as a share of all CPU time. Generous: what is stolen at
    /// random hits all variants of a round alike and widens the interval, which is honest already;
    /// beyond this the machine is not ours at all.
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
