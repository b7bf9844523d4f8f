//! The load engine: runs and measures a workload's clients on a real device or file.
//!
//! With iodepth 1, a client is a thread with its own I/O context that calls pread and pwrite, like
//! a process; otherwise a thread with an io_uring. A request counts if it *completes* inside the
//! window. All requests issued are totalled too ([`Issued`]), for comparison with the device's
//! counters.
//!
//! The engine never prints, never changes a setting, and always returns: a device that stops
//! responding costs [`Drive::patience`] and results in [`EngineError::Hung`]. Buffered writes are
//! flushed within the measured time, and have no warm-up, whose dirty pages would be flushed too.
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

// The test harness refers to this crate by name.
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

/// Regions of a device or of one existing file. `len` and `logical_block` in bytes.
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

/// Files filled with data, one per client or shared; the caller removes them.
///
/// # Errors
/// Parameters that need another target, missing space, any error of writing.
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

/// `stop` ends it early, once requests in flight have completed, and sets
/// [`Measured::interrupted`].
///
/// # Errors
/// Only if nothing could be measured. Errors of single requests are part of the result.
pub fn run(drive: &Drive, stop: &AtomicBool) -> Result<Measured, EngineError> {
    begin(drive, &Gate::at_once(), stop)
}

/// Like [`run`], with the first pass starting at a time on the monotonic clock, so that processes
/// share a window. Also returns the clients' delay in nanoseconds, which does not move the window.
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

/// Whether further passes are pointless.
fn must_stop(measured: &Measured) -> bool {
    measured.interrupted
        || measured.vanished.is_some()
        || measured.no_space.is_some()
        || measured.errors >= tally::MAX_ERRORS
}
