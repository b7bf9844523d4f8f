//! The request to a guest and its answer: files in its working directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::plan::{Limits, WorkloadSpec};
use guest::inside::Inside;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::files::FileSystem;
use super::setting::Clients;
use crate::controllers::Control;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TrialRequest {
    /// Base directory of relative paths.
    pub(super) here: PathBuf,
    /// In order of loading.
    pub(super) modules: Vec<(PathBuf, String)>,
    pub(super) disk: Disk,
    pub(super) scheduler: Scheduler,
    /// In the order of writing.
    pub(super) controls: Vec<Control>,
    pub(super) workload: WorkloadSpec,
    pub(super) clients: Clients,
    pub(super) limits: Limits,
    /// None: the bare device.
    pub(super) files: Option<FileSystem>,
    pub(super) seed: u64,
    pub(super) duration_ns: u64,
    pub(super) warmup_ns: u64,
    /// From a completion to the same client's next request.
    pub(super) turnaround_ns: u64,
    /// Maximum deviation from it, in both directions.
    pub(super) turnaround_spread_ns: u64,
    pub(super) traced: bool,
}

/// The disk of a guest for CPU experiments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DiskRequest {
    /// In order of loading.
    pub(super) modules: Vec<(PathBuf, String)>,
    pub(super) disk: Disk,
    pub(super) scheduler: Scheduler,
}

/// The scheduler of a guest's disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Scheduler {
    pub(super) name: String,
    /// The one before it; None: the kernel's choice.
    pub(super) after: Option<String>,
    /// Whether bfq's `async_depth` is written again after the switch.
    pub(super) renews_depth: bool,
    /// Below `queue/`, in the order of writing.
    pub(super) attributes: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Disk {
    /// Tags of the host adapter.
    pub(super) tags: u32,
    pub(super) queue_depth: u32,
    /// Number of commands to log.
    pub(super) log: u32,
    /// Whether written data can be read back.
    pub(super) memory_backed: bool,
    /// CPU time of a request before and after the disk.
    pub(super) cpu_ns: [u64; 2],
    /// Whether all of that time is charged, or only what the CPU has not worked between requests.
    pub(super) is_charged_all: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer<T> {
    pub result: std::result::Result<T, String>,
    /// `uname -r`.
    pub release: String,
    pub virtual_ns: u64,
}

/// Answers a guest's request and powers off; returns only outside a guest.
pub fn answer<T: Serialize>(
    inside: &Inside,
    carry_out: impl FnOnce(&Inside) -> Result<T>,
) -> Result<u8> {
    let answer = Answer {
        result: carry_out(inside).map_err(|error| format!("{error:#}")),
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        virtual_ns: guest::inside::now_ns(),
    };
    write(inside.workdir(), REPORT, &answer)?;
    Err(guest::inside::power_off().into())
}

/// The guest is not trusted: see [`guest::read_result`].
pub fn answered<T: DeserializeOwned>(dir: &Path) -> Result<Answer<T>> {
    let path = dir.join(REPORT);
    let text = guest::read_result(dir, REPORT, MOST_OF_A_REPORT);
    let text =
        text.with_context(|| format!("{}: cannot read the guest's answer", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{}: cannot parse", path.display()))
}

pub const ORDER: &str = "order.json";
const REPORT: &str = "report.json";
/// Upper bound in bytes; the histograms of the longest trial need less.
const MOST_OF_A_REPORT: u64 = 256 << 20;
pub(super) const TABLES: &str = "tables";
pub(super) const LOG: &str = "log";
pub(super) const TRACE: &str = "trace.parquet";
/// Mount point of the file system.
pub(super) const FILES: &str = "files";

pub fn write<T: Serialize>(dir: &Path, name: &str, what: &T) -> Result<()> {
    let path = dir.join(name);
    fs::write(&path, serde_json::to_vec(what)?)
        .with_context(|| format!("{}: cannot write", path.display()))
}

pub fn read<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<T> {
    let path = dir.join(name);
    let text = fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{}: cannot parse", path.display()))
}
