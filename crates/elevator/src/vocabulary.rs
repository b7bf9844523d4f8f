//! Time, operations, requests and completions, shared by clients, schedulers and devices.
//!
//! Integers only: a floating-point clock drifts, and runs of one seed would differ. 64 bits of
//! nanoseconds last 584 years.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, Sub};

/// The default rules, as 100 × major + minor.
pub(crate) const LINUX_VERSION: u64 = 612;
pub(crate) const NEWEST_LINUX: u64 = 703;
/// Since this version, the queue owns `async_depth`.
pub(crate) const LINUX_7: u64 = 700;

/// Time since the arena started: wall time on a real machine, otherwise virtual time.
///
/// Nanoseconds + 1, so that an optional time takes 8 bytes: requests, which are copied, have two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(NonZeroU64);

impl Time {
    pub const ZERO: Time = Time::from_ns(0);
    pub const MAX: Time = Time(NonZeroU64::MAX);

    #[inline]
    pub const fn from_ns(ns: u64) -> Time {
        Time(NonZeroU64::MIN.saturating_add(ns))
    }

    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0.get() - 1
    }
}

impl Default for Time {
    fn default() -> Time {
        Time::ZERO
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Time").field(&self.as_ns()).finish()
    }
}

impl Add<u64> for Time {
    type Output = Time;
    #[inline]
    fn add(self, ns: u64) -> Time {
        Time(self.0.saturating_add(ns))
    }
}

impl Sub for Time {
    type Output = u64;
    /// `earlier` must not exceed `self`.
    #[inline]
    fn sub(self, earlier: Time) -> u64 {
        self.as_ns().checked_sub(earlier.as_ns()).expect("time runs forward: later - earlier")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Op {
    #[default]
    Read,
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

/// A client's transfer, in bytes from the start of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    pub op: Op,
    pub offset: u64,
    /// Never 0.
    pub len: u32,
    /// None: at once.
    pub release: Option<Time>,
    /// None: unlimited.
    pub deadline: Option<Time>,
}

impl Request {
    pub const fn new(op: Op, offset: u64, len: u32) -> Request {
        Request { op, offset, len, release: None, deadline: None }
    }

    #[must_use]
    pub const fn due(self, deadline: Time) -> Request {
        Request { deadline: Some(deadline), ..self }
    }

    #[must_use]
    pub const fn released(self, release: Time) -> Request {
        Request { release: Some(release), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completion {
    pub request: Request,
    pub submitted: Time,
    /// When its result was known.
    pub completed: Time,
}

impl Completion {
    pub fn latency_ns(&self) -> u64 {
        self.completed - self.submitted
    }

    /// 0 if in time or without a deadline.
    pub fn tardiness_ns(&self) -> u64 {
        let due = self.request.deadline.unwrap_or(self.completed);
        self.completed.as_ns().saturating_sub(due.as_ns())
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
