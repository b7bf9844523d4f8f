//! Threads that act at moments one interval apart.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cpu::Failure;
use crate::cpu::clock::{now_ns, sleep_until};
use crate::cpu::report::no_thread;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// With 1, no thread is created, for policies that forbid it.
    pub(crate) threads: u32,
    pub(crate) interval_ns: u64,
    pub(crate) duration_ns: u64,
}

impl Timing {
    /// Runs `work` in every thread with its moments, and returns the results and the start. The
    /// moments of the threads are spread over an interval.
    pub(crate) fn run<T: Send>(
        &self,
        stop: &AtomicBool,
        work: impl Fn(Moments<'_>) -> T + Sync,
    ) -> Result<(Vec<T>, u64), Failure> {
        let began = now_ns();
        let end = began.saturating_add(self.duration_ns);
        let interval = self.interval_ns;
        let work = &|i: u32| {
            let first = began + interval * u64::from(i) / u64::from(self.threads);
            work(Moments { next: first + interval, interval, missed: 0, end, stop })
        };
        let done = thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads)
                .map(|i| {
                    thread::Builder::new().spawn_scoped(scope, move || work(i)).map_err(no_thread)
                })
                .collect::<Result<_, _>>()
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            let mut done = vec![work(0)];
            done.extend(
                others.into_iter().map(|other| other.join().expect("a sleeper does not panic")),
            );
            Ok(done)
        })?;
        Ok((done, began))
    }
}

#[derive(Debug)]
pub(crate) struct Moments<'a> {
    next: u64,
    interval: u64,
    /// Moments that passed before the thread was ready for them.
    pub(crate) missed: u64,
    end: u64,
    stop: &'a AtomicBool,
}

impl Moments<'_> {
    /// Sleeps until the next moment. False when the time is over.
    pub(crate) fn sleep(&self) -> bool {
        let goes_on = self.next < self.end && !self.stop.load(Ordering::Relaxed);
        if goes_on {
            sleep_until(self.next);
        }
        goes_on
    }

    /// The time since the moment. Moments that have passed since then are missed.
    pub(crate) fn late(&mut self, now: u64) -> u64 {
        let late = now.saturating_sub(self.next);
        let passed = late / self.interval;
        self.missed += passed;
        self.next += (passed + 1) * self.interval;
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_wake_up_skips_the_moments_that_have_passed() {
        let stop = AtomicBool::new(false);
        let mut moments =
            Moments { next: 1000, interval: 100, missed: 0, end: u64::MAX, stop: &stop };
        let mut at = |now: u64| (moments.late(now), moments.next, moments.missed);
        assert_eq!(at(1001), (1, 1100, 0));
        assert_eq!(at(1199), (99, 1200, 0));
        assert_eq!(at(1550), (350, 1600, 3));
        assert_eq!(at(1700), (100, 1800, 4));
        assert_eq!(
            at(1799),
            (0, 1900, 4),
            "no clock goes back, and if it does nothing is counted twice"
        );
    }
}
