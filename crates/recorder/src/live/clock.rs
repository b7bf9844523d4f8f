//! A trace's clocks.
//!
//! Requests have CLOCK_MONOTONIC, processes' start times CLOCK_BOOTTIME. The wall clock is read
//! once.

use rustix::time::{ClockId, clock_gettime};

/// The start in nanoseconds of each clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    pub(crate) monotonic: u64,
    pub(crate) boot: u64,
    /// Since 1970.
    pub(crate) wall: u64,
}

impl Began {
    pub(crate) fn now() -> Began {
        Began {
            monotonic: monotonic(),
            boot: read(ClockId::Boottime),
            wall: read(ClockId::Realtime),
        }
    }
}

pub(crate) fn monotonic() -> u64 {
    read(ClockId::Monotonic)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
