//! Events of a simulated trial, for trace files, golden traces and checks.

use elevator::{Op, Time};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A client submitted a bio.
    Submit,
    /// A bio, or part of it, joined a request.
    Merge,
    /// A bio became a request and was inserted into the elevator.
    Insert,
    /// A bio found no free request and waits.
    Wait,
    /// The device received a request.
    Issue,
    /// The device finished a request.
    Complete,
    /// A client received the completion of its bio.
    Done,
    /// The elevator's timer fired.
    Timer,
    /// The device received a flush, for the first client and those that joined it.
    Flush,
    /// A client receives its flush's completion; at once if there is nothing to flush.
    Flushed,
    /// A client has finished its work.
    Exit,
}

impl EventKind {
    /// Every kind, in order of occurrence.
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

    /// The name in trace files.
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

/// An event. Fields that do not apply to its kind are 0 or `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// What.
    pub kind: EventKind,
    /// The client; `None` for timers.
    pub process: Option<u32>,
    /// The request's tag, if it has one.
    pub tag: Option<u32>,
    /// Direction.
    pub op: Option<Op>,
    /// First sector of the bio or request.
    pub sector: u64,
    /// Length in sectors.
    pub nr_sectors: u32,
}

/// Receives every event in order of time.
pub trait Observer {
    /// Handles one event.
    fn event(&mut self, event: &Event);

    /// Whether it uses events; if not, some are not generated.
    #[inline]
    fn is_active(&self) -> bool {
        true
    }
}

/// Discards every event at no cost.
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
