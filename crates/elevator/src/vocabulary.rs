//! Time, operations, requests and completions: the values that clients, schedulers and devices
//! exchange.
//!
//! Integers only. A float clock drifts and makes two runs of one seed differ; nanoseconds in 64
//! bits last 584 years.

use std::fmt;
use std::ops::{Add, Sub};

/// The version of Linux, as 100 × major + minor, whose rules a blk-mq scheduler has by default.
pub(crate) const LINUX_VERSION: u64 = 612;

/// A point in time, in nanoseconds since the arena started; wall time on a real machine, virtual
/// time elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start of an arena's clock.
    pub const ZERO: Time = Time(0);

    /// The time `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
}

impl Add<u64> for Time {
    type Output = Time;
    /// Moves forward by `ns` nanoseconds.
    fn add(self, ns: u64) -> Time {
        Time(self.0 + ns)
    }
}

impl Sub for Time {
    type Output = u64;
    /// The nanoseconds from `earlier` to `self`; an earlier time than `earlier` is a caller's
    /// error.
    fn sub(self, earlier: Time) -> u64 {
        self.0.checked_sub(earlier.0).expect("time runs forward: the later time stands on the left")
    }
}

/// What a request does to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Transfers from the device to memory.
    Read,
    /// Transfers from memory to the device.
    Write,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Read => "read",
            Op::Write => "write",
        })
    }
}

/// A transfer of a client, addressed in bytes from the start of the client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Direction.
    pub op: Op,
    /// First byte, from the start of the file or region that the client was given.
    pub offset: u64,
    /// Length in bytes, never 0.
    pub len: u32,
    /// When it may be served at the earliest; None: at once.
    pub release: Option<Time>,
    /// When it must have completed; None: never.
    pub deadline: Option<Time>,
}

impl Request {
    /// A transfer without a release time or a deadline.
    pub const fn new(op: Op, offset: u64, len: u32) -> Request {
        Request { op, offset, len, release: None, deadline: None }
    }

    /// The same request, which must have completed at `deadline`.
    #[must_use]
    pub const fn due(self, deadline: Time) -> Request {
        Request { deadline: Some(deadline), ..self }
    }

    /// The same request, which must not be served before `release`.
    #[must_use]
    pub const fn released(self, release: Time) -> Request {
        Request { release: Some(release), ..self }
    }
}

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The request that ended.
    pub request: Request,
    /// When the client handed it over.
    pub submitted: Time,
    /// When its result was known.
    pub completed: Time,
}

impl Completion {
    /// Nanoseconds from submission to completion.
    pub fn latency_ns(&self) -> u64 {
        self.completed - self.submitted
    }

    /// Nanoseconds from the deadline to the completion; 0 if it was in time or has no deadline.
    pub fn tardiness_ns(&self) -> u64 {
        self.request
            .deadline
            .map_or(0, |deadline| self.completed.as_ns().saturating_sub(deadline.as_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_the_time_between_submission_and_completion() {
        let request = Request::new(Op::Read, 0, 4096);
        let done =
            Completion { request, submitted: Time::from_ns(5), completed: Time::from_ns(5) + 37 };
        assert_eq!(done.latency_ns(), 37);
    }

    #[test]
    #[should_panic(expected = "time runs forward")]
    fn a_difference_into_the_past_is_a_callers_error() {
        let _ = Time::ZERO - Time::from_ns(1);
    }
}
