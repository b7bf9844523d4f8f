//! Timer latency: threads repeatedly sleep until a given time and measure how late they run.
//!
//! After the idea of cyclictest. Wake-up times are one interval apart, and sleeps absolute, so a
//! late wake-up does not move the next. Skipped times are counted as `missed_wakeups`. Latency
//! includes the timer interrupt, the scheduler, the switch, and reading the clock.
//!
//! For fair policies, timer slack is reduced from 50 µs to its minimum of 1 ns. Realtime policies
//! have none.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};

use crate::cpu::clock::{now_ns, sleep_until};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, report};
use crate::cpu::report::no_thread;
use crate::cpu::{Failure, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// With 1, no thread is created, for policies that forbid it.
    pub threads: u32,
    /// At most 100 ms.
    pub interval_ns: u64,
    pub duration_ns: u64,
}

/// [`Failure::Refused`] if no thread can be created.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let began = now_ns();
    let end = began.saturating_add(spec.duration_ns);
    let seen = thread::scope(|scope| {
        let one = |at: u32| {
            one(spec, began + spec.interval_ns * u64::from(at) / u64::from(spec.threads), end, stop)
        };
        let others: Vec<_> = (1..spec.threads)
            .map(|at| {
                thread::Builder::new().spawn_scoped(scope, move || one(at)).map_err(no_thread)
            })
            .collect::<Result<_, _>>()
            .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        let mut seen = vec![one(0)];
        seen.extend(
            others.into_iter().map(|other| other.join().expect("a sleeper does not panic")),
        );
        Ok(seen)
    })?;
    let missed: u64 = seen.iter().map(|(.., missed)| missed).sum();
    let seen = seen.into_iter().map(|(latencies, counted, _)| (latencies, counted)).collect();
    let mut report = report("timer_latency", now_ns() - began, seen);
    report.counters.insert("missed_wakeups".to_string(), missed as f64);
    Ok(report)
}

/// Returns latencies, counters and missed wake-ups.
fn one(spec: &Spec, first: u64, end: u64, stop: &AtomicBool) -> (Latencies, Counted, u64) {
    // Fails only without timer slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut latencies = Latencies::new();
    let before = Counted::read(OWN);
    let mut moments =
        Moments { next: first + spec.interval_ns, interval: spec.interval_ns, missed: 0 };
    while moments.next < end && !stop.load(Ordering::Relaxed) {
        sleep_until(moments.next);
        latencies.record(moments.late(now_ns()));
    }
    (latencies, Counted::read(OWN).since(&before), moments.missed)
}

#[derive(Debug)]
struct Moments {
    next: u64,
    interval: u64,
    missed: u64,
}

impl Moments {
    /// Times that have passed count as missed.
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

    const MS: u64 = 1_000_000;

    #[test]
    fn every_moment_is_either_met_or_missed() {
        let spec = Spec { threads: 2, interval_ns: MS, duration_ns: 50 * MS };
        let report = run(&spec, &AtomicBool::new(false)).unwrap();
        let (met, missed) = (report.counters["wakeups"], report.counters["missed_wakeups"]);
        // 49 per thread; a late thread may skip some beyond the end.
        assert!(met + missed >= 98.0 && met <= 98.0, "{report:?}");
        assert!(
            report.metrics.values().all(|us| *us > 0.0) && report.metrics.len() == 3,
            "{report:?}"
        );
        assert!(report.metrics["timer_latency_p50_us"] <= report.metrics["timer_latency_max_us"]);
        assert_eq!(report.counts["timer_latency_p99_us"] as f64, met);
    }

    #[test]
    fn a_late_wake_up_skips_the_moments_that_have_passed() {
        let mut moments = Moments { next: 1000, interval: 100, missed: 0 };
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

    #[test]
    fn a_stop_ends_it() {
        let spec = Spec { threads: 1, interval_ns: MS, duration_ns: u64::MAX };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.metrics.is_empty(), "{report:?}");
    }
}
