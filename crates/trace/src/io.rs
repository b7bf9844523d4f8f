//! One request: what was asked of which disk, by whom, and when it reached each stage of the block
//! layer.
//!
//! Tools disagree on where the latency of a request begins. Here each stage has its own time, so
//! that a reader says which difference it means: [`Stage`] names them.

use serde::{Deserialize, Serialize};

/// Nanoseconds since the trace began, or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(u64);

impl At {
    /// The format or the kernel does not say.
    pub const UNKNOWN: At = At(u64::MAX);

    pub const fn ns(ns: u64) -> At {
        At(ns)
    }

    pub fn get(self) -> Option<u64> {
        (self != At::UNKNOWN).then_some(self.0)
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    Read,
    Write,
    /// A flush of the disk's cache without data.
    Flush,
    /// Discard, secure erase, write zeroes.
    Discard,
    /// Anything else: commands that pass through, zone management.
    Other,
}

impl Kind {
    /// All of them, in the order of their numbers in files.
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

/// The marks of a request beside its kind: a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// Somebody waits for it: every read but read-ahead, and writes of fsync and O_DIRECT.
    pub const SYNC: Flags = Flags(1);
    /// Metadata of a file system.
    pub const META: Flags = Flags(1 << 1);
    /// The data must be on the medium when it completes.
    pub const FUA: Flags = Flags(1 << 2);
    /// The cache is flushed first.
    pub const PREFLUSH: Flags = Flags(1 << 3);
    /// Read ahead of what was asked for.
    pub const AHEAD: Flags = Flags(1 << 4);
    /// Writeback in the background.
    pub const BACKGROUND: Flags = Flags(1 << 5);
    /// Preferred by a file system.
    pub const PRIO: Flags = Flags(1 << 6);
    /// Completed with an error.
    pub const FAILED: Flags = Flags(1 << 7);
    /// Inserted again after it was issued, because the disk or the driver would not take it.
    pub const REQUEUED: Flags = Flags(1 << 8);
    /// Swapped in or out.
    pub const SWAP: Flags = Flags(1 << 9);
    /// Went along in another's request: its later stages are that one's. In traces that have
    /// each bio that was asked for; where bios are counted in [`Io::bios`] instead, none has
    /// it.
    pub const MERGED: Flags = Flags(1 << 10);

    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One request to a disk. The stages in the order of a request's life; a later one that is known is
/// never before an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// A process handed it to the block layer (btt's Q).
    pub queued: u64,
    /// It got past a queue that may be frozen or throttled and began to wait for a tag.
    pub entered: At,
    /// It got a tag (btt's G).
    pub tagged: At,
    /// It entered the scheduler (btt's I).
    pub inserted: At,
    /// The disk's driver got it (btt's D).
    pub issued: At,
    /// It completed (btt's C).
    pub completed: At,
    /// First sector of 512 bytes, counted from the beginning of the whole disk.
    pub sector: u64,
    /// Its sectors; 0 for a flush.
    pub sectors: u32,
    /// Who asked: the index of a [`crate::Process`].
    pub process: u32,
    /// The index of a [`crate::Device`].
    pub device: u16,
    /// The scheduler in effect: an index of [`crate::Trace::schedulers`].
    pub scheduler: u8,
    pub kind: Kind,
    pub flags: Flags,
    /// As the kernel counts it: class << 13 | level; 0 is none.
    pub priority: u16,
    /// Bios that were merged into it; at least 1.
    pub bios: u16,
}

impl Io {
    /// A request of which nothing is known but what was asked.
    pub fn asked(queued: u64, kind: Kind, sector: u64, sectors: u32, process: u32) -> Io {
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

    /// The first sector behind it.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }

    /// From a stage to a later one, if both are known.
    pub fn between(&self, from: Stage, to: Stage) -> Option<u64> {
        Some(self.at(to)?.saturating_sub(self.at(from)?))
    }

    /// When it reached a stage.
    pub fn at(&self, stage: Stage) -> Option<u64> {
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

/// A stage of a request's life: see the fields of [`Io`].
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
            Io { issued: At::ns(30), completed: At::ns(75), ..Io::asked(10, Kind::Read, 8, 8, 0) };
        assert_eq!(io.between(Stage::Queued, Stage::Issued), Some(20));
        assert_eq!(io.between(Stage::Issued, Stage::Completed), Some(45));
        assert_eq!(io.between(Stage::Inserted, Stage::Issued), None);
        assert_eq!(io.end(), 16);
    }
}
