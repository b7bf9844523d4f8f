//! The parameters of a measurement.

use std::path::PathBuf;
use std::time::Duration;

use sim::workload::{Params, WorkloadKind};

/// Default time until a silent device is given up.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// A block device or a regular file.
    pub path: PathBuf,
    /// First byte of the client's region.
    pub base: u64,
    /// Length of the region in bytes.
    pub len: u64,
}

/// System calls of clients with several requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submission {
    /// io_uring: a request without a free tag waits in a kernel worker thread, and the client
    /// continues.
    #[default]
    IoUring,
    /// io_submit: the client itself sleeps until a tag is free, as in the simulator.
    Aio {
        /// Delay between a completion and the client's next request, ±50 %, for any iodepth: for
        /// guests in which computing takes no time.
        turnaround_ns: u64,
    },
}

#[derive(Debug, Clone)]
pub struct Drive {
    pub kind: &'static WorkloadKind,
    pub params: Params,
    /// One per client, in order, from [`place_on_device`] or [`place_in_directory`].
    pub files: Vec<ClientFile>,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// Length of the measured window, unless the workload ends earlier.
    pub duration: Duration,
    /// Time before the window opens; ignored if it would distort the measurement
    /// ([`Drive::has_warmup`]).
    pub warmup: Duration,
    /// Timeout for client set-up, and for requests after the window has closed; see [`PATIENCE`].
    pub patience: Duration,
    /// With an iodepth of 1, clients use pread and pwrite instead.
    pub submission: Submission,
}

impl Drive {
    /// Whether there is a warm-up. One-time passes (which have no steady state), fixed amounts per
    /// client and buffered writes have none.
    pub fn has_warmup(&self) -> bool {
        self.kind.warms_up_with(&self.params)
    }

    /// Whether clients flush their writes within the measured time.
    pub fn flushes_at_end(&self) -> bool {
        self.kind.flushes_at_end(&self.params)
    }
}
