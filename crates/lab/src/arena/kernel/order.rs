//! The request to a guest and its answer: two files in the guest's working directory.

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
    /// Modules to load and their parameters, in order.
    pub(super) modules: Vec<(PathBuf, String)>,
    pub(super) disk: Disk,
    pub(super) scheduler: String,
    /// Sysfs attributes below `queue/` and their values, in the order of writing.
    pub(super) attributes: Vec<(String, String)>,
    /// Settings of the device and of flows, in the order of writing.
    pub(super) controls: Vec<Control>,
    pub(super) workload: WorkloadSpec,
    pub(super) clients: Clients,
    /// Validity limits of the trial.
    pub(super) limits: Limits,
    /// File system of the clients' files; None: the bare device.
    pub(super) files: Option<FileSystem>,
    /// Seed of the clients.
    pub(super) seed: u64,
    /// Length of the measurement.
    pub(super) duration_ns: u64,
    /// Length of the warmup.
    pub(super) warmup_ns: u64,
    /// Delay from a completion to the same client's next request.
    pub(super) turnaround_ns: u64,
    /// Maximum deviation of that delay, in both directions.
    pub(super) turnaround_spread_ns: u64,
    /// Whether to record the disk's I/O.
    pub(super) traced: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Disk {
    /// Tags of the host adapter.
    pub(super) tags: u32,
    /// Limit on requests in the device.
    pub(super) queue_depth: u32,
    /// Number of commands to log; 0: none.
    pub(super) log: u32,
    /// Whether the disk stores written data.
    pub(super) memory_backed: bool,
}

/// A guest's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer<T> {
    /// The result, or the error.
    pub result: std::result::Result<T, String>,
    /// `uname -r` in the guest.
    pub release: String,
    /// Guest clock at the end.
    pub virtual_ns: u64,
}

/// Carries out a guest's request, writes the answer and powers off; returns only if this is not a
/// guest.
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

/// Reads a guest's answer. The guest is not trusted: see [`guest::read_result`].
pub fn answered<T: DeserializeOwned>(dir: &Path) -> Result<Answer<T>> {
    let path = dir.join(REPORT);
    let text = guest::read_result(dir, REPORT, MOST_OF_A_REPORT);
    let text = text
        .with_context(|| format!("{}: cannot read what the guest has answered", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is broken", path.display()))
}

pub const ORDER: &str = "order.json";
const REPORT: &str = "report.json";
/// Upper bound on the bytes of an answer; the histograms of the longest trial are smaller.
const MOST_OF_A_REPORT: u64 = 256 << 20;
pub(super) const TABLES: &str = "tables";
/// The disk's log, if requested.
pub(super) const LOG: &str = "log";
/// The trace, if requested.
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
    serde_json::from_slice(&text).with_context(|| format!("{} is broken", path.display()))
}
