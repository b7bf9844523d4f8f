//! The interface of an I/O scheduler: a value that receives events with their times and returns the
//! next request.
//!
//! An elevator owns no clock, lock, thread or file, and nothing that it does can fail. Only
//! [`crate::Queue`] calls it. The hooks are those of the kernel's elevator interface, so that an
//! algorithm reads like its kernel counterpart: merges are found by the queue and reported here,
//! timers are a point in time that the caller comes back at.

use std::fmt;

use crate::request::{BlockRequest, Finished};
use crate::vocabulary::Time;

/// Where a request enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertAt {
    /// In the position that the scheduler chooses.
    Sorted,
    /// Before everything else: requeued requests.
    Head,
}

/// How an arriving bio joins a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// It starts where the request ends.
    Back,
    /// It ends where the request starts.
    Front,
}

/// Who looks for a request that an arriving one can join: the answer of [`Elevator::bio_merge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The queue, by its hash of ends and starts; [`Elevator::allow_merge`] has the last word.
    Queue,
    /// The elevator has looked itself, and found this: the tag of the request to join and how, or
    /// nothing.
    Own(Option<(u32, Merge)>),
}

/// How many of the queue's tags a request may choose from: the answer of [`Elevator::limit_depth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthLimit {
    /// All.
    None,
    /// Requests of its direction and synchrony hold at most this many together.
    OfKind(u32),
    /// Those at the start of blk-mq's bitmap: this many of each word in Linux 6.1, of all words
    /// together in 6.12.
    Shallow(u32),
    /// All, and some beyond the pool: a process that is waited for must be able to send a request
    /// (ELV_MQUEUE_MUST).
    Exceed,
}

/// What is fixed about a scheduler, as elevator_features is. The queue reads it once.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    /// Whether two held requests that touch after one of them has grown become one. False where the
    /// kernel only adds bios to requests.
    pub coalesces: bool,
    /// Whether requests are inserted before their release time, so that a whole task set can be
    /// planned. The scheduler then dispatches none before its release and has a timer for the next
    /// release; else the queue holds requests back.
    pub takes_unreleased: bool,
    /// The smallest number of `bits` of blk-mq's bitmap to which [`Elevator::limit_depth`] limits a
    /// request (sbitmap_queue_min_shallow_depth), where `bits` is a word of the bitmap in Linux 6.1
    /// and the whole of it in 6.12. It bounds the wake batch. None: nothing is limited.
    pub min_shallow_depth: Option<fn(bits: u32) -> u32>,
}

impl Default for Features {
    fn default() -> Features {
        Features { coalesces: true, takes_unreleased: false, min_shallow_depth: None }
    }
}

/// The hooks of Linux 2.6.20 that blk-mq no longer has. Trees decide what joins what, not a hash,
/// and the driver asks for requests only when the queue runs: on a submission if the scheduler was
/// empty, on a completion, and when the scheduler runs the queue.
///
/// Tags are those of requests that the scheduler holds.
pub trait Legacy {
    /// Whether the scheduler has run the queue since the last call (blk_run_queue).
    fn take_run(&self) -> bool {
        false
    }

    /// Whether a held request is still sorted; if not, it is on a dispatch list, where nothing
    /// joins it.
    fn is_sorted(&self, tag: u32) -> bool;

    /// The request that starts at the end of `bio`, where the scheduler looks for one
    /// (elevator_merge_fn).
    fn front(&self, bio: &BlockRequest) -> Option<u32>;

    /// The neighbour before a sorted request (elevator_former_req_fn).
    fn former(&self, tag: u32) -> Option<u32>;

    /// The neighbour behind it (elevator_latter_req_fn).
    fn latter(&self, tag: u32) -> Option<u32>;

    /// Whether a bio may join a sorted request (elevator_allow_merge_fn); asked for bios, not
    /// for two requests.
    fn allows(&self, _tag: u32, _bio: &BlockRequest) -> bool {
        true
    }
}

/// Access to the disk's current positioning times, for schedulers that use them.
///
/// No kernel scheduler can ask this; [`crate::Geometry`] is what one could be configured with.
pub trait Disk {
    /// Nanoseconds of seek, settle, head switch and rotation until the first sector of this request
    /// is under the head, if it were sent `now`. 0 for devices without a head.
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64;

    /// Calls `search` once with the disk as it is `now`, if it can bound positioning times by
    /// distance; else not at all.
    fn survey(&self, _now: Time, _search: &mut dyn FnMut(&dyn Survey)) {}
}

/// A disk at one moment, for a search for the nearest of many requests that asks about few of them.
pub trait Survey {
    /// What [`Disk::positioning_ns`] returns at this moment.
    fn positioning_ns(&self, request: &BlockRequest) -> u64;

    /// The sector from which distance counts, upwards for what starts there or above, downwards for
    /// what starts below.
    fn center(&self) -> u64;

    /// No request that starts at `sector`, or farther from the center on the same side, has a
    /// shorter positioning time, unless it starts in one of [`Survey::exempt`].
    fn at_least_ns(&self, sector: u64) -> u64;

    /// No request has a longer positioning time.
    fn at_most_ns(&self) -> u64;

    /// Calls `each` with first and last sectors of ranges that are reached in less time than their
    /// distance takes: what the drive has in its memory.
    fn exempt(&self, each: &mut dyn FnMut(u64, u64));
}

/// A device without mechanics: every position is as near as any other.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDisk;

impl Disk for NoDisk {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

/// What a flow is guaranteed, for schedulers that share or reserve. A flow is a process or a group
/// of processes (a control group, a virtual machine, a tenant).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowSpec {
    /// Share relative to the others' weights; None: from the I/O priority.
    pub weight: Option<u32>,
    /// Sustained rate in bytes per second; None: nothing reserved.
    pub rate: Option<u64>,
    /// Bytes that may come at once above the rate.
    pub burst: u64,
    /// Bound on the latency of a request within rate and burst, in nanoseconds; None: no bound.
    pub latency_ns: Option<u64>,
}

/// What idling on purpose has cost and brought since the scheduler was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anticipation {
    /// Waits that were begun.
    pub started: u64,
    /// Waits that ended with a request worth waiting for.
    pub successes: u64,
    /// Waits that ended by their timer.
    pub failures: u64,
    /// Nanoseconds waited in successful ones, from the completion before to the arrival.
    pub success_wait_ns: u64,
    /// Nanoseconds waited in failed ones, from the completion before to the end of the wait.
    pub failure_wait_ns: u64,
}

impl Anticipation {
    /// "False idle" by the words of the study of WPCAS: nanoseconds of failed waits, per
    /// anticipation that ended. None without one.
    pub fn false_idle_per_wait_ns(&self) -> Option<f64> {
        per(self.failure_wait_ns, self.successes + self.failures)
    }

    /// "False idle" by the study's figures: nanoseconds of failed waits per success, which is what
    /// two of its three printed numbers are. None without a success.
    pub fn false_idle_per_success_ns(&self) -> Option<f64> {
        per(self.failure_wait_ns, self.successes)
    }
}

fn per(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

/// An I/O scheduler.
pub trait Elevator: fmt::Debug + Send {
    /// Takes a request. It comes back from [`Elevator::dispatch`] once, or is merged away
    /// ([`Elevator::coalesced`]).
    fn insert(&mut self, now: Time, request: BlockRequest, at: InsertAt);

    /// The request that the device shall get now. None while holding requests: idling on purpose,
    /// or waiting for a completion; asking again at the same time changes nothing.
    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest>;

    /// The device has completed a request.
    fn complete(&mut self, now: Time, done: &Finished);

    /// Requests held: inserted, neither dispatched nor merged away.
    fn len(&self) -> usize;

    /// Whether nothing is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When to call [`Elevator::on_timer`]; it may change after any other call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The timer has expired. The caller dispatches afterwards.
    fn on_timer(&mut self, _now: Time) {}

    /// How many tags an arriving request may choose from, where a word of blk-mq's bitmap has
    /// `word` bits.
    fn limit_depth(&self, _request: &BlockRequest, _word: u32) -> DepthLimit {
        DepthLimit::None
    }

    /// Who looks for a request that `bio` can join. `bio` is not inserted yet; its tag means
    /// nothing. The queue has checked neither direction nor size for an elevator that searches by
    /// itself: `max_sectors` bounds the sum.
    fn bio_merge(&mut self, _bio: &BlockRequest, _max_sectors: u32) -> Search {
        Search::Queue
    }

    /// Whether `bio` may join `request`, which it touches; direction and size fit. Before two
    /// held requests become one this is asked twice, as a back merge, with either of them as
    /// `request`: an elevator that has one of them in a dispatch list of its own refuses.
    fn allow_merge(&self, _request: &BlockRequest, _bio: &BlockRequest, _how: Merge) -> bool {
        true
    }

    /// A held request has grown from `before` to `after` (same tag; a front merge changes the first
    /// sector too): request_merged.
    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest);

    /// The held request `gone` has been taken into the held request `survivor`, which it touched
    /// (requests_merged); `survivor` is as before and grows by a following [`Elevator::merged`].
    /// `gone` must not be held any more; `survivor` takes the earlier of the two FIFO positions.
    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest);

    /// A process has exited; it issues no more requests. Numbers are reused: a later request of the
    /// same number is the first one of a process without history.
    fn exited(&mut self, _now: Time, _process: u32) {}

    /// The process belongs to this flow, which is guaranteed this. Called before the first request
    /// of the process. A process for which it is not called is a flow of its own with the default
    /// guarantee ([`crate::Flows`] keeps that for schedulers).
    fn flow(&mut self, _process: u32, _flow: u32, _spec: &FlowSpec) {}

    /// The value of a tunable of this elevator's row of the table, in the unit of the row.
    fn get(&self, tunable: &str) -> u64;

    /// Sets a tunable; the value is within the row's range. What depends on it changes from the
    /// next decision on.
    fn set(&mut self, tunable: &str, value: u64);

    /// What idling on purpose has cost and brought; None for schedulers that never do.
    fn anticipation(&self) -> Option<Anticipation> {
        None
    }

    /// What does not change while the scheduler exists.
    fn features(&self) -> Features {
        Features::default()
    }

    /// The hooks of a scheduler of Linux 2.6; None: the queue's own hashes find what joins what,
    /// and the scheduler is asked for requests after every event.
    fn legacy(&self) -> Option<&dyn Legacy> {
        None
    }
}
