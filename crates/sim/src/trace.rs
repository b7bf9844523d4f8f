//! Every event of a simulated trial: for trace files, golden traces and checks.

use elevator::{Op, Time};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A client handed a bio over.
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
    /// A client received the completion of its bio.
    Done,
    /// The elevator's timer fired.
    Timer,
    /// The device received a flush of its cache, for the client that asked first and for all that
    /// asked with it.
    Flush,
    /// A client receives the completion of its flush; at once where there is nothing to flush.
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
    /// First sector of the bio or request.
    pub sector: u64,
    /// Its sectors.
    pub nr_sectors: u32,
}

/// Receives every event in order of time.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// Whether it uses events; if not, some of them are not made.
    #[inline]
    fn is_active(&self) -> bool {
        true
    }
}

/// Discards every event, without overhead.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    #[inline]
    fn event(&mut self, _event: &Event) {}

    #[inline]
    fn is_active(&self) -> bool {
        false
    }
}
