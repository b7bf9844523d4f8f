//! The case of `selfbench kernel` inside a guest: one disk, the schedulers in turn, the same
//! clients under each.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use guest::inside::Inside;
use guest::load::{self, Load};
use guest::readers;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sim::workload::Params;

use lab::arena::kernel::order;

/// Clients, bytes per read, and nanoseconds of service and between reads.
pub(super) const CLIENTS: u32 = 40;
pub(super) const BLOCK: u32 = 4096;
pub(super) const SERVICE_NS: u64 = 8_000_000;
pub(super) const THINK_NS: u64 = 1_000_000;

const QUEUE: &str = "/sys/block/nullb0/queue";
const DISK: &str = "/dev/nullb0";
/// A window longer than any client reads.
const FOR_EVER_NS: u64 = 86_400_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Readers {
    /// Clients are processes, by system calls.
    Processes,
    /// Clients are kernel threads.
    Threads,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) null_blk: PathBuf,
    pub(super) modelload: PathBuf,
    pub(super) readers: Readers,
    /// Reads per client.
    pub(super) reads: u32,
    pub(super) schedulers: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) elapsed_ns: Vec<u64>,
    pub(super) reads: u64,
}

/// Returns only outside a guest.
pub(crate) fn run(workdir: &Path) -> Result<u8> {
    order::answer(&Inside::begin_alone(workdir)?, case)
}

fn case(inside: &Inside) -> Result<Outcome> {
    let case: Case = order::read(inside.workdir(), order::ORDER)?;
    // Two requests to choose from, one in the device, 8 ms each: a timer completes it.
    inside.load(
        &case.null_blk,
        &format!("nr_devices=1 irqmode=2 completion_nsec={SERVICE_NS} hw_queue_depth=1"),
    )?;
    inside.load(&case.modelload, "")?;
    let mut answer = Outcome::default();
    // The kernel has scanned for partitions.
    let before = reads()?;
    for scheduler in &case.schedulers {
        inside.beat();
        fs::write(format!("{QUEUE}/scheduler"), scheduler)
            .with_context(|| format!("cannot set {scheduler}"))?;
        let elapsed_ns =
            one(case.readers, case.reads).with_context(|| format!("under {scheduler}"))?;
        answer.elapsed_ns.push(elapsed_ns);
    }
    answer.reads = reads()? - before;
    Ok(answer)
}

fn reads() -> Result<u64> {
    let stat = fs::read_to_string("/sys/block/nullb0/stat").context("the disk has no counts")?;
    stat.split_whitespace()
        .next()
        .and_then(|reads| reads.parse().ok())
        .context("the disk's counts cannot be read")
}

/// Returns the virtual nanoseconds taken.
fn one(how: Readers, reads: u32) -> Result<u64> {
    let kind = sim::workload::find("randread").expect("randread is a workload");
    let amount = (u64::from(reads) * u64::from(BLOCK)).to_string();
    let (clients, block) = (CLIENTS.to_string(), BLOCK.to_string());
    let params =
        kind.params([("clients", clients.as_str()), ("amount", &amount), ("block_size", &block)])?;
    let params = Params { think_time_ns: THINK_NS, ..params };
    let disk = open()?;
    let sectors: u64 = fs::read_to_string("/sys/block/nullb0/size")?.trim().parse()?;
    let disk_bytes = sectors * elevator::SECTOR_BYTES;
    match how {
        Readers::Processes => Ok(readers::run(kind, &params, &disk, disk_bytes, 1)?),
        Readers::Threads => {
            let outcome = load::drive(&Load {
                kind,
                params: &params,
                seed: 1,
                disk: &disk,
                disk_bytes,
                logical_block: 512,
                warmup_ns: 0,
                duration_ns: FOR_EVER_NS,
                turnaround_ns: 0,
                turnaround_spread_ns: 0,
                at_start: None,
            })?;
            let measured = &outcome.measured;
            let errors = measured.errors;
            ensure!(
                errors == 0,
                "{errors} reads failed: {}",
                measured.first_error.clone().unwrap_or_default()
            );
            Ok(outcome.elapsed_ns)
        }
    }
}

fn open() -> Result<File> {
    let direct = i32::try_from(OFlags::DIRECT.bits()).expect("a flag of open fits its argument");
    OpenOptions::new()
        .read(true)
        .custom_flags(direct)
        .open(DISK)
        .with_context(|| format!("cannot open {DISK}"))
}
