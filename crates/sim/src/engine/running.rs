//! A client in a pass: program, state and open I/O.

use crate::workload::{Client, ClientTotals, Member};
use elevator::{Completion, Priority, Request, Time};

/// Maximum write-back per client, in bytes and bios. [P]
const DIRTY_BYTES: u64 = 16 << 20;
const DIRTY_BIOS: u32 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientState {
    Due,
    /// The client is at its iodepth; resumes after a completion.
    Full,
    /// Waits until at most this many requests are open.
    Awaiting(u32),
    /// Its thread sleeps for a tag.
    Blocked,
    /// Its CPU is submitting a request.
    Submitting,
    /// Waits for its wake-up; since when.
    Copying(Request, Time),
    Throttled(Request),
    Syncing,
    Flushing,
    /// Waits for I/O in flight.
    Closing,
    LastFlush,
    Ended,
}

pub(super) struct RunningClient {
    pub(super) program: Box<dyn Client + Send>,
    pub(super) base: u64,
    pub(super) depth: u32,
    pub(super) priority: Priority,
    pub(super) flow: Option<usize>,
    pub(super) state: ClientState,
    /// 0: none.
    pub(super) wake: u64,
    /// Bios in flight that it waits for.
    pub(super) in_flight: u32,
    /// Parts of the request being submitted that wait for a tag.
    pub(super) waiting_parts: u32,
    /// Completions while blocked: they make room once everything else is submitted.
    pub(super) unseen: u32,
    /// Time of the first of them.
    pub(super) first_unseen: Time,
    /// Write-back in flight.
    pub(super) dirty_bios: u32,
    pub(super) dirty_bytes: u64,
    /// The latest completion not yet passed to [`Client::next`].
    pub(super) last: Option<Completion>,
    pub(super) began: Time,
    pub(super) ended: Time,
    pub(super) totals: ClientTotals,
}

impl RunningClient {
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

    pub(super) fn has_room(&self, bytes: u32) -> bool {
        let fits =
            self.dirty_bytes + u64::from(bytes) <= DIRTY_BYTES && self.dirty_bios < DIRTY_BIOS;
        fits || self.dirty_bios == 0
    }

    pub(super) fn open(&self) -> u32 {
        self.in_flight + self.unseen
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.in_flight + self.dirty_bios > 0
    }
}
