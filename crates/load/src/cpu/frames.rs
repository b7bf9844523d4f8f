//! Frames: threads that compute once in each interval and must be done when the next one begins, as
//! a game or a compositor does.
//!
//! The time of a frame runs from the moment that it is due to begin until it is computed. One that
//! takes longer than an interval skips the moments that have passed; these frames are missed.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::cpu::latency::{Names, P50_P99};
use crate::cpu::periodic::Timing;
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
    let Spec { threads, interval_ns, work_ns, duration_ns } = *spec;
    let timing = Timing { threads, interval_ns, duration_ns };
    let (mut report, missed) = timing.measure(&NAMES, stop, work_ns)?;
    let frames = report.counters["frames"];
    if frames > 0.0 {
        let metrics = [
            ("missed_frames_percent", 100.0 * missed as f64 / (frames + missed as f64)),
            ("frames_per_s", frames / (report.window_ns as f64 / 1e9)),
        ];
        report.metrics.extend(metrics.map(|(name, value)| (name.to_string(), value)));
    }
    Ok(report)
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
