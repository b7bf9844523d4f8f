//! One measurement, as it is ordered.

use std::path::PathBuf;
use std::time::Duration;

use sim::workload::{Params, WorkloadKind};

/// How long a device may stay silent before it is given up, unless a drive says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// A block device or a regular file.
    pub path: PathBuf,
    /// First byte of the client's region in it.
    pub base: u64,
    /// Length of the region in bytes.
    pub len: u64,
}

/// The system calls of clients with several requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submission {
    /// io_uring: a request that finds no free tag waits in a worker thread of the kernel's, and the
    /// client goes on.
    #[default]
    IoUring,
    /// io_submit: the client itself sleeps until there is a tag, as in the simulator.
    Aio {
        /// From a completion to the client's next request, ±50 %, whatever its iodepth: for guests
        /// in which computing takes no time.
        turnaround_ns: u64,
    },
}

/// One measurement: which clients, on what, for how long.
#[derive(Debug, Clone)]
pub struct Drive {
    pub kind: &'static WorkloadKind,
    pub params: Params,
    /// One per client, in the order of their numbers; [`place_on_device`] and
    /// [`place_in_directory`] make them.
    pub files: Vec<ClientFile>,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// Length of the measured window. A workload that ends by itself ends earlier.
    pub duration: Duration,
    /// Time before the window opens; taken as 0 where a warm-up would spoil the measurement
    /// ([`Drive::has_warmup`]).
    pub warmup: Duration,
    /// How long to wait for requests after the window has closed, and for a client's set-up; see
    /// [`PATIENCE`].
    pub patience: Duration,
    /// How clients submit; with an iodepth of 1 by pread and pwrite.
    pub submission: Submission,
}

impl Drive {
    /// Whether the warm-up is observed: not by one-time passes (a pass has no steady state), not by
    /// a given amount per client, not by buffered writes.
    pub fn has_warmup(&self) -> bool {
        self.kind.warms_up_with(&self.params)
    }

    /// Whether clients flush what they wrote inside the measured time.
    pub fn flushes_at_end(&self) -> bool {
        self.kind.flushes_at_end(&self.params)
    }
}
