//! One request: disk, process, and the time of each stage in the block layer.
//!
//! Tools disagree on where a request's latency begins. Here each stage has its own time
//! ([`Stage`]), so every latency names its difference.

use serde::{Deserialize, Serialize};

/// Nanoseconds since the trace began, or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(u64);

impl At {
    /// Not provided by the format or the kernel.
    pub const UNKNOWN: At = At(u64::MAX);

    pub const fn ns(ns: u64) -> At {
        At(ns)
    }

    pub fn get(self) -> Option<u64> {
        (self != At::UNKNOWN).then_some(self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    Read,
    Write,
    /// A cache flush without data.
    Flush,
    /// Discard, secure erase, write zeroes.
    Discard,
    /// Anything else: passthrough commands, zone management.
    Other,
}

impl Kind {
    /// In the order of their numbers in files.
    pub const ALL: [Kind; 5] = [Kind::Read, Kind::Write, Kind::Flush, Kind::Discard, Kind::Other];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Flush => "flush",
            Kind::Discard => "discard",
            Kind::Other => "other",
        }
    }
}

/// A request's flags, a bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// Synchronous: every read except read-ahead, and writes of fsync and O_DIRECT.
    pub const SYNC: Flags = Flags(1);
    /// File system metadata.
    pub const META: Flags = Flags(1 << 1);
    /// The data must be on the medium at completion.
    pub const FUA: Flags = Flags(1 << 2);
    /// The cache is flushed first.
    pub const PREFLUSH: Flags = Flags(1 << 3);
    pub const AHEAD: Flags = Flags(1 << 4);
    /// Background writeback.
    pub const BACKGROUND: Flags = Flags(1 << 5);
    /// Preferred by a file system.
    pub const PRIO: Flags = Flags(1 << 6);
    pub const FAILED: Flags = Flags(1 << 7);
    /// Requeued after issue, because the disk or driver did not accept it.
    pub const REQUEUED: Flags = Flags(1 << 8);
    pub const SWAP: Flags = Flags(1 << 9);
    /// Merged into another's request, with that one's later stages. Only in traces with one record
    /// per bio; others count bios in [`Io::bios`].
    pub const MERGED: Flags = Flags(1 << 10);

    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One request to a disk. Stages are in chronological order; a known later one is never before an
/// earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Submitted to the block layer by a process (btt's Q).
    pub queued: u64,
    /// Passed a possibly frozen or throttled queue and began to wait for a tag.
    pub entered: At,
    /// Got a tag (btt's G).
    pub tagged: At,
    /// Entered the scheduler (btt's I).
    pub inserted: At,
    /// Issued to the driver (btt's D).
    pub issued: At,
    /// Completed (btt's C).
    pub completed: At,
    /// First sector of 512 bytes, from the start of the whole disk.
    pub sector: u64,
    /// Length in sectors; 0 for a flush.
    pub sectors: u32,
    pub process: u32,
    pub device: u16,
    /// Index of [`crate::Trace::schedulers`].
    pub scheduler: u8,
    pub kind: Kind,
    pub flags: Flags,
    /// In the kernel's encoding: class << 13 | level; 0 is none.
    pub priority: u16,
    /// Number of bios, at least 1.
    pub bios: u16,
}

impl Io {
    pub fn new(queued: u64, kind: Kind, sector: u64, sectors: u32, process: u32) -> Io {
        Io {
            queued,
            entered: At::UNKNOWN,
            tagged: At::UNKNOWN,
            inserted: At::UNKNOWN,
            issued: At::UNKNOWN,
            completed: At::UNKNOWN,
            sector,
            sectors,
            process,
            device: 0,
            scheduler: 0,
            kind,
            flags: Flags::default(),
            priority: 0,
            bios: 1,
        }
    }

    pub fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }

    pub fn elapsed(&self, from: Stage, to: Stage) -> Option<u64> {
        Some(self.time_of(to)?.saturating_sub(self.time_of(from)?))
    }

    pub fn time_of(&self, stage: Stage) -> Option<u64> {
        match stage {
            Stage::Queued => Some(self.queued),
            Stage::Entered => self.entered.get(),
            Stage::Tagged => self.tagged.get(),
            Stage::Inserted => self.inserted.get(),
            Stage::Issued => self.issued.get(),
            Stage::Completed => self.completed.get(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Queued,
    Entered,
    Tagged,
    Inserted,
    Issued,
    Completed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_is_unknown_gives_no_time_between() {
        let io =
            Io { issued: At::ns(30), completed: At::ns(75), ..Io::new(10, Kind::Read, 8, 8, 0) };
        assert_eq!(io.elapsed(Stage::Queued, Stage::Issued), Some(20));
        assert_eq!(io.elapsed(Stage::Issued, Stage::Completed), Some(45));
        assert_eq!(io.elapsed(Stage::Inserted, Stage::Issued), None);
        assert_eq!(io.end(), 16);
    }
}
