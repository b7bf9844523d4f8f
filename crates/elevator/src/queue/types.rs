//! The types of the queue's interface: bios, limits, counters.

use crate::kind::{ElevatorKind, Origin};
use crate::request::{BlockRequest, Priority};
use crate::scheduler::DepthLimit;
use crate::vocabulary::{Op, Time};

/// A piece of I/O that is handed to the block layer (the kernel's bio).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bio {
    /// The caller's name for it; comes back when it is done.
    pub cookie: u64,
    /// The process (I/O context) that issues it; dense, from 0.
    pub process: u32,
    /// Direction.
    pub op: Op,
    /// First sector, absolute.
    pub sector: u64,
    /// Length in sectors, never 0; may exceed what one request can hold.
    pub nr_sectors: u32,
    /// Whether somebody waits for it.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// The process's I/O priority.
    pub priority: Priority,
    /// When it may be dispatched at the earliest; None: at once.
    pub release: Option<Time>,
    /// When it must have completed; None: never.
    pub deadline: Option<Time>,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that can exist at once: per direction for legacy Linux, for each hardware queue for
    /// blk-mq. The rest waits outside.
    pub nr_requests: u32,
    /// Requests that the device accepts at once in each hardware queue.
    pub queue_depth: u32,
    /// Sectors of the largest request; larger bios are split, merges stop there.
    pub max_sectors: u32,
    /// Whether bios are merged at all.
    pub merge: bool,
}

/// Smallest number of commands of an adapter: AHCI's 32.
const ADAPTER_TAGS: u32 = 32;

impl Limits {
    /// What the kernel of this scheduler would set up for a device of this depth: legacy Linux 128
    /// requests in each direction; blk-mq twice the tags, at most 256, with a scheduler, and the
    /// tags without. Schedulers of the literature see every request that waits: they get the
    /// largest of these pools, 256 [P]. 512 KiB a request.
    ///
    /// Tags are those of the adapter, which a disk that takes one command at a time shares: the
    /// kernel asks the adapter and not the disk. With twice the disk's depth, two readers of three
    /// would wait for a request and no scheduler could see them.
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

    /// Tags of the adapter in front of a disk that gets so many requests at once.
    pub fn adapter_tags(queue_depth: u32) -> u32 {
        queue_depth.max(ADAPTER_TAGS)
    }
}

/// What a queue has counted since it was made. At any time inserted + requeued = dispatched +
/// coalesced + held, and dispatched = completed + requeued + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bios handed over.
    pub submitted: u64,
    /// Parts that bios were split into beyond the first.
    pub splits: u64,
    /// Requests inserted into the elevator.
    pub inserted: u64,
    /// Bios (or parts) that joined a request at its end.
    pub back_merges: u64,
    /// Bios (or parts) that joined a request at its start.
    pub front_merges: u64,
    /// Requests that were taken into a neighbour.
    pub coalesced: u64,
    /// Requests that the elevator gave to the device.
    pub dispatched: u64,
    /// Requests that the device gave back unserved and that went to the elevator again.
    pub requeued: u64,
    /// Requests that the device has finished.
    pub completed: u64,
    /// Bios of which every part is done.
    pub done: u64,
    /// Bios of which a part had to wait for a free request.
    pub waited: u64,
}

/// What became of a bio when it was handed over; for traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It became a request of its own.
    Inserted(BlockRequest),
    /// It joined this request, shown as it is now.
    Merged(BlockRequest),
    /// All requests are in use; it waits.
    Waiting,
}

/// A bio, or a part of one, that waits for a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// As it will be inserted, except for the tag, the sequence number and the time.
    pub(super) request: BlockRequest,
    pub(super) part: u32,
    /// What the scheduler said when it arrived.
    pub(super) limit: DepthLimit,
}
