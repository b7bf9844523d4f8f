//! Frames: threads that compute once in each interval and must be done when the next one begins, as
//! a game or a compositor does.
//!
//! The time of a frame runs from the moment that it is due to begin until it is computed. One that
//! takes longer than an interval skips the moments that have passed; these frames are missed.

use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;

use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};

use crate::cpu::clock::{compute, now_ns};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, P50_P99, report};
use crate::cpu::periodic::{Moments, Timing};
use crate::cpu::{Failure, Report};

const NAMES: Names = Names { prefix: "frame", events: "frames", percentiles: P50_P99 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// With 1, no thread is created, for policies that forbid it.
    pub threads: u32,
    pub interval_ns: u64,
    /// Computing time of a frame.
    pub work_ns: u64,
    pub duration_ns: u64,
}

/// [`Failure::Refused`] if no thread can be created.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let Spec { threads, interval_ns, duration_ns, .. } = *spec;
    let timing = Timing { threads, interval_ns, duration_ns };
    let (seen, began) = timing.run(stop, |moments| one(moments, spec.work_ns))?;
    let window_ns = now_ns() - began;
    let missed: u64 = seen.iter().map(|(.., missed)| missed).sum();
    let seen = seen.into_iter().map(|(latencies, counted, _)| (latencies, counted)).collect();
    let mut report = report(&NAMES, window_ns, seen);
    let frames = report.counters["frames"];
    if frames > 0.0 {
        let metrics = [
            ("missed_frames_percent", 100.0 * missed as f64 / (frames + missed as f64)),
            ("frames_per_s", frames / (window_ns as f64 / 1e9)),
        ];
        report.metrics.extend(metrics.map(|(name, value)| (name.to_string(), value)));
    }
    Ok(report)
}

/// Returns frame times, counters and missed frames.
fn one(mut moments: Moments<'_>, work_ns: u64) -> (Latencies, Counted, u64) {
    // Fails only without timer slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut latencies = Latencies::new();
    let before = Counted::read(OWN);
    while moments.sleep() {
        compute(work_ns);
        latencies.record(moments.late(now_ns()));
    }
    (latencies, Counted::read(OWN).since(&before), moments.missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_frame_that_takes_longer_than_its_interval_misses_the_next() {
        let spec = Spec { threads: 1, interval_ns: 4 * MS, work_ns: 6 * MS, duration_ns: 100 * MS };
        let report = run(&spec, &AtomicBool::new(false)).unwrap();
        assert!(report.metrics["missed_frames_percent"] >= 50.0, "{report:?}");
        assert!(report.metrics["frame_p50_us"] >= 5990.0, "{report:?}");
        // Every second moment, or fewer if the machine is late.
        let frames = report.counters["frames"];
        assert!((1.0..=12.0).contains(&frames), "{report:?}");
        assert_eq!(report.counts["frame_p99_us"] as f64, frames);
    }

    #[test]
    fn a_stop_ends_it_without_a_figure() {
        let spec = Spec { threads: 2, interval_ns: MS, work_ns: MS, duration_ns: u64::MAX };
        let report = run(&spec, &AtomicBool::new(true)).unwrap();
        assert!(report.metrics.is_empty(), "{report:?}");
    }
}
