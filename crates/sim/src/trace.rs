//! Every event of a simulated trial, for whoever wants to see them: trace files, golden traces, checks.

use elevator::{Op, Time};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A client handed a piece of I/O over.
    Submit,
    /// It, or a part of it, joined a request that was there.
    Merge,
    /// It became a request and was inserted into the elevator.
    Insert,
    /// It found no free request and waits.
    Wait,
    /// The device got a request.
    Issue,
    /// The device finished a request.
    Complete,
    /// A client heard that its piece is done.
    Done,
    /// The elevator's timer fired.
    Timer,
    /// The device was told to flush its cache, for the client that asked first and for all who asked with it.
    Flush,
    /// A client hears that what it wrote is safe: once for each that a flush was for, or at once where there is nothing to flush.
    Flushed,
    /// A client has done its work.
    Exit,
}

impl EventKind {
    /// Every kind, in the order of their life.
    pub const ALL: [EventKind; 11] = [
        EventKind::Submit,
        EventKind::Merge,
        EventKind::Insert,
        EventKind::Wait,
        EventKind::Issue,
        EventKind::Complete,
        EventKind::Done,
        EventKind::Timer,
        EventKind::Flush,
        EventKind::Flushed,
        EventKind::Exit,
    ];

    /// The word in trace files.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Submit => "submit",
            EventKind::Merge => "merge",
            EventKind::Insert => "insert",
            EventKind::Wait => "wait",
            EventKind::Issue => "issue",
            EventKind::Complete => "complete",
            EventKind::Done => "done",
            EventKind::Timer => "timer",
            EventKind::Flush => "flush",
            EventKind::Flushed => "flushed",
            EventKind::Exit => "exit",
        }
    }
}

/// Something that happened at a point in time. Fields that do not apply to a kind are 0 or None.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// What.
    pub kind: EventKind,
    /// The client (process) behind it; None for timers.
    pub process: Option<u32>,
    /// The request's tag; None where there is no request yet.
    pub tag: Option<u32>,
    /// Direction.
    pub op: Option<Op>,
    /// First sector of the piece or request.
    pub sector: u64,
    /// Its sectors.
    pub nr_sectors: u32,
}

/// Hears every event in order of time.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// Whether it listens at all. One that does not may be spared events.
    #[inline]
    fn hears(&self) -> bool {
        true
    }
}

/// Nobody listens: costs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    #[inline]
    fn event(&mut self, _event: &Event) {}

    #[inline]
    fn hears(&self) -> bool {
        false
    }
}
