//! What is inside a flash device: commands, pages on their way to the medium, and what happens
//! next.

use elevator::SECTOR_BYTES;

use super::dies::Priority;
use super::ftl::{Collected, MAX_UNITS, UNIT_BYTES};

/// Sectors of a mapping unit.
pub(super) const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

/// What the device is to its host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// Commands of each queue.
    pub(super) queue_depth: u32,
    /// Queues that it offers.
    pub(super) queues: u32,
    /// Commands that it works on at once, of all queues; the others stay in their queues.
    pub(super) command_slots: u32,
    pub(super) early_completion: bool,
    pub(super) buffer_units: u64,
    pub(super) trial_ms: u64,
    /// How dies prefer reads; None: they serve in order of arrival.
    pub(super) priority: Option<Priority>,
}

/// A command inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inside {
    pub(super) tag: u32,
    pub(super) queue: u32,
    pub(super) sector: u64,
    pub(super) nr: u64,
    /// Pages (of a read) or units (of a write) to go.
    pub(super) left: u32,
}

impl Inside {
    /// The units that it touches.
    pub(super) fn units(&self) -> std::ops::Range<u64> {
        self.sector / UNIT_SECTORS..(self.sector + self.nr).div_ceil(UNIT_SECTORS)
    }
}

/// A page on its way to the medium.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) number: u64,
    pub(super) plane: u32,
    pub(super) units: u32,
    pub(super) collected: Collected,
    /// The commands that wait for its units.
    pub(super) slots: [u32; MAX_UNITS],
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A read's overhead is over.
    Begin { slot: u32 },
    /// A page is in the register of its die.
    Sensed { slot: u32, channel: u32, bytes: u64 },
    /// It has come over its channel.
    Carried { slot: u32, bytes: u64 },
    /// A page of a read has arrived at the host.
    Arrived { slot: u32 },
    /// A write's data are in the buffer.
    Filled { slot: u32 },
    /// A page of data is at its die.
    AtDie { program: u32 },
    /// It is programmed.
    Programmed { program: u32 },
    /// A die that prefers reads has finished something, unless that was suspended since.
    Die { die: u32, number: u64 },
    /// A command is done; a transfer's queue.
    Done { tag: u32, queue: Option<u32> },
}
