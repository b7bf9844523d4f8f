//! The client: a program that does I/O, reduced to its steps.

use elevator::{Completion, Request, Time};

/// A client's next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// With an iodepth above 1 the client may be called again before completion.
    Io(Request),
    /// Start nothing for this many nanoseconds; I/O in flight continues.
    Think(u64),
    /// Start nothing until at most this many of the client's requests are in flight.
    Await(u32),
    /// Wait for everything in flight, then flush to the medium.
    Sync,
    /// The client has finished and must not be called again.
    End,
}

/// A program that does I/O, reduced to its steps.
pub trait Client {
    /// `last` is the latest completion not yet passed to the client.
    fn next(&mut self, now: Time, last: Option<&Completion>) -> Step;
}
