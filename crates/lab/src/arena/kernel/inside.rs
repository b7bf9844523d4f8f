//! The guest's init during a trial: sets up the disk, runs the clients, writes the result and
//! powers off.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::load::{ClientFile, Drive, Submission};
use anyhow::{Context, Result};
use experiment::results::{InvalidReason, Observation};
use guest::inside::Inside;
use guest::load::{self, Load, LoadError, LoadOutcome};
use sim::workload::Measured;

use super::disk::Modelled;
use super::figures::{self, Shown};
use super::files::{self, FileSystem};
use super::flows;
use super::order::{self, TrialRequest};
use super::setting::Clients;
use super::trace::RunningTrace;
use crate::arena::evidence::{never_reached, too_few};
use crate::arena::flows::{Span, place_in_directory, place_on_device};
use crate::workloads::Work;

/// One list per flow, or a single list.
type Placed = Vec<Vec<ClientFile>>;

/// Virtual time without a response after which the disk counts as hung.
const PATIENCE: Duration = Duration::from_secs(3600);
pub(super) const LOGICAL_BLOCK: u32 = 512;

/// Lead of the clients' start, to prepare disk and clients.
const LEAD_NS: u64 = 1_000_000;
/// A guest has booted by then. Before that, its first ticks are counted early.
const BOOTED_NS: u64 = 100_000_000;
/// Time for all clients to submit their first request; reading the guest clock costs 256 ns. The
/// disk's epoch follows, so that the first request arrives at disk time 0 as in the simulator. A
/// microsecond later it would miss the first sector, and everything would shift by a revolution.
const FIRST_NS: u64 = 4096;
const FIRST_NS_A_CLIENT: u64 = 1024;
/// Some schedulers count ticks, so the start is aligned to one.
const TICK_NS: u64 = 10_000_000;

/// Runs a trial; returns only outside a guest.
pub fn run(workdir: &Path) -> Result<u8> {
    order::answer(&Inside::begin(workdir)?, trial)
}

fn trial(inside: &Inside) -> Result<Observation> {
    let order: TrialRequest = order::read(inside.workdir(), order::ORDER)?;
    std::env::set_current_dir(&order.here)
        .with_context(|| format!("{}: cannot enter", order.here.display()))?;
    for (module, parameters) in &order.modules {
        inside.load(module, parameters)?;
    }
    let disk = Modelled::make(&order.disk, &inside.workdir().join(order::TABLES))?;
    // All variants find the same disk, and no scheduler sees its preparation.
    let files =
        order.files.as_ref().map(|files| files_of(&order, files, inside, &disk)).transpose()?;
    disk.apply(&order.scheduler)?;
    flows::set_device(&order.controls, &disk)?;
    let merged = disk.merges()?;
    let trace = order.traced.then(|| RunningTrace::begin(inside, &disk)).transpose()?;
    let shown = Shown { merged, ..work(&order, &disk, files)? };
    trace.map_or(Ok(()), |trace| trace.end(&inside.workdir().join(order::TRACE)))?;
    // Counted since the epoch, the clients' start.
    let moved = disk.stats()?.bytes;
    let mut invalid = invalid(&shown.measured);
    let Work { kind, params } = crate::workloads::work_of(&order.workload)?;
    // A page written twice may be written back once.
    if params.direct || !kind.writes_with(&params) {
        invalid.extend(never_reached(&shown.measured.issued, moved, &order.limits));
    }
    let observation = Observation { invalid, ..figures::observation(&shown, &disk)? };
    if order.disk.log > 0 {
        fs::copy(disk.log(), inside.workdir().join(order::LOG))
            .context("log of the disk: cannot copy")?;
    }
    Ok(observation)
}

fn files_of(
    order: &TrialRequest,
    files: &FileSystem,
    inside: &Inside,
    disk: &Modelled,
) -> Result<Placed> {
    let at = inside.workdir().join(order::FILES);
    files.make(inside, disk.path(), &at)?;
    let work = crate::workloads::work_of(&order.workload)?;
    let made = place_in_directory(&work, &at, LOGICAL_BLOCK)?;
    files::cold()?;
    Ok(made)
}

fn work(order: &TrialRequest, disk: &Modelled, files: Option<Placed>) -> Result<Shown> {
    let work = crate::workloads::work_of(&order.workload)?;
    let disk_bytes = disk.bytes()?;
    if !work.params.flows.is_empty() {
        return of_flows(order, disk, &work, files);
    }
    let Work { kind, params } = work;
    if order.clients != Clients::Syscalls && files.is_none() {
        let file = File::options()
            .read(true)
            .write(true)
            .open(disk.path())
            .context("modelled disk: cannot open")?;
        let TrialRequest {
            seed, warmup_ns, duration_ns, turnaround_ns, turnaround_spread_ns, ..
        } = *order;
        // Disk time follows the clients' start. Otherwise the rotational position would depend on
        // the boot and differ from the simulator's.
        let clients = u64::from(params.clients);
        let at_start = || {
            let at = (guest::inside::now_ns() + LEAD_NS).max(BOOTED_NS).next_multiple_of(TICK_NS);
            disk.begin_at(at + FIRST_NS + FIRST_NS_A_CLIENT * clients)
                .map_err(std::io::Error::other)?;
            Ok(at)
        };
        let load = Load {
            kind,
            params: &params,
            seed,
            disk: &file,
            disk_bytes,
            logical_block: LOGICAL_BLOCK,
            warmup_ns,
            duration_ns,
            turnaround_ns,
            turnaround_spread_ns,
            at_start: Some(&at_start),
        };
        match load::drive(&load) {
            Ok(LoadOutcome { measured, longest_wait_ns, .. }) => {
                return Ok(Shown { longest_wait_ns: Some(longest_wait_ns), ..Shown::of(measured) });
            }
            Err(LoadError::NeedsSystemCalls { .. }) if order.clients == Clients::Auto => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (duration, warmup) =
        (Duration::from_nanos(order.duration_ns), Duration::from_nanos(order.warmup_ns));
    let files = match files {
        Some(files) => files.concat(),
        None => ::load::place_on_device(kind, &params, disk.path(), disk_bytes, LOGICAL_BLOCK)?,
    };
    let drive = Drive {
        kind,
        params,
        files,
        seed: order.seed,
        duration,
        warmup,
        patience: PATIENCE,
        submission: Submission::Aio { turnaround_ns: order.turnaround_ns },
    };
    disk.begin_at(guest::inside::now_ns())?;
    Ok(Shown::of(::load::run(&drive, &AtomicBool::new(false))?))
}

fn of_flows(
    order: &TrialRequest,
    disk: &Modelled,
    work: &Work,
    files: Option<Placed>,
) -> Result<Shown> {
    let files = match files {
        Some(files) => files,
        None => place_on_device(work, disk.path(), disk.bytes()?, LOGICAL_BLOCK)?,
    };
    let (duration, warmup) =
        (Duration::from_nanos(order.duration_ns), Duration::from_nanos(order.warmup_ns));
    let span = Span {
        start_ns: 0,
        warmup,
        duration,
        patience: PATIENCE,
        seed: order.seed,
        submission: Submission::Aio { turnaround_ns: order.turnaround_ns },
    };
    let (measured, against_alone) = flows::run(&work.params, &files, &order.controls, disk, &span)?;
    Ok(Shown { against_alone, ..Shown::of(measured) })
}

fn invalid(measured: &Measured) -> Vec<InvalidReason> {
    let mut invalid = Vec::new();
    if measured.errors > 0 {
        let first = measured.first_error.clone().unwrap_or_default();
        invalid.push(InvalidReason::DeviceErrors { count: measured.errors, first });
    }
    invalid
        .extend(measured.vanished.clone().map(|detail| InvalidReason::DeviceVanished { detail }));
    invalid.extend(too_few(measured));
    invalid
}
