//! The monotonic clock in nanoseconds, which threads and processes can share.

use std::hint::black_box;

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

/// Between checks of `stop`.
pub(crate) const SLICE_NS: u64 = 20_000_000;

pub(crate) fn now_ns() -> u64 {
    machine::now_ns(ClockId::Monotonic)
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Signals do not interrupt it.
pub(crate) fn sleep_until(ns: u64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ns))
        == Err(rustix::io::Errno::INTR)
    {}
}

pub(crate) fn compute(ns: u64) {
    let end = now_ns() + ns;
    let mut x = 1u64;
    while now_ns() < end {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
