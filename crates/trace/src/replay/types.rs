//! Options of a replay, and its requests.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopMode {
    #[default]
    Open,
    /// After their inferred dependencies.
    Closed,
}

impl LoopMode {
    pub fn name(self) -> &'static str {
        match self {
            LoopMode::Open => "open",
            LoopMode::Closed => "closed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    pub loop_mode: LoopMode,
    /// Name or numbers like 8,0; or `all`. By default the disk of a kernel with the first request,
    /// or all files and volumes.
    pub device: Option<String>,
    pub reads_only: bool,
    /// Length of a representative part.
    pub part_ns: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplayError(pub(super) String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Recorded,
    /// The later of its client's latest completion and latest request.
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds from `start`.
    pub wait_ns: u64,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes; never 0.
    pub len: u32,
    /// Its number in the trace, from 1.
    pub number: u32,
    /// Maximum open requests of its client.
    pub open: u16,
    pub start: Start,
    pub is_write: bool,
}
