//! State shared by clients and the calling thread: clock, start, and stop flag.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use machine::now_ns;
use rustix::time::ClockId;

/// Between checks of the stop flag.
const NAP_NS: u64 = 20_000_000;

#[derive(Debug, Default)]
pub(super) struct Shared {
    start: OnceLock<u64>,
    gate: Mutex<bool>,
    opened: Condvar,
    stop: AtomicBool,
}

impl Shared {
    #[inline]
    pub(super) fn now(&self) -> u64 {
        monotonic_ns() - self.start.get().expect("the start is set before the gate opens")
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Starts the clock at a point that has just passed, or now. Releases present and future
    /// clients.
    pub(super) fn open_gate(&self, start_ns: Option<u64>) {
        self.start.set(start_ns.unwrap_or_else(monotonic_ns)).expect("a pass starts once");
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Sleeps in short steps to notice a stop, at most to the end of the window; returns the time.
    pub(super) fn sleep_until(&self, wake: u64, close: u64) -> u64 {
        let until = wake.min(close);
        loop {
            let now = self.now();
            if now >= until || self.is_stopped() {
                return now;
            }
            thread::sleep(Duration::from_nanos((until - now).min(NAP_NS)));
        }
    }

    pub(super) fn wait_at_gate(&self) {
        let open = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(open, |open| !*open));
    }
}

#[derive(Debug)]
pub(super) struct Gate {
    /// On the monotonic clock; 0: immediately.
    start_ns: AtomicU64,
    late_ns: AtomicU64,
}

impl Gate {
    pub(super) fn at_once() -> Gate {
        Gate::at(0)
    }

    pub(super) fn at(start_ns: u64) -> Gate {
        Gate { start_ns: AtomicU64::new(start_ns), late_ns: AtomicU64::new(0) }
    }

    pub(super) fn late_ns(&self) -> u64 {
        self.late_ns.load(Ordering::Relaxed)
    }

    /// `None`: the pass begins immediately.
    pub(super) fn wait(&self, stop: &AtomicBool) -> Option<u64> {
        let start_ns = self.start_ns.swap(0, Ordering::Relaxed);
        if start_ns == 0 {
            return None;
        }
        self.late_ns.store(monotonic_ns().saturating_sub(start_ns), Ordering::Relaxed);
        loop {
            let left = start_ns.saturating_sub(monotonic_ns());
            match left {
                0 => return Some(start_ns),
                // A pass stopped before its start begins now, because its clock does not run
                // backwards.
                _ if stop.load(Ordering::Relaxed) => return None,
                _ => thread::sleep(Duration::from_nanos(left.min(NAP_NS))),
            }
        }
    }
}

/// std's `Instant` costs as much as the rest of a step.
#[inline]
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}
