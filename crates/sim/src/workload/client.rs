//! What a client is: a program that does I/O, reduced to its steps.

use elevator::{Completion, Request, Time};

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Hand this request over. With an iodepth above 1 the client may be called again before it
    /// completes.
    Io(Request),
    /// Start nothing for this many nanoseconds; what is in flight goes on.
    Think(u64),
    /// Start nothing until at most so many of the client's requests are in flight; at once where
    /// that is so.
    Await(u32),
    /// Wait until everything in flight has completed, then flush what was written to the medium.
    Sync,
    /// The client has finished; it must not be called again.
    End,
}

/// A program that does I/O, reduced to its steps.
pub trait Client {
    /// Returns the next step. `last` is the latest completion that was not passed to the client
    /// yet, None on the first call and where it is called again before anything completed.
    fn next(&mut self, now: Time, last: Option<&Completion>) -> Step;
}
