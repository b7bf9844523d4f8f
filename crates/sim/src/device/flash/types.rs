//! The contents of a flash device: commands, pages in flight to the medium, and events.

use elevator::SECTOR_BYTES;

use super::dies::Priority;
use super::ftl::{Collected, MAX_UNITS, UNIT_BYTES};

pub(super) const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// Commands per queue.
    pub(super) queue_depth: u32,
    pub(super) queues: u32,
    /// Commands worked on at once, over all queues.
    pub(super) command_slots: u32,
    pub(super) early_completion: bool,
    pub(super) buffer_units: u64,
    pub(super) trial_ms: u64,
    /// `None`: dies serve in order of arrival.
    pub(super) priority: Option<Priority>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Inside {
    pub(super) tag: u32,
    pub(super) queue: u32,
    pub(super) sector: u64,
    pub(super) nr: u64,
    /// Remaining pages of a read or units of a write.
    pub(super) left: u32,
}

impl Inside {
    pub(super) fn units(&self) -> std::ops::Range<u64> {
        self.sector / UNIT_SECTORS..(self.sector + self.nr).div_ceil(UNIT_SECTORS)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) number: u64,
    pub(super) plane: u32,
    pub(super) units: u32,
    pub(super) collected: Collected,
    /// The commands that wait for its units.
    pub(super) slots: [u32; MAX_UNITS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A read's overhead is over.
    Begin { slot: u32 },
    /// A page is in its die's register.
    Sensed { slot: u32, channel: u32, bytes: u64 },
    /// A page has crossed its channel.
    Carried { slot: u32, bytes: u64 },
    /// A page of a read has arrived at the host.
    Arrived { slot: u32 },
    /// A write's data are in the buffer.
    Filled { slot: u32 },
    /// A page of data is at its die.
    AtDie { program: u32 },
    /// A page is programmed.
    Programmed { program: u32 },
    /// A read-preferring die has finished an operation, unless that was suspended.
    Die { die: u32, number: u64 },
    /// A command is done; `queue` is a transfer's.
    Done { tag: u32, queue: Option<u32> },
}
