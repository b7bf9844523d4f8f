//! Timer latency: threads repeatedly sleep until a given time and measure how late they run.
//!
//! After the idea of cyclictest. Wake-up times are one interval apart, and sleeps absolute, so a
//! late wake-up does not move the next. Skipped times are counted as `missed_wakeups`. Latency
//! includes the timer interrupt, the scheduler, the switch, and reading the clock.
//!
//! For fair policies, timer slack is reduced from 50 µs to its minimum of 1 ns. Realtime policies
//! have none.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::cpu::latency::{Names, P50_P99};
use crate::cpu::periodic::Timing;
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
    let timing = Timing { threads, interval_ns, duration_ns };
    let (mut report, missed) = timing.measure(&NAMES, stop, 0)?;
    report.counters.insert("missed_wakeups".to_string(), missed as f64);
    Ok(report)
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
