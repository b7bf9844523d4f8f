//! What clients and the calling thread have in common: the clock, the gate, and the word to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use rustix::time::{ClockId, clock_gettime};

/// What clients and the calling thread have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The monotonic clock at the start, in nanoseconds.
    start: OnceLock<u64>,
    gate: Mutex<bool>,
    opened: Condvar,
    stop: AtomicBool,
}

impl Shared {
    /// Nanoseconds since the start.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        monotonic_ns() - self.start.get().expect("the start is set before the gate opens")
    }

    /// Whether clients must end.
    #[inline]
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Starts the clock and lets everybody go who waits at the gate, or comes later.
    pub(super) fn open_gate(&self) {
        self.start.set(monotonic_ns()).expect("a pass starts once");
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    pub(super) fn wait_at_gate(&self) {
        let open = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(open, |open| !*open));
    }
}

/// The clock that std's `Instant` reads too, as one number: its checked seconds and nanoseconds cost as much as the rest of a step.
#[inline]
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
