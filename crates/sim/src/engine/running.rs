//! A client in a pass: its program, its state, and what it has open.

use crate::workload::{Client, ClientTotals, Member};
use elevator::{Completion, Priority, Request, Time};

/// What a client may have under way to the device without waiting: bytes, and bios. [P]
const DIRTY_BYTES: u64 = 16 << 20;
const DIRTY_BIOS: u32 = 1024;

/// What a client does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientState {
    /// Is asked for steps at its wake-up.
    Due,
    /// All that it may have open is open; goes on after a completion.
    Full,
    /// Goes on when at most so many of its requests are open.
    Awaiting(u32),
    /// One of its requests waits for a tag, and its thread with it; goes on when the request has
    /// one.
    Blocked,
    /// Its CPU hands a request to the queue; goes on when that is done.
    Submitting,
    /// Copies until its wake-up; since when.
    Copying(Request, Time),
    /// Too much is under way; goes on with this write when there is room.
    Throttled(Request),
    /// Waits for everything in flight, then flushes.
    Syncing,
    /// Waits for its flush, then goes on.
    Flushing,
    /// Starts nothing any more; waits for what is in flight.
    Closing,
    /// Waits for its last flush.
    LastFlush,
    /// Has ended.
    Ended,
}

/// A client in a pass, and what it has open.
pub(super) struct RunningClient {
    pub(super) program: Box<dyn Client + Send>,
    /// First byte of its region on the device.
    pub(super) base: u64,
    pub(super) depth: u32,
    pub(super) priority: Priority,
    /// The flow that it belongs to.
    pub(super) flow: Option<usize>,
    pub(super) state: ClientState,
    /// The number of its wake-up; 0: none.
    pub(super) wake: u64,
    /// Bios in flight that it waits for.
    pub(super) in_flight: u32,
    /// Parts of the request that is being submitted that wait for a tag.
    pub(super) waiting_parts: u32,
    /// Completions that came while the client was blocked: they make room when it has submitted
    /// everything else and looks for them.
    pub(super) unseen: u32,
    /// When the first of them came.
    pub(super) first_unseen: Time,
    /// Write-back under way.
    pub(super) dirty_bios: u32,
    pub(super) dirty_bytes: u64,
    /// The latest completion that was not passed to [`Client::next`] yet.
    pub(super) last: Option<Completion>,
    pub(super) began: Time,
    pub(super) ended: Time,
    pub(super) totals: ClientTotals,
}

impl RunningClient {
    /// A client that is asked for its first step at `start`.
    pub(super) fn new(member: Member, start: Time) -> RunningClient {
        let Member { program, base, iodepth, priority, flow } = member;
        assert!(iodepth > 0, "a client may have at least one request open");
        RunningClient {
            program,
            base,
            depth: iodepth,
            priority,
            flow: flow.map(|(number, _)| number as usize),
            state: ClientState::Due,
            wake: 0,
            in_flight: 0,
            waiting_parts: 0,
            unseen: 0,
            first_unseen: start,
            dirty_bios: 0,
            dirty_bytes: 0,
            last: None,
            began: start,
            ended: start,
            totals: ClientTotals::default(),
        }
    }

    /// Whether a buffered write of `bytes` may be handed to the queue now.
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        let fits =
            self.dirty_bytes + u64::from(bytes) <= DIRTY_BYTES && self.dirty_bios < DIRTY_BIOS;
        fits || self.dirty_bios == 0
    }

    /// Requests in flight as far as the client knows.
    pub(super) fn open(&self) -> u32 {
        self.in_flight + self.unseen
    }

    /// Whether anything that it started is in flight.
    pub(super) fn is_waiting(&self) -> bool {
        self.in_flight + self.dirty_bios > 0
    }
}
