//! The phases of IOzone's throughput mode.

use std::fmt;

use elevator::Op;

/// A phase of IOzone's throughput mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Writes every record in order, into empty files on a file system.
    Write,
    /// Overwrites every record in order, after a first pass.
    Rewrite,
    /// Reads every record in order.
    Read,
    /// Reads every record in order, after a first pass of reads.
    Reread,
    /// Reads every record once in random order.
    RandRead,
    /// Writes every record once in random order.
    RandWrite,
}

impl Phase {
    /// All phases, in IOzone's order.
    pub const ALL: [Phase; 6] = [
        Phase::Write,
        Phase::Rewrite,
        Phase::Read,
        Phase::Reread,
        Phase::RandRead,
        Phase::RandWrite,
    ];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Write => "write",
            Phase::Rewrite => "rewrite",
            Phase::Read => "read",
            Phase::Reread => "reread",
            Phase::RandRead => "randread",
            Phase::RandWrite => "randwrite",
        }
    }

    /// The direction of its requests.
    pub fn op(self) -> Op {
        match self {
            Phase::Write | Phase::Rewrite | Phase::RandWrite => Op::Write,
            Phase::Read | Phase::Reread | Phase::RandRead => Op::Read,
        }
    }

    /// Whether records are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Phase::RandRead | Phase::RandWrite)
    }

    /// Whether an uncounted pass precedes it.
    pub fn repeats_a_pass(self) -> bool {
        matches!(self, Phase::Rewrite | Phase::Reread)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
