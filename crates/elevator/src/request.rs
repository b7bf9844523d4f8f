//! A block-layer request: sectors, process, priority.
//!
//! Clients address bytes of a file ([`crate::Request`]). A scheduler's request has an
//! absolute position, a process and a tag. Tags are small, dense and reused, so that schedulers can
//! index tables by them.

use std::fmt;

use crate::vocabulary::{Op, Time};

pub const SECTOR_BYTES: u64 = 512;

/// Most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PrioClass {
    RealTime,
    #[default]
    BestEffort,
    /// Served only when all other classes are empty.
    Idle,
}

/// ioprio: a class, and a level from 0 (most urgent) to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    pub class: PrioClass,
    /// 0 to 7.
    pub level: u8,
}

impl Priority {
    /// Parses `idle`, `best-effort:LEVEL` or `realtime:LEVEL`.
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

    /// Class from bit 13 up, level below; the idle class has no levels.
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            PrioClass::RealTime => write!(f, "realtime:{}", self.level),
            PrioClass::BestEffort => write!(f, "best-effort:{}", self.level),
            PrioClass::Idle => f.write_str("idle"),
        }
    }
}

impl Default for Priority {
    /// Best effort, level 4.
    fn default() -> Priority {
        Priority { class: PrioClass::BestEffort, level: 4 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockRequest {
    /// Unique among existing requests, below the number of tags, and reused.
    pub tag: u32,
    /// Ascending by arrival, unique.
    pub seq: u64,
    /// The I/O context; dense, from 0.
    pub process: u32,
    pub op: Op,
    /// Absolute.
    pub sector: u64,
    /// In sectors, never 0.
    pub nr_sectors: u32,
    /// Whether a process waits: all reads, and writes with the sync flag (direct I/O, fsync).
    pub sync: bool,
    /// File system metadata.
    pub meta: bool,
    pub priority: Priority,
    /// Submission to the queue.
    pub allocated: Time,
    /// None: at once. Only schedulers that plan a task set ([`crate::Features::takes_unreleased`])
    /// get a request earlier.
    pub release: Option<Time>,
    /// None: unlimited.
    pub deadline: Option<Time>,
}

impl BlockRequest {
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.nr_sectors)
    }

    pub fn is_released(&self, now: Time) -> bool {
        self.release.is_none_or(|release| release <= now)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.nr_sectors) * SECTOR_BYTES
    }
}

/// The sectors of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) tag: u32,
    pub(crate) sector: u64,
    pub(crate) end: u64,
}

impl From<&BlockRequest> for Extent {
    fn from(request: &BlockRequest) -> Extent {
        Extent { tag: request.tag, sector: request.sector, end: request.end() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Finished {
    pub request: BlockRequest,
    /// To the device.
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
