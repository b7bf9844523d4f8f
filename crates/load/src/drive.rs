//! The parameters of a measurement.

use std::path::PathBuf;
use std::time::Duration;

use sim::workload::{Params, WorkloadKind};

/// Default of [`Drive::patience`].
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// A block device or regular file.
    pub path: PathBuf,
    /// Of the client's region, in bytes.
    pub base: u64,
    /// Length of the region, in bytes.
    pub len: u64,
}

/// System calls for several requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submission {
    /// A request without a free tag waits in a kernel thread, and the client continues.
    #[default]
    IoUring,
    /// io_submit: the client sleeps until a tag is free, as in the simulator.
    Aio {
        /// From a completion to the client's next request, ±50 %: for guests in which computing
        /// takes no time.
        turnaround_ns: u64,
    },
}

#[derive(Debug, Clone)]
pub struct Drive {
    pub kind: &'static WorkloadKind,
    pub params: Params,
    /// One per client, from [`place_on_device`] or [`place_in_directory`].
    pub files: Vec<ClientFile>,
    /// Seed of the clients' random choices.
    pub seed: u64,
    /// Of the window, unless the workload ends earlier.
    pub duration: Duration,
    /// Before the window; ignored if it would distort the measurement ([`Drive::has_warmup`]).
    pub warmup: Duration,
    /// For client set-up, and for requests after the window.
    pub patience: Duration,
    /// With an iodepth of 1, pread and pwrite.
    pub submission: Submission,
}

impl Drive {
    /// One-time passes (which have no steady state), fixed amounts per client and buffered writes
    /// have no warm-up.
    pub fn has_warmup(&self) -> bool {
        self.kind.warms_up_with(&self.params)
    }

    /// Whether clients flush within the measured time.
    pub fn flushes_at_end(&self) -> bool {
        self.kind.flushes_at_end(&self.params)
    }
}
