//! The interface of an I/O scheduler: a value that receives events with their times and returns the
//! next request.
//!
//! An elevator has no clock, lock, thread or file, and cannot fail; only [`crate::Queue`] calls it.
//! The hooks are those of the kernel's elevator interface, so that an algorithm resembles its
//! kernel counterpart: the queue finds merges and reports them, and a timer is a time at which the
//! caller returns.

use std::fmt;

use crate::request::{BlockRequest, Finished};
use crate::vocabulary::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertAt {
    /// Where the scheduler chooses.
    Sorted,
    /// Requeued requests.
    Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The bio starts at the request's end.
    Back,
    /// The bio ends at the request's start.
    Front,
}

/// Who searches for a merge candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// By its hashes of ends and starts, subject to [`Elevator::allow_merge`].
    Queue,
    /// The elevator, with this result.
    Own(Option<(u32, Merge)>),
}

/// The tags that a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthLimit {
    None,
    /// Maximum for its direction and synchrony together.
    OfKind(u32),
    /// This many bits of each word in Linux 6.1, of all words together in 6.12.
    Shallow(u32),
    /// Beyond the pool, for an anticipated process (ELV_MQUEUE_MUST).
    Exceed,
}

/// elevator_features; read once by the queue.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    /// Whether two held requests merge when one grows to touch the other.
    pub coalesces: bool,
    /// Whether requests are inserted before their release, to plan a whole task set. The scheduler
    /// dispatches none early and sets a timer for the next release. Otherwise the queue holds
    /// requests back.
    pub takes_unreleased: bool,
}

impl Default for Features {
    fn default() -> Features {
        Features { coalesces: true, takes_unreleased: false }
    }
}

/// The hooks of Linux 2.6.20 missing in blk-mq. The scheduler's trees decide merges, and the driver
/// dispatches only when the queue runs: on submission to an empty scheduler, on completion, and
/// when the scheduler runs the queue. Tags are of held requests.
pub trait Legacy {
    /// Whether the scheduler called blk_run_queue since the last call.
    fn take_run(&self) -> bool {
        false
    }

    /// Whether a request is sorted; otherwise it is on a dispatch list and cannot merge.
    fn is_sorted(&self, tag: u32) -> bool;

    /// elevator_merge_fn: a request that starts at the end of `bio`.
    fn front(&self, bio: &BlockRequest) -> Option<u32>;

    /// elevator_former_req_fn.
    fn former(&self, tag: u32) -> Option<u32>;

    /// elevator_latter_req_fn.
    fn latter(&self, tag: u32) -> Option<u32>;

    /// elevator_allow_merge_fn; not called for two requests.
    fn allows(&self, _tag: u32, _bio: &BlockRequest) -> bool {
        true
    }
}

/// Positioning times; no kernel scheduler has more than a [`crate::Geometry`].
pub trait Disk {
    /// Seek, settle, head switch and rotation until the first sector is under the head, if sent
    /// `now`. 0 without a head.
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64;

    /// Calls `search` once, if the disk can bound positioning times by distance.
    fn survey(&self, _now: Time, _search: &mut dyn FnMut(&dyn Survey)) {}
}

/// A snapshot of a disk, for searches that query few requests.
pub trait Survey {
    /// As [`Disk::positioning_ns`] at this time.
    fn positioning_ns(&self, request: &BlockRequest) -> u64;

    /// The origin of distances: upwards for requests that start there or above, otherwise
    /// downwards.
    fn center(&self) -> u64;

    /// A lower bound for requests at `sector` or farther on the same side, except those in
    /// [`Survey::exempt`].
    fn at_least_ns(&self, sector: u64) -> u64;

    /// An upper bound on any positioning time.
    fn at_most_ns(&self) -> u64;

    /// Ranges (first and last sector) that are faster than their distance: the drive's cache.
    fn exempt(&self, each: &mut dyn FnMut(u64, u64));
}

/// All positions are equally near.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDisk;

impl Disk for NoDisk {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

/// A flow's guarantee. A flow is a process or a group of processes (control group, virtual machine,
/// tenant).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowSpec {
    /// Relative to others; None: from the I/O priority.
    pub weight: Option<u32>,
    /// Bytes per second; None: nothing reserved.
    pub rate: Option<u64>,
    /// Bytes at once above the rate.
    pub burst: u64,
    /// Of requests within rate and burst; None: no bound.
    pub latency_ns: Option<u64>,
}

/// Cost and benefit of deliberate idling since creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anticipation {
    pub started: u64,
    pub successes: u64,
    pub failures: u64,
    /// From the preceding completion to the arrival.
    pub success_wait_ns: u64,
    /// From the preceding completion to the end of the wait.
    pub failure_wait_ns: u64,
}

impl Anticipation {
    /// Failed waits per finished wait, as the WPCAS study defines it. None without one.
    pub fn false_idle_per_wait_ns(&self) -> Option<f64> {
        per(self.failure_wait_ns, self.successes + self.failures)
    }

    /// Failed waits per success, as in two of the study's three printed numbers. None without one.
    pub fn false_idle_per_success_ns(&self) -> Option<f64> {
        per(self.failure_wait_ns, self.successes)
    }
}

fn per(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

pub trait Elevator: fmt::Debug + Send {
    /// [`Elevator::dispatch`] returns the request's tag once, unless it is merged away
    /// ([`Elevator::coalesced`]).
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt);

    /// The tag of the request to issue. None while holding requests: deliberate idling, or waiting
    /// for a completion; repeating the call at the same time changes nothing.
    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32>;

    fn complete(&mut self, _now: Time, _done: &Finished) {}

    /// Requests inserted, but neither dispatched nor merged away.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When to call [`Elevator::on_timer`]; may change after any call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The caller dispatches afterwards.
    fn on_timer(&mut self, _now: Time) {}

    /// The tags for an arriving request; `word`: bits per word of blk-mq's bitmap.
    fn limit_depth(&self, _request: &BlockRequest, _word: u32) -> DepthLimit {
        DepthLimit::None
    }

    /// sbitmap_queue_min_shallow_depth, for `bits` of the bitmap: a word in Linux 6.1, all since
    /// 6.12. Bounds the wake batch.
    fn min_shallow_depth(&self, bits: u32) -> u32 {
        bits
    }

    /// `bio` is not inserted yet; its tag is meaningless. An elevator that searches itself checks
    /// direction and size (sum at most `max_sectors`).
    fn bio_merge(&mut self, _bio: &BlockRequest, _max_sectors: u32) -> Search {
        Search::Queue
    }

    /// Whether `bio` may merge, given adjacency, direction and size. Called twice before two held
    /// requests merge, as a back merge with either as `request`: an elevator refuses for one on its
    /// own dispatch list.
    fn allow_merge(&self, _request: &BlockRequest, _bio: &BlockRequest, _how: Merge) -> bool {
        true
    }

    /// request_merged: same tag; a front merge also changes the first sector.
    fn merged(&mut self, _now: Time, _before: &BlockRequest, _after: &BlockRequest) {}

    /// requests_merged: `survivor` takes the earlier FIFO position; a following
    /// [`Elevator::merged`] grows it.
    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest);

    /// The number may be reused by a new process, without history.
    fn exited(&mut self, _now: Time, _process: u32) {}

    /// Called before the process's first request; an undeclared process is a flow with the default
    /// guarantee (see [`crate::Flows`]).
    fn flow(&mut self, _process: u32, _flow: u32, _spec: &FlowSpec) {}

    fn get(&self, tunable: &str) -> u64;

    /// Takes a value within the row's range; effective from the next decision.
    fn set(&mut self, tunable: &str, value: u64);

    /// None for schedulers that never idle deliberately.
    fn anticipation(&self) -> Option<Anticipation> {
        None
    }

    fn features(&self) -> Features {
        Features::default()
    }

    /// The hooks of a Linux 2.6 scheduler. None: the queue's hashes find merges, and every event
    /// dispatches.
    fn legacy(&self) -> Option<&dyn Legacy> {
        None
    }
}
