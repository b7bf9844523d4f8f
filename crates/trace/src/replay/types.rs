//! What is replayed and how, and what a request is.

/// When requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopMode {
    /// At their recorded times.
    #[default]
    Open,
    /// After what they were found to have waited for.
    Closed,
}

impl LoopMode {
    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LoopMode::Open => "open",
            LoopMode::Closed => "closed",
        }
    }
}

/// What of a trace is replayed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    pub loop_mode: LoopMode,
    /// One disk alone, by its name or its numbers, like 8,0; or all. Where nothing is said: of the
    /// disks of a kernel the one with the first request, of files and volumes all.
    pub device: Option<String>,
    /// Writes are left out.
    pub reads_only: bool,
    /// So long a part that stands for the whole.
    pub part_ns: Option<u64>,
}

/// Why a trace cannot be replayed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplayError(pub(super) String);

/// What a request begins after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// So long after the replay began.
    Recorded,
    /// So long after the later of its client's latest completion and latest request.
    Answer,
}

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds, from what `start` says.
    pub wait_ns: u64,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes; never 0.
    pub len: u32,
    /// Which request of the trace it is, from 1.
    pub number: u32,
    /// Requests of its client that may be open when it is made.
    pub open: u16,
    pub start: Start,
    pub is_write: bool,
}
