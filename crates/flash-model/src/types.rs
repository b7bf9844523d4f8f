//! The contents of a flash device: commands, pages in flight to the medium, and events.

use crate::dies::Priority;
use crate::ftl::{Collected, MAX_UNITS, UNIT_BYTES};

pub const SECTOR_BYTES: u64 = 512;
pub const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
}

/// A command of one of the queues in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Returned on completion.
    pub tag: u32,
    pub op: Op,
    pub sector: u64,
    pub nr_sectors: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub tag: u32,
    pub is_flush: bool,
    /// When it happened.
    pub ns: u64,
}

/// Counters since the device was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub transfers: u64,
    pub bytes: u64,
    /// Nanoseconds with at least one command inside.
    pub busy_ns: u64,
    pub cached_writes: u64,
    pub moved_pages: u64,
    pub erases: u64,
    pub programs: u64,
    pub suspends: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub queue_depth: u32,
    pub queues: u32,
    /// Commands in service over all queues; the rest wait.
    pub command_slots: u32,
    pub early_completion: bool,
    pub buffer_units: u64,
    /// `None`: dies serve in order of arrival.
    pub priority: Option<Priority>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Inside {
    pub(crate) tag: u32,
    pub(crate) queue: u32,
    pub(crate) sector: u64,
    pub(crate) nr: u64,
    /// Remaining pages of a read or units of a write.
    pub(crate) left: u32,
}

impl Inside {
    pub(crate) fn units(&self) -> core::ops::Range<u64> {
        self.sector / UNIT_SECTORS..(self.sector + self.nr).div_ceil(UNIT_SECTORS)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) number: u64,
    pub(crate) plane: u32,
    pub(crate) units: u32,
    pub(crate) collected: Collected,
    pub(crate) slots: [u32; MAX_UNITS],
}

/// `Carried` is over a channel; `Die` is stale if its operation was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Begin { slot: u32 },
    Sensed { slot: u32, channel: u32, bytes: u64 },
    Carried { slot: u32, bytes: u64 },
    Arrived { slot: u32 },
    Filled { slot: u32 },
    AtDie { program: u32 },
    Programmed { program: u32 },
    Die { die: u32, number: u64 },
    Done { tag: u32, queue: Option<u32> },
}
