//! The contents of a flash device: commands, pages in flight to the medium, and events.

use elevator::SECTOR_BYTES;

use super::dies::Priority;
use super::ftl::{Collected, MAX_UNITS, UNIT_BYTES};

pub(super) const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) queue_depth: u32,
    pub(super) queues: u32,
    /// Commands in service over all queues; the rest wait.
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
    pub(super) slots: [u32; MAX_UNITS],
}

/// `Carried` is over a channel; `Die` is stale if its operation was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
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
