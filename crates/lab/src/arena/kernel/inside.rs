//! The first program of a guest: makes the disk, sets the scheduler, lets the clients work, writes
//! down what they saw, and switches the guest off.

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

/// The files of each flow's clients; one list for work without flows.
type Placed = Vec<Vec<ClientFile>>;

/// A device that has not answered for so long, in virtual time, hangs.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Bytes of the modelled disk's smallest unit.
pub(super) const LOGICAL_BLOCK: u32 = 512;

/// How far ahead the start of the clients is set: more than it takes to tell the disk and them of
/// it.
const LEAD_NS: u64 = 1_000_000;
/// By this time the guest has booted and counts its ticks evenly: the first few are counted before
/// they are over.
const BOOTED_NS: u64 = 100_000_000;
/// From the start of the clients until all of their first requests are with the scheduler: readings
/// of the guest's clock, which cost 256 ns each. The disk's life begins then, so that the first
/// request comes at its time 0 as in the simulator: a microsecond later the first sector of the
/// disk would have passed the head, and everything would happen a revolution later.
const FIRST_NS: u64 = 4096;
const FIRST_NS_A_CLIENT: u64 = 1024;
/// A tick of the guest's clock: the disk's time 0 is the beginning of one, as in the simulator, for
/// schedulers that count ticks.
const TICK_NS: u64 = 10_000_000;

/// Runs the order in `workdir`; comes back only if this is no guest.
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
    // Files are made before the scheduler is set: all variants find the same disk, and none has
    // seen how it came to be.
    let files =
        order.files.as_ref().map(|files| files_of(&order, files, inside, &disk)).transpose()?;
    disk.apply(&order.scheduler)?;
    flows::set_device(&order.controls, &disk)?;
    let merged = disk.merges()?;
    let trace = order.traced.then(|| RunningTrace::begin(inside, &disk)).transpose()?;
    let shown = Shown { merged, ..work(&order, &disk, files)? };
    trace.map_or(Ok(()), |trace| trace.end(&inside.workdir().join(order::TRACE)))?;
    // The disk counts from the start of the clients on.
    let moved = disk.stats()?.bytes;
    let mut invalid = invalid(&shown.measured);
    let Work { kind, params } = crate::workloads::work_of(&order.workload)?;
    // A page that is written again before its write-back reaches the disk once.
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

/// Makes the file system and the clients' files, and forgets what of them is in memory.
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

/// Lets the clients work: as threads of the kernel, or by system calls.
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
        // The disk's time 0 is the clients': else the platters would stand elsewhere than in the
        // simulator, and wherever the guest's start has left them.
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

/// Lets each flow work in a process and a control group of its own.
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

/// What the trial itself says against it.
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
