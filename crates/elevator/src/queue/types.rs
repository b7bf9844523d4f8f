//! The queue's interface: bios, limits, counters.

use crate::kind::{ElevatorKind, Origin};
use crate::request::{BlockRequest, Priority};
use crate::scheduler::DepthLimit;
use crate::vocabulary::{Op, Time};

/// The kernel's bio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bio {
    /// Returned on completion.
    pub cookie: u64,
    /// Dense, from 0.
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
    /// None: at once.
    pub release: Option<Time>,
    /// None: unlimited.
    pub deadline: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Per direction in legacy Linux, per hardware queue in blk-mq.
    pub nr_requests: u32,
    /// Per hardware queue.
    pub queue_depth: u32,
    /// Larger bios are split.
    pub max_sectors: u32,
    pub merge: bool,
}

/// AHCI's.
const ADAPTER_TAGS: u32 = 32;

impl Limits {
    /// The kernel's defaults: legacy Linux 128 requests per direction; blk-mq twice the tags with a
    /// scheduler, at most 256, and the tags without. The literature gets the largest, 256 [P]. 512
    /// KiB per request.
    ///
    /// The tags are the adapter's, even for a disk that takes one command at a time: with twice the
    /// disk's depth, two of three readers would wait, invisible to any scheduler.
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

    pub fn adapter_tags(queue_depth: u32) -> u32 {
        queue_depth.max(ADAPTER_TAGS)
    }
}

/// Always inserted + requeued = dispatched + coalesced + held, and dispatched = completed +
/// requeued + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub submitted: u64,
    pub splits: u64,
    pub inserted: u64,
    /// Bios (or parts).
    pub back_merges: u64,
    /// Bios (or parts).
    pub front_merges: u64,
    pub coalesced: u64,
    pub dispatched: u64,
    /// Requests returned unserved.
    pub requeued: u64,
    pub completed: u64,
    pub done: u64,
    /// Bios, in whole or part.
    pub waited: u64,
}

/// For traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Inserted(BlockRequest),
    /// The request after it.
    Merged(BlockRequest),
    /// For a tag.
    Waiting,
}

/// A bio or part that waits for a tag or its release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// Except for tag, sequence number and time.
    pub(super) request: BlockRequest,
    /// At arrival.
    pub(super) limit: DepthLimit,
}
