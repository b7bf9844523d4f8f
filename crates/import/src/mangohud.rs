//! MangoHud: frame logs in `output_folder`.
//!
//! Source: `src/logging.cpp` of versions 0.6 to 0.8. A header line and its values describe the
//! machine; another header names the frame columns. `log_versioning` adds lines before each. The
//! unit of the frame time depends on the version (µs or ms), so it is derived from `fps`. With
//! `log_interval`, lines are samples instead of frames, which `elapsed` (ns) reveals.

use crate::error::Error;
use crate::frames::{self, METRICS, REPEAT};
use crate::importer::{Importer, first_missing};
use crate::rows::{Entry, File, Rows, each};

pub(crate) const ROW: Importer = Importer {
    name: "mangohud",
    reads: "the logs of MangoHud (PROGRAM_DATE.csv, not the _summary.csv), named after the variant: old-1.csv, new-1.csv, …",
    trial: "a log; its frames are combined",
    labels: &[("kernel", "as the log has it; also os, cpu, gpu, ram, driver and cpuscheduler")],
    metrics: METRICS,
    own_metrics: "",
    lacks: &["frame logs contain no recording order: --round run uses the file numbers as rounds"],
    variants: &["file", "dir", "kernel", "driver", "cpuscheduler"],
    repeat: REPEAT,
    within: Some(|path| path.ends_with(".csv") && !path.ends_with("_summary.csv")),
    missing: |text| first_missing(text, &["fps,frametime,"]),
    read,
};

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "frame", |file, rows| {
        let mut entry = Entry::new(file).label("file", named(&file.path));
        let mut lines = file.text.lines().map(str::trim_end).enumerate();
        let mut header = None;
        while let Some((_, line)) = lines.next() {
            if line.starts_with("os,") {
                let values = lines.next().map(|(_, values)| values).unwrap_or_default();
                // A value that contains a comma would shift the columns.
                if values.split(',').count() == line.split(',').count() {
                    for (name, value) in line.split(',').zip(values.split(',')) {
                        entry = entry.label(name, value);
                    }
                }
            } else if line.starts_with("fps,") {
                header = Some(line);
                break;
            }
        }
        let Some(header) = header else {
            let remedy = "name a log of MangoHud, not its summary";
            return Err(Error::new(&file.path, "no line \"fps,frametime,…\"", remedy));
        };
        let elapsed = header.split(',').position(|name| name == "elapsed");
        let (mut frames_ms, mut times_ns) = (Vec::new(), Vec::new());
        for (at, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let cells: Vec<&str> = line.split(',').collect();
            let fps = cells[0].parse().ok().filter(|fps: &f64| fps.is_finite() && *fps > 0.0);
            let Some(fps) = fps else {
                let problem = format!("{:?} is not a number of frames per second", cells[0]);
                return Err(Error::new(&file.path, problem, "record it again, or omit it")
                    .at(format!("line {}", at + 1)));
            };
            frames_ms.push(1e3 / fps);
            times_ns.extend(elapsed.and_then(|at| cells.get(at)?.parse::<f64>().ok()));
        }
        if frames_ms.is_empty() {
            return Ok(());
        }
        if are_samples(&frames_ms, &times_ns) {
            rows.remark("a log was written with log_interval: it has samples and not every frame, so slow frames are missing");
        }
        frames::put(&mut entry, file, "frames", frames_ms)?;
        rows.entries.push(entry);
        Ok(())
    })
}

/// A log's name without MangoHud's date suffix (`_2026-11-20_10-00-00`).
fn named(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".csv").unwrap_or(name);
    let pattern = "_dddd-dd-dd_dd-dd-dd";
    let Some(start) = stem.len().checked_sub(pattern.len()) else { return stem };
    let fits = stem.bytes().skip(start).zip(pattern.bytes()).all(|(found, wanted)| match wanted {
        b'd' => found.is_ascii_digit(),
        _ => found == wanted,
    });
    if fits { &stem[..start] } else { stem }
}

/// Whether the frames cover less time than the log, i.e. frames were skipped.
fn are_samples(frames_ms: &[f64], times_ns: &[f64]) -> bool {
    let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return false };
    let frames: f64 = frames_ms[1..].iter().sum();
    let log = (last - first) / 1e6;
    log > 0.0 && !(0.8..=1.25).contains(&(frames / log))
}
