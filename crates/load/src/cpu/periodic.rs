//! Threads that act at moments one interval apart.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::thread::set_current_timer_slack;

use crate::cpu::clock::{compute, now_ns, run_periodic, sleep_until};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, report};
use crate::cpu::report::no_thread;
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// With 1, no thread is created, for policies that forbid it.
    pub(crate) threads: u32,
    pub(crate) interval_ns: u64,
    pub(crate) duration_ns: u64,
}

impl Timing {
    /// Computes for `work_ns` at every moment of every thread. Latencies end after it. The threads'
    /// moments are spread over an interval. Also returns the number of missed moments.
    pub(crate) fn measure(
        &self,
        names: &Names,
        stop: &AtomicBool,
        work_ns: u64,
    ) -> Result<(Report, u64), Failure> {
        let began = now_ns();
        let end = began.saturating_add(self.duration_ns);
        let interval = self.interval_ns;
        let one = &|i: u32| {
            let first = began + interval * u64::from(i) / u64::from(self.threads);
            let moments = Moments { next: first + interval, interval, missed: 0, left: 0 };
            thread_of(moments, end, stop, work_ns)
        };
        let seen = thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads)
                .map(|i| {
                    thread::Builder::new().spawn_scoped(scope, move || one(i)).map_err(no_thread)
                })
                .collect::<Result<_, _>>()
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            let mut seen = vec![one(0)];
            seen.extend(
                others.into_iter().map(|other| other.join().expect("a sleeper does not panic")),
            );
            Ok(seen)
        })?;
        let missed = seen.iter().map(|(.., missed)| missed).sum();
        let seen = seen.into_iter().map(|(latencies, counted, _)| (latencies, counted)).collect();
        Ok((report(names, now_ns() - began, seen), missed))
    }
}

/// Returns latencies, counters and missed moments.
fn thread_of(
    mut moments: Moments,
    end: u64,
    stop: &AtomicBool,
    work_ns: u64,
) -> (Latencies, Counted, u64) {
    // Fails only without timer slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut latencies = Latencies::new();
    let before = Counted::read(OWN);
    while moments.next < end && !stop.load(Ordering::Relaxed) {
        if let Some(late) = run_periodic(&mut moments, work_ns, end) {
            late.for_each(|ns| latencies.record(ns));
            continue;
        }
        sleep_until(moments.next);
        if work_ns > 0 {
            compute(work_ns);
        }
        latencies.record(moments.late(now_ns()));
    }
    (latencies, Counted::read(OWN).since(&before), moments.missed)
}

#[derive(Debug)]
pub(super) struct Moments {
    pub(super) next: u64,
    pub(super) interval: u64,
    /// Moments that passed before the thread was ready for them.
    pub(super) missed: u64,
    /// Computing that is left of the last moment, in virtual time.
    pub(super) left: u64,
}

impl Moments {
    /// The time since the moment. Moments that have passed since then are missed.
    fn late(&mut self, now: u64) -> u64 {
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
        let mut moments = Moments { next: 1000, interval: 100, missed: 0, left: 0 };
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
