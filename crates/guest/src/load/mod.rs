//! A workload's clients inside the guest's kernel: the user-space side of /dev/modelload
//! (kernel/modelload-main.c).
//!
//! A system call costs User-mode Linux several context switches of the host. Kernel threads as
//! clients need few: steps are written in advance and completion records read in bulk. All else is
//! as in the simulator and `sim::workload`. Workloads that need system calls (files, the page
//! cache) or depend on time (`WorkloadKind::is_timed`) fail with [`LoadError::NeedsSystemCalls`];
//! the caller then uses the crate `load`.

#[cfg(test)]
mod fake;
mod feed;
mod tally;
mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use sim::Turnarounds;
use sim::workload::{Extent, Measured, ParamError, Params, Pass, WorkloadKind};

use feed::{Feed, Turns};
use tally::Tally;

pub const DEVICE: &str = "/dev/modelload";
const RECORDS: usize = 32 << 10;
/// The module's limit: 100 days.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// Returns the start time on the monotonic clock, slightly in the future, so that a disk's epoch
/// can be set to it.
pub type AtStart<'a> = &'a dyn Fn() -> io::Result<u64>;

pub struct Load<'a> {
    pub kind: &'static WorkloadKind,
    pub params: &'a Params,
    /// Seed of random choices and turnarounds.
    pub seed: u64,
    /// Open for reading, and for writing if the workload writes.
    pub disk: &'a File,
    pub disk_bytes: u64,
    /// In bytes.
    pub logical_block: u32,
    /// Ignored if the workload has no warm-up.
    pub warmup_ns: u64,
    pub duration_ns: u64,
    /// From a completion to the next step; at least 1 is used.
    pub turnaround_ns: u64,
    /// Maximum deviation, as in the simulator; at most `turnaround_ns`.
    pub turnaround_spread_ns: u64,
    /// Called before the first pass, which otherwise starts when it is ready.
    pub at_start: Option<AtStart<'a>>,
}

#[derive(Debug)]
pub struct LoadOutcome {
    /// CPU time is 0 in virtual time.
    pub measured: Measured,
    /// Within the window, including requests in flight at its end.
    pub longest_wait_ns: u64,
    /// Virtual time, including warm-up and remaining requests.
    pub elapsed_ns: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The caller must use system calls.
    #[error("workload {workload}: cannot run inside the guest's kernel: {why}; use system calls")]
    NeedsSystemCalls { workload: &'static str, why: &'static str },
    #[error(transparent)]
    Params(#[from] ParamError),
    /// A time exceeds the module's limit.
    #[error("{what}: out of range (found {ns} ns, expected at most 100 days); take a shorter time")]
    TooLong { what: &'static str, ns: u64 },
    #[error("{DEVICE}: cannot {doing}: {cause}; load the module modelload")]
    Device { doing: &'static str, cause: io::Error },
    /// A bug in schedlab.
    #[error(
        "{DEVICE}: unexpected answer ({what}); this is a mistake in schedlab: please report it"
    )]
    Nonsense { what: String },
}

/// Whether the kernel's clients can run this workload.
pub fn possible(kind: &WorkloadKind, params: &Params) -> Result<(), LoadError> {
    let refused = |why| Err(LoadError::NeedsSystemCalls { workload: kind.name, why });
    if kind.is_timed(params) {
        return refused("its clients go by the time, or by what has completed");
    }
    if !kind.reaches_device {
        return refused("its I/O is served from memory");
    }
    if !params.direct {
        return refused("it goes through the page cache");
    }
    Ok(())
}

/// Errors of single requests are part of the result.
pub fn drive(load: &Load<'_>) -> Result<LoadOutcome, LoadError> {
    drive_on(load, || OpenOptions::new().read(true).write(true).open(Path::new(DEVICE)))
}

/// Like [`drive`], through another implementation of the protocol. `open` is called for each pass.
fn drive_on<D: Read + Write>(
    load: &Load<'_>,
    mut open: impl FnMut() -> io::Result<D>,
) -> Result<LoadOutcome, LoadError> {
    possible(load.kind, load.params)?;
    let times = [
        ("warmup", load.warmup_ns),
        ("duration", load.duration_ns),
        ("turnaround", load.turnaround_ns),
    ];
    for (what, ns) in times {
        if ns > LONGEST_NS / 2 {
            return Err(LoadError::TooLong { what, ns });
        }
    }
    let extents = load.kind.extents(load.params, load.disk_bytes, load.logical_block)?;
    let source = Turnarounds::new(load.seed, load.turnaround_ns, load.turnaround_spread_ns);
    let mut turns = Turns::new(source, extents.len());
    let mut outcome =
        LoadOutcome { measured: Measured::default(), longest_wait_ns: 0, elapsed_ns: 0 };
    let mut at_start = load.at_start;
    load.kind.passes(load.params, load.warmup_ns, load.duration_ns, |pass| {
        let device = open().map_err(|cause| LoadError::Device { doing: "open", cause })?;
        let took =
            one_pass(load, &extents, pass, device, &mut turns, &mut outcome, at_start.take())?;
        outcome.elapsed_ns += took;
        // Do not repeat passes if the disk is gone.
        Ok::<u64, LoadError>(if outcome.measured.vanished.is_some() {
            u64::MAX
        } else {
            took.max(1)
        })
    })?;
    Ok(outcome)
}

/// Returns the pass's nanoseconds.
fn one_pass<D: Read + Write>(
    load: &Load<'_>,
    extents: &[Extent],
    pass: Pass,
    mut device: D,
    turns: &mut Turns,
    outcome: &mut LoadOutcome,
    at_start: Option<AtStart<'_>>,
) -> Result<u64, LoadError> {
    let members = load.kind.members(load.params, extents, load.seed);
    let depths: Vec<u32> = members.iter().map(|member| member.iodepth).collect();
    let clients = members.len();
    let LoadOutcome { measured, longest_wait_ns, .. } = outcome;
    let times = (pass.warmup_ns, pass.duration_ns);
    let mut tally = Tally::new(measured, longest_wait_ns, clients, times, pass.counts);
    let mut feed = Feed::new(members);
    say(&mut device, &wire::setup(&setup(load, pass, turns), &depths))?;
    let mut bytes = vec![0; RECORDS * wire::RECORD];
    let mut steps = Vec::new();
    let mut started = false;
    loop {
        let read = hear(&mut device, &mut bytes)?;
        if read == 0 {
            return Ok(tally.sum_up(load.kind.pass_based));
        }
        for record in bytes[..read].chunks_exact(wire::RECORD).map(wire::record) {
            if usize::from(record.client) >= clients {
                return Err(LoadError::Nonsense {
                    what: format!("{record:?} of {clients} clients"),
                });
            }
            match record.kind {
                wire::ROOM => feed.feed(&record, turns, &mut steps),
                wire::STARTED => tally.started(&record),
                wire::DONE => tally.done(&record),
                wire::SYNCED => tally.synced(&record),
                wire::ENDED => {
                    tally.ended(&record);
                    turns.used(record.client, record.offset as usize);
                }
                _ => return Err(LoadError::Nonsense { what: format!("{record:?}") }),
            }
        }
        if !steps.is_empty() {
            say(&mut device, &wire::steps(&steps))?;
            steps.clear();
        }
        if !started {
            let at_ns = at_start
                .map_or(Ok(0), |choose| choose())
                .map_err(|cause| LoadError::Device { doing: "choose a start for", cause })?;
            say(&mut device, &wire::start(at_ns))?;
            started = true;
        }
    }
}

fn setup(load: &Load<'_>, pass: Pass, turns: &Turns) -> wire::Setup {
    let constant = turns.constant();
    let stops = if load.kind.pass_based { wire::FIRST_STOPS_ALL } else { 0 };
    let drawn = if constant.is_none() { wire::TURNS_DRAWN } else { 0 };
    wire::Setup {
        disk_fd: load.disk.as_raw_fd(),
        rules: stops | drawn,
        max_bytes: load.kind.max_request(load.params),
        warmup_ns: pass.warmup_ns,
        duration_ns: pass.duration_ns,
        turnaround_ns: constant.unwrap_or(load.turnaround_ns),
    }
}

/// The module accepts a message completely or not at all.
fn say(device: &mut impl Write, message: &[u8]) -> Result<(), LoadError> {
    let failed = |cause| LoadError::Device { doing: "write to", cause };
    match device.write(message).map_err(failed)? {
        written if written == message.len() => Ok(()),
        written => Err(LoadError::Nonsense {
            what: format!("{written} of {} bytes to be enough", message.len()),
        }),
    }
}

/// Waits for the first record. Retries after signals.
fn hear(device: &mut impl Read, bytes: &mut [u8]) -> Result<usize, LoadError> {
    loop {
        match device.read(bytes) {
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            read => return read.map_err(|cause| LoadError::Device { doing: "read from", cause }),
        }
    }
}

#[cfg(test)]
mod tests;
