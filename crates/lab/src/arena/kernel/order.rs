//! The request to a guest and its answer: two files in its working directory.

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

/// One trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TrialRequest {
    /// The directory that relative names are meant in.
    pub(super) here: PathBuf,
    /// Modules to load, in this order, with their parameters.
    pub(super) modules: Vec<(PathBuf, String)>,
    /// The disk.
    pub(super) disk: Disk,
    /// Its scheduler.
    pub(super) scheduler: Scheduler,
    /// Settings of the device and of flows, in the order in which they are written.
    pub(super) controls: Vec<Control>,
    /// The work.
    pub(super) workload: WorkloadSpec,
    /// Who does it.
    pub(super) clients: Clients,
    /// Bounds outside of which the trial is invalid.
    pub(super) limits: Limits,
    /// The file system that its files are on; None: the bare device.
    pub(super) files: Option<FileSystem>,
    /// Seed of the clients' random choices.
    pub(super) seed: u64,
    /// The measured window.
    pub(super) duration_ns: u64,
    /// Work before it.
    pub(super) warmup_ns: u64,
    /// From a completion to the same client's next request.
    pub(super) turnaround_ns: u64,
    /// At most so much earlier or later.
    pub(super) turnaround_spread_ns: u64,
    /// Whether what the disk is asked for is recorded.
    pub(super) traced: bool,
}

/// The scheduler of a guest's disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Scheduler {
    pub(super) name: String,
    /// The one before it; None: the kernel's choice.
    pub(super) after: Option<String>,
    /// Whether bfq's `async_depth` is written again after the switch.
    pub(super) renews_depth: bool,
    /// What is written into sysfs, in this order: below `queue/`, and the value.
    pub(super) attributes: Vec<(String, String)>,
}

/// A modelled disk in the guest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Disk {
    /// Tags of its adapter.
    pub(super) tags: u32,
    /// Requests that it gets at once.
    pub(super) queue_depth: u32,
    /// Commands to keep for comparison with the simulator; 0: none.
    pub(super) log: u32,
    /// Whether what is written can be read again.
    pub(super) memory_backed: bool,
}

/// What a guest answers at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer<T> {
    /// What came of its order, or why nothing did.
    pub result: std::result::Result<T, String>,
    /// What `uname -r` says in it.
    pub release: String,
    /// Its clock at the end.
    pub virtual_ns: u64,
}

/// Carries out a guest's order, writes down what came of it, and switches the guest off; comes back
/// only if this is no guest.
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

/// What a guest has answered. The guest is not trusted: see [`guest::read_result`].
pub fn answered<T: DeserializeOwned>(dir: &Path) -> Result<Answer<T>> {
    let path = dir.join(REPORT);
    let text = guest::read_result(dir, REPORT, MOST_OF_A_REPORT);
    let text = text
        .with_context(|| format!("{}: cannot read what the guest has answered", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is broken", path.display()))
}

/// The files' names.
pub const ORDER: &str = "order.json";
const REPORT: &str = "report.json";
/// Bytes of an answer: more than the histograms of the longest trial.
const MOST_OF_A_REPORT: u64 = 256 << 20;
/// The tables of the disk's model.
pub(super) const TABLES: &str = "tables";
/// The disk's log, where one was asked for.
pub(super) const LOG: &str = "log";
/// The trace, where one was asked for.
pub(super) const TRACE: &str = "trace.parquet";
/// The directory that a file system is mounted on.
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
