//! The queue's interface: bios, limits, counters.

use crate::kind::{ElevatorKind, Origin};
use crate::request::{BlockRequest, Priority};
use crate::scheduler::DepthLimit;
use crate::vocabulary::{Op, Time};

/// I/O submitted to the block layer (the kernel's bio).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bio {
    /// The caller's identifier, returned on completion.
    pub cookie: u64,
    /// The issuing process (I/O context); dense, from 0.
    pub process: u32,
    pub op: Op,
    /// Absolute.
    pub sector: u64,
    /// Never 0; may exceed one request.
    pub nr_sectors: u32,
    /// Whether a process waits for it.
    pub sync: bool,
    /// File system metadata.
    pub meta: bool,
    pub priority: Priority,
    /// Earliest dispatch time; None: at once.
    pub release: Option<Time>,
    /// Latest completion time; None: unlimited.
    pub deadline: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum requests: per direction in legacy Linux, per hardware queue in blk-mq.
    pub nr_requests: u32,
    /// Requests in flight per hardware queue.
    pub queue_depth: u32,
    /// Maximum request size in sectors; larger bios are split.
    pub max_sectors: u32,
    /// Whether bios are merged.
    pub merge: bool,
}

/// The smallest queue depth of an adapter: AHCI's 32.
const ADAPTER_TAGS: u32 = 32;

impl Limits {
    /// The kernel's defaults for a device of this depth: legacy Linux 128 requests per direction;
    /// blk-mq twice the tags with a scheduler, at most 256, and the tags without. Schedulers of the
    /// literature get the largest of these pools, 256 [P]. 512 KiB per request.
    ///
    /// The kernel uses the tags of the adapter, even for a disk that takes one command at a time.
    /// With twice the disk's depth, two of three readers would wait for a request, invisible to any
    /// scheduler.
    pub fn usual(kind: &ElevatorKind, queue_depth: u32) -> Limits {
        let tags = Limits::adapter_tags(queue_depth);
        let nr_requests = match kind.origin {
            Origin::LegacyLinux => 128,
            Origin::BlkMq if kind.name == "none" => tags,
            Origin::BlkMq => 2 * tags.min(128),
            Origin::Literature => 256,
        };
        Limits { nr_requests, queue_depth, max_sectors: 1024, merge: true }
    }

    /// Tags of the adapter for a disk of this queue depth.
    pub fn adapter_tags(queue_depth: u32) -> u32 {
        queue_depth.max(ADAPTER_TAGS)
    }
}

/// Counters since creation. At any time inserted + requeued = dispatched + coalesced + held, and
/// dispatched = completed + requeued + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub submitted: u64,
    /// Parts beyond the first of each split bio.
    pub splits: u64,
    pub inserted: u64,
    /// Bios (or parts) merged at a request's end.
    pub back_merges: u64,
    /// Bios (or parts) merged at a request's start.
    pub front_merges: u64,
    /// Requests merged into a neighbour.
    pub coalesced: u64,
    pub dispatched: u64,
    /// Requests that the device returned unserved.
    pub requeued: u64,
    /// Requests completed by the device.
    pub completed: u64,
    /// Bios completed.
    pub done: u64,
    /// Bios of which a part waited for a tag.
    pub waited: u64,
}

/// The outcome of a submitted bio, for traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Inserted as a new request.
    Inserted(BlockRequest),
    /// Merged into this request, shown after it.
    Merged(BlockRequest),
    /// No tag is free; it waits.
    Waiting,
}

/// A bio or part that waits for a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// As it will be inserted, except for tag, sequence number and time.
    pub(super) request: BlockRequest,
    pub(super) part: u32,
    /// The scheduler's limit at arrival.
    pub(super) limit: DepthLimit,
}
