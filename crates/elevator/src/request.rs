//! A request of the block layer: sectors, process, priority.
//!
//! A client asks in bytes of its own file ([`crate::Request`]); by the time a scheduler sees the
//! request it has an absolute position on the disk, a process behind it, and a tag. The tag is
//! small, dense and reused, so that schedulers can keep what they know of a request in plain
//! tables.

use std::fmt;

use crate::vocabulary::{Op, Time};

/// Bytes of a sector, everywhere.
pub const SECTOR_BYTES: u64 = 512;

/// The class of an I/O priority, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PrioClass {
    /// Before everybody else.
    RealTime,
    /// The usual class.
    #[default]
    BestEffort,
    /// Served only when no other class has requests.
    Idle,
}

/// An I/O priority (ioprio): a class and a level from 0, the most urgent, to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    /// The class.
    pub class: PrioClass,
    /// The level within the class, 0 to 7.
    pub level: u8,
}

impl Priority {
    /// Reads `idle`, `best-effort:LEVEL` or `realtime:LEVEL`.
    pub fn parse(text: &str) -> Option<Priority> {
        if text == "idle" {
            return Some(Priority { class: PrioClass::Idle, level: 0 });
        }
        let (class, level) = text.split_once(':')?;
        let class = match class {
            "realtime" => PrioClass::RealTime,
            "best-effort" => PrioClass::BestEffort,
            _ => return None,
        };
        let level = level.parse().ok().filter(|level| *level <= 7)?;
        Some(Priority { class, level })
    }

    /// The kernel's number: the class in the bits from 13 on, the level in the lower ones; the idle
    /// class has no levels.
    pub fn number(self) -> u16 {
        let class = match self.class {
            PrioClass::RealTime => 1,
            PrioClass::BestEffort => 2,
            PrioClass::Idle => return 3 << 13,
        };
        (class << 13) | u16::from(self.level)
    }
}

impl fmt::Display for Priority {
    /// As [`Priority::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            PrioClass::RealTime => write!(f, "realtime:{}", self.level),
            PrioClass::BestEffort => write!(f, "best-effort:{}", self.level),
            PrioClass::Idle => f.write_str("idle"),
        }
    }
}

impl Default for Priority {
    /// Best effort, level 4: what a process has that never asked for anything else.
    fn default() -> Priority {
        Priority { class: PrioClass::BestEffort, level: 4 }
    }
}

/// A request in the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRequest {
    /// Its tag: unique among the requests that exist at one time, below the number of tags, reused
    /// afterwards.
    pub tag: u32,
    /// Number of requests created before it: unique, ascending in order of arrival.
    pub seq: u64,
    /// The process (I/O context) that issues it; dense, from 0.
    pub process: u32,
    /// Direction.
    pub op: Op,
    /// First sector, absolute.
    pub sector: u64,
    /// Length in sectors, never 0.
    pub nr_sectors: u32,
    /// Whether somebody waits for it: every read, and writes with the sync flag (direct I/O,
    /// fsync).
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// Its process's I/O priority.
    pub priority: Priority,
    /// When it was allocated: handed to the queue.
    pub allocated: Time,
    /// When it may be dispatched at the earliest; None: at once. Only schedulers that plan a whole
    /// task set ([`crate::Features::takes_unreleased`]) get a request before that time.
    pub release: Option<Time>,
    /// When it must have completed, for real-time schedulers; None: never.
    pub deadline: Option<Time>,
}

impl BlockRequest {
    /// The sector after its last one.
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.nr_sectors)
    }

    /// Whether it may be dispatched.
    pub fn is_released(&self, now: Time) -> bool {
        self.release.is_none_or(|release| release <= now)
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.nr_sectors) * SECTOR_BYTES
    }
}

/// A request that the device has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The request, as it was dispatched.
    pub request: BlockRequest,
    /// When the device got it.
    pub issued: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_read_as_it_is_written_and_has_the_kernels_number() {
        for (text, number) in
            [("realtime:0", 1 << 13), ("best-effort:7", (2 << 13) | 7), ("idle", 3 << 13)]
        {
            let read = Priority::parse(text).unwrap();
            assert_eq!((read.to_string().as_str(), read.number()), (text, number));
        }
        assert_eq!(Priority::default().to_string(), "best-effort:4");
        for wrong in ["", "idle:3", "rt:1", "realtime", "realtime:8", "best-effort:-1"] {
            assert_eq!(Priority::parse(wrong), None, "{wrong}");
        }
    }
}
