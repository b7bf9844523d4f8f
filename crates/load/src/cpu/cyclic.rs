//! Timer latency: threads repeatedly sleep until a given time and measure how late they run.
//!
//! After the idea of cyclictest. Wake-up times are one interval apart, and sleeps absolute, so a
//! late wake-up does not move the next. Skipped times are counted as `missed_wakeups`. Latency
//! includes the timer interrupt, the scheduler, the switch, and reading the clock.
//!
//! For fair policies, timer slack is reduced from 50 µs to its minimum of 1 ns. Realtime policies
//! have none.

use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;

use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};

use crate::cpu::clock::now_ns;
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, P50_P99, report};
use crate::cpu::periodic::{Moments, Timing};
use crate::cpu::{Failure, Report};

const NAMES: Names = Names { prefix: "timer_latency", events: "wakeups", percentiles: P50_P99 };

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
    let Spec { threads, interval_ns, duration_ns } = *spec;
    let (seen, began) = Timing { threads, interval_ns, duration_ns }.run(stop, one)?;
    let missed: u64 = seen.iter().map(|(.., missed)| missed).sum();
    let seen = seen.into_iter().map(|(latencies, counted, _)| (latencies, counted)).collect();
    let mut report = report(&NAMES, now_ns() - began, seen);
    report.counters.insert("missed_wakeups".to_string(), missed as f64);
    Ok(report)
}

/// Returns latencies, counters and missed wake-ups.
fn one(mut moments: Moments<'_>) -> (Latencies, Counted, u64) {
    // Fails only without timer slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut latencies = Latencies::new();
    let before = Counted::read(OWN);
    while moments.sleep() {
        latencies.record(moments.late(now_ns()));
    }
    (latencies, Counted::read(OWN).since(&before), moments.missed)
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
    fn a_stop_ends_it() {
        let spec = Spec { threads: 1, interval_ns: MS, duration_ns: u64::MAX };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.metrics.is_empty(), "{report:?}");
    }
}
