//! The load engine: runs the clients of a workload against a real device or file, and measures
//! them.
//!
//! A client with iodepth 1 is a thread that calls pread and pwrite: it is a process to the I/O
//! scheduler, with its own I/O context, and has the cost of one. A client with a larger iodepth is
//! a thread with its own io_uring. All clients start at a gate. The measured window opens and
//! closes at points in time, not after a number of requests: a request counts if it *completes*
//! inside the window. What is issued before and after does reach the device, so the totals of all
//! that was issued are kept as well ([`Issued`]): they are what the device's own counters must be
//! compared with.
//!
//! The engine never prints, never changes a setting, and always comes back: a device that stops
//! answering costs [`Drive::patience`] and is reported as [`EngineError::Hung`].
//!
//! Page cache: a buffered workload starts with the target's cached pages dropped. Buffered writes
//! are flushed to the medium inside the measured time and have no warm-up, because what a warm-up
//! leaves dirty would be flushed on the window's account; otherwise the figure would be that of
//! memory.
#![deny(unsafe_code)]

mod account;
mod buffer;
pub mod cpu;
mod drive;
mod error;
mod pass;
pub mod programs;
mod shared;
mod sync;
#[allow(unsafe_code)]
mod sys;
mod tally;
mod target;
mod turnaround;

// The tests' harness names this crate as the programs of tests do.
#[cfg(test)]
extern crate self as load;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shared::Gate;
use sim::workload::{ParamError, Params, WorkloadKind};

pub use account::{Account, Allowance, account};
pub use drive::{ClientFile, Drive, PATIENCE, Submission};
pub use error::EngineError;
pub use shared::monotonic_ns;
pub use sim::workload::{
    ClientTotals, Curve, Issued, METRIC_NAMES, Measured, OpTotals, PERCENTILES, latency_curves,
    metrics, needed_for,
};
pub use sys::TimedReads;
pub use target::prepare_files;

/// Gives each client its part of a device or of one existing file. `len` and `logical_block` in
/// bytes.
pub fn place_on_device(
    kind: &WorkloadKind,
    params: &Params,
    path: &Path,
    len: u64,
    logical_block: u32,
) -> Result<Vec<ClientFile>, ParamError> {
    let extents = kind.extents(params, len, logical_block)?;
    Ok(extents
        .into_iter()
        .map(|e| ClientFile { path: path.into(), base: e.base, len: e.len })
        .collect())
}

/// Makes the files that the clients need in a directory, filled with data, and gives each client
/// its own or the shared one. The caller removes them.
///
/// # Errors
/// Parameters that need another target, no room, any error of writing.
pub fn place_in_directory(
    kind: &WorkloadKind,
    params: &Params,
    dir: &Path,
    logical_block: u32,
) -> Result<Vec<ClientFile>, EngineError> {
    let sizes = kind.file_sizes(params, logical_block)?;
    let paths = prepare_files(dir, &sizes)?;
    let of = |client: usize| client % paths.len();
    Ok((0..kind.clients(params) as usize)
        .map(|client| ClientFile {
            path: paths[of(client)].clone(),
            base: 0,
            len: sizes[of(client)],
        })
        .collect())
}

/// Runs the clients and measures them. `stop` ends it early, within the time of the requests in
/// flight; what was measured until then is returned with [`Measured::interrupted`] set.
///
/// # Errors
/// Nothing could be measured at all: see [`EngineError`]. Errors of single requests are part of the
/// result.
pub fn run(drive: &Drive, stop: &AtomicBool) -> Result<Measured, EngineError> {
    begin(drive, &Gate::at_once(), stop)
}

/// Like [`run`], with the first pass beginning at a point of the monotonic clock, so that several
/// processes measure over one window. Returns also by how many nanoseconds the clients were late:
/// their clock and their window begin at the given point in any case.
///
/// # Errors
/// As [`run`].
pub fn run_at(
    drive: &Drive,
    start_ns: u64,
    stop: &AtomicBool,
) -> Result<(Measured, u64), EngineError> {
    let gate = Gate::at(start_ns);
    let measured = begin(drive, &gate, stop)?;
    Ok((measured, gate.late_ns()))
}

fn begin(drive: &Drive, gate: &Gate, stop: &AtomicBool) -> Result<Measured, EngineError> {
    assert_eq!(
        drive.files.len(),
        drive.kind.clients(&drive.params) as usize,
        "one file entry per client"
    );
    let targets = target::open_all(drive)?;
    if !drive.params.direct && drive.kind.reaches_device {
        target::drop_caches(&targets)?;
    }
    let warmup = if drive.has_warmup() { drive.warmup } else { Duration::ZERO };
    let mut measured = Measured::default();
    if drive.kind.pass_based {
        if drive.params.phase.repeats_a_pass() {
            let practice = pass::run(drive, &targets, Duration::ZERO, drive.duration, gate, stop)?;
            measured.issued.add(&practice.issued);
            measured.interrupted = practice.interrupted;
        }
        let start = Instant::now();
        while !must_stop(&measured)
            && !stop.load(Ordering::Relaxed)
            && start.elapsed() < drive.duration
        {
            target::start_pass(drive, &targets)?;
            let left = drive.duration.saturating_sub(start.elapsed());
            measured.add_pass(pass::run(drive, &targets, Duration::ZERO, left, gate, stop)?);
        }
        measured.interrupted |= stop.load(Ordering::Relaxed);
    } else {
        measured = pass::run(drive, &targets, warmup, drive.duration, gate, stop)?;
    }
    Ok(measured)
}

/// Whether going on makes no sense.
fn must_stop(measured: &Measured) -> bool {
    measured.interrupted
        || measured.vanished.is_some()
        || measured.no_space.is_some()
        || measured.errors >= tally::MAX_ERRORS
}
