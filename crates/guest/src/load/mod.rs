//! The clients of a workload inside the guest's kernel: the driver of /dev/modelload (kernel/modelload-main.c).
//!
//! In User-mode Linux a system call costs several context switches of the host. Here the clients are threads of the guest's kernel,
//! whose steps are written ahead, and what became of them is read in large pieces; a pass costs a few system calls in all. The
//! clients are those of the simulator: the same programs, places, seeds, passes and turnarounds, and what they show is
//! measured by the same definitions (crate `workload`).
//!
//! Direct I/O on a block device only. What needs real system calls (files, the page cache) or asks for the time (`replay`) is
//! refused with [`LoadError::NeedsSystemCalls`]; the caller uses the load engine of crate `host` then.

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
use workload::{Extent, Measured, ParamError, Params, Pass, WorkloadKind};

use feed::{Feed, Turns};
use tally::Tally;

/// The device that the module makes.
pub const DEVICE: &str = "/dev/modelload";
/// Records that are read at once.
const RECORDS: usize = 32 << 10;
/// The module's bound for the times that it takes: 100 days.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// Chooses when the clients start, in nanoseconds of the monotonic clock, once all is ready: a little ahead, so that a disk can be told to
/// begin its life at the very same time.
pub type AtStart<'a> = &'a dyn Fn() -> io::Result<u64>;

/// What the clients do, on which disk, for how long.
pub struct Load<'a> {
    /// The row of the workload table.
    pub kind: &'static WorkloadKind,
    /// Its parameters.
    pub params: &'a Params,
    /// Seed of the clients' random choices and turnarounds.
    pub seed: u64,
    /// The disk, open for reading, and for writing if the workload writes.
    pub disk: &'a File,
    /// Its length in bytes.
    pub disk_bytes: u64,
    /// Bytes of its logical block.
    pub logical_block: u32,
    /// Work before the window, in nanoseconds; not observed where the workload has none.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds.
    pub duration_ns: u64,
    /// From a completion to the client's next step, in nanoseconds; taken as 1 at least.
    pub turnaround_ns: u64,
    /// How much earlier or later that is, drawn anew each time, as in the simulator; at most `turnaround_ns`.
    pub turnaround_spread_ns: u64,
    /// Asked before the first pass; None: it starts when it is ready, as all others do.
    pub at_start: Option<AtStart<'a>>,
}

/// What the clients showed.
#[derive(Debug)]
pub struct LoadOutcome {
    /// By the definitions that hold in every arena. Processor time is 0: there is none in a guest's virtual time.
    pub measured: Measured,
    /// The longest time that a request waited for its completion, seen from inside the window: one that is open when it closes counts
    /// with what it has waited by then.
    pub longest_wait_ns: u64,
    /// Virtual nanoseconds of all passes, warm-up and aftermath included.
    pub elapsed_ns: u64,
}

/// Why a load cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel's clients cannot do this: the caller has to use system calls.
    #[error("workload {workload}: cannot run inside the guest's kernel: {why}; use system calls")]
    NeedsSystemCalls {
        /// The workload's name.
        workload: &'static str,
        /// What stands against it.
        why: &'static str,
    },
    /// Parameters and disk do not go together.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// A time that is longer than the module takes.
    #[error("{what}: out of range (found {ns} ns, expected at most 100 days); take a shorter time")]
    TooLong {
        /// Which one.
        what: &'static str,
        /// How long it is.
        ns: u64,
    },
    /// The device of the module could not be used.
    #[error("{DEVICE}: cannot {doing}: {cause}; load the module modelload")]
    Device {
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The module said something that makes no sense: a mistake in schedlab.
    #[error("{DEVICE}: unexpected answer ({what}); this is a mistake in schedlab: please report it")]
    Nonsense {
        /// What was seen.
        what: String,
    },
}

/// Whether the kernel's clients can run this workload.
///
/// # Errors
/// [`LoadError::NeedsSystemCalls`], which says why not.
pub fn possible(kind: &WorkloadKind, params: &Params) -> Result<(), LoadError> {
    let refused = |why| Err(LoadError::NeedsSystemCalls { workload: kind.name, why });
    if kind.needs_trace() {
        return refused("a replayed trace depends on when its requests complete");
    }
    if !kind.reaches_device {
        return refused("its I/O is served from memory");
    }
    if !params.direct {
        return refused("it goes through the page cache");
    }
    Ok(())
}

/// Runs the clients of a workload by [`DEVICE`].
///
/// # Errors
/// [`LoadError`]. Errors of single requests are part of the result.
pub fn drive(load: &Load<'_>) -> Result<LoadOutcome, LoadError> {
    drive_on(load, || OpenOptions::new().read(true).write(true).open(Path::new(DEVICE)))
}

/// The same by something else that speaks its protocol. `open` gives a new connection for each pass.
fn drive_on<D: Read + Write>(
    load: &Load<'_>,
    mut open: impl FnMut() -> io::Result<D>,
) -> Result<LoadOutcome, LoadError> {
    possible(load.kind, load.params)?;
    let times = [("warmup", load.warmup_ns), ("duration", load.duration_ns), ("turnaround", load.turnaround_ns)];
    for (what, ns) in times {
        if ns > LONGEST_NS / 2 {
            return Err(LoadError::TooLong { what, ns });
        }
    }
    let extents = load.kind.extents(load.params, load.disk_bytes, load.logical_block)?;
    let source = Turnarounds::new(load.seed, load.turnaround_ns, load.turnaround_spread_ns);
    let mut turns = Turns::new(source, extents.len());
    let mut outcome = LoadOutcome { measured: Measured::default(), longest_wait_ns: 0, elapsed_ns: 0 };
    let mut at_start = load.at_start;
    load.kind.passes(load.params, (load.warmup_ns, load.duration_ns), |pass| {
        let device = open().map_err(|cause| LoadError::Device { doing: "open", cause })?;
        let took = one_pass(load, &extents, pass, device, &mut turns, &mut outcome, at_start.take())?;
        outcome.elapsed_ns += took;
        // Where the disk is gone there is nothing to repeat.
        Ok::<u64, LoadError>(if outcome.measured.vanished.is_some() { u64::MAX } else { took.max(1) })
    })?;
    Ok(outcome)
}

/// One pass; how many nanoseconds it took.
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
                return Err(LoadError::Nonsense { what: format!("{record:?} of {clients} clients") });
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

/// Writes one message, which is taken as a whole or not at all.
fn say(device: &mut impl Write, message: &[u8]) -> Result<(), LoadError> {
    let failed = |cause| LoadError::Device { doing: "write to", cause };
    match device.write(message).map_err(failed)? {
        written if written == message.len() => Ok(()),
        written => Err(LoadError::Nonsense { what: format!("{written} of {} bytes to be enough", message.len()) }),
    }
}

/// Reads what there is; waits for it. Signals do not matter.
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
