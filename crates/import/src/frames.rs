//! Metrics shared by the formats of frame logs.
//!
//! Frames of one run share a scene, a driver and a temperature, so a run is one trial.

use crate::error::Error;
use crate::rows::{Entry, File};

pub(crate) const METRICS: &[(&str, &str, &str)] = &[
    ("fps", "frames/s", "frames of the run by its time"),
    ("low_1_percent_fps", "frames/s", "the same of the slowest hundredth of the frames"),
    ("frametime_p99_ms", "ms", "99th percentile of the time from frame to frame"),
];

pub(crate) const REPEAT: &str = "record at least five runs of the same scene for each variant, alternating (old-1, new-1, old-2, …)";

/// Computes a run's metrics from its frame times in milliseconds; an invalid time is an error.
pub(crate) fn put(
    entry: &mut Entry,
    file: &File,
    place: &str,
    mut frames_ms: Vec<f64>,
) -> Result<(), Error> {
    if let Some(wrong) = frames_ms.iter().find(|ms| !(ms.is_finite() && **ms > 0.0)) {
        let problem = format!("a frame of {wrong} ms (expected a time above 0)");
        return Err(Error::new(&file.path, problem, "record it again, or omit the file").at(place));
    }
    frames_ms.sort_by(f64::total_cmp);
    let fps = |frames: &[f64]| 1e3 * frames.len() as f64 / frames.iter().sum::<f64>();
    let slowest = frames_ms.len() - frames_ms.len().div_ceil(100);
    entry.put(file, place, "fps", fps(&frames_ms))?;
    entry.put(file, place, "low_1_percent_fps", fps(&frames_ms[slowest..]))?;
    entry.put(file, place, "frametime_p99_ms", frames_ms[(frames_ms.len() * 99).div_ceil(100) - 1])
}
