//! `schedlab bench engine`: what a request costs our load engine and what it costs fio, on the same file in one run.
//!
//! A load engine that uses the processor for itself measures itself on a fast device. The measure is requests per second of
//! processor time (user and system) of the client, because it does not depend on how fast the target happens to be; plain
//! requests per second stand beside it. Both sides do 4 KiB random reads with one client and take one latency for each request;
//! they alternate, so that a machine that warms up or is shared hits both alike, and medians are compared.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use host::engine::{Drive, PATIENCE, place_on_device, prepare_files, run as measure};
use serde::Serialize;

use super::fio;

/// How much to measure.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Pairs of measurements of each case.
    pub(crate) rounds: u32,
    /// Length of each measurement in seconds.
    pub(crate) seconds: f64,
    /// Bytes of the file.
    pub(crate) file_size: u64,
    /// A directory on a tmpfs.
    pub(crate) dir: PathBuf,
}

impl Default for Options {
    fn default() -> Options {
        Options { rounds: 5, seconds: 1.0, file_size: 256 << 20, dir: "/dev/shm".into() }
    }
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// Requests per second.
    pub(crate) iops: f64,
    /// Requests per second of processor time.
    pub(crate) iops_per_core: f64,
}

/// One case: a target and a way to make requests.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Case {
    /// `tmpfs` or `loop`.
    pub(crate) target: &'static str,
    /// `psync`, `io_uring` or `io_uring batched` (what fio was told; ours has one way for each iodepth).
    pub(crate) engine: &'static str,
    /// Our measurements, in order.
    pub(crate) schedlab: Vec<Sample>,
    /// fio's, each after ours.
    pub(crate) fio: Vec<Sample>,
    /// Median of ours / median of fio's.
    pub(crate) ratio_iops_per_core: f64,
    /// Median of ours / median of fio's.
    pub(crate) ratio_iops: f64,
}

/// Everything that was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// fio's version.
    pub(crate) fio_version: String,
    /// fio's settings, all cases.
    pub(crate) fio_common: Vec<&'static str>,
    /// fio's settings for each engine.
    pub(crate) fio_engines: Vec<(&'static str, Vec<&'static str>)>,
    /// The cases.
    pub(crate) cases: Vec<Case>,
    /// What was left out and why.
    pub(crate) notes: Vec<String>,
}

/// Name, our iodepth, fio's settings.
const ENGINES: &[(&str, &str, &[&str])] =
    &[("psync", "1", fio::PSYNC), ("io_uring", "32", fio::IO_URING), ("io_uring batched", "32", fio::IO_URING_BATCHED)];

/// Measures all cases.
///
/// # Errors
/// fio is missing, the file or loop device cannot be made, or a measurement fails.
pub(crate) fn run(options: &Options) -> Result<Report> {
    let fio_version = fio::version()?;
    let dir = tempfile::Builder::new().prefix("schedlab-bench-").tempdir_in(&options.dir)?;
    let file = prepare_files(dir.path(), &[options.file_size])?.remove(0);
    let mut report = Report {
        fio_version,
        fio_common: fio::COMMON.to_vec(),
        fio_engines: ENGINES.iter().map(|(name, _, args)| (*name, args.to_vec())).collect(),
        cases: Vec::new(),
        notes: Vec::new(),
    };
    for engine in ENGINES {
        report.cases.push(case("tmpfs", engine, &file, false, options)?);
    }
    match Loop::over(&file) {
        Err(error) => report.notes.push(format!("no loop device ({error:#}): run as root to compare direct I/O")),
        Ok(device) => {
            for engine in ENGINES {
                report.cases.push(case("loop", engine, &device.0, true, options)?);
            }
        }
    }
    Ok(report)
}

fn case(
    target: &'static str,
    &(engine, iodepth, fio_args): &(&'static str, &'static str, &[&str]),
    path: &Path,
    direct: bool,
    options: &Options,
) -> Result<Case> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        ours.push(one_of_ours(iodepth, path, direct, options, round)?);
        theirs.push(fio::run(fio_args, path, options.file_size, direct, options.seconds)?);
    }
    let ratio = |of: fn(&Sample) -> f64| median(&ours, of) / median(&theirs, of);
    let (ratio_iops_per_core, ratio_iops) = (ratio(|sample| sample.iops_per_core), ratio(|sample| sample.iops));
    Ok(Case { target, engine, schedlab: ours, fio: theirs, ratio_iops_per_core, ratio_iops })
}

fn one_of_ours(iodepth: &str, path: &Path, direct: bool, options: &Options, round: u32) -> Result<Sample> {
    let kind = workload::find("randread").expect("randread is a workload");
    let direct = direct.to_string();
    let params = kind.params([("clients", "1"), ("iodepth", iodepth), ("direct", &direct)])?;
    let drive = Drive {
        kind,
        params,
        files: place_on_device(kind, &params, path, options.file_size, 512)?,
        seed: u64::from(round),
        duration: Duration::from_secs_f64(options.seconds),
        warmup: Duration::ZERO,
        patience: PATIENCE,
    };
    let measured = measure(&drive, &AtomicBool::new(false))?;
    ensure!(measured.errors == 0, "requests failed: {}", measured.first_error.unwrap_or_default());
    ensure!(measured.cpu_ns > 0 && measured.ios() > 0, "nothing was measured: run longer");
    Ok(Sample {
        iops: measured.ios() as f64 * 1e9 / measured.window_ns as f64,
        iops_per_core: measured.ios() as f64 * 1e9 / measured.cpu_ns as f64,
    })
}

/// A loop device over the file, detached at the end.
struct Loop(PathBuf);

impl Loop {
    fn over(file: &Path) -> Result<Loop> {
        let output =
            Command::new("losetup").args(["-f", "--show"]).arg(file).output().context("cannot start losetup")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(Loop(String::from_utf8_lossy(&output.stdout).trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Nothing is lost if it fails: the file is gone with its directory, and the device shows in `losetup -l`.
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

fn median(samples: &[Sample], of: fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header(["target", "engine", "per core", "fio", "ratio", "IOPS", "fio", "ratio"]);
        let thousands = |value: f64| format!("{:.0} k", value / 1e3);
        for case in &self.cases {
            table.add_row([
                case.target.to_owned(),
                case.engine.to_owned(),
                thousands(median(&case.schedlab, |sample| sample.iops_per_core)),
                thousands(median(&case.fio, |sample| sample.iops_per_core)),
                format!("{:.2}", case.ratio_iops_per_core),
                thousands(median(&case.schedlab, |sample| sample.iops)),
                thousands(median(&case.fio, |sample| sample.iops)),
                format!("{:.2}", case.ratio_iops),
            ]);
        }
        writeln!(
            f,
            "4 KiB random reads, one client, medians of alternating measurements; per core: I/Os per second of"
        )?;
        writeln!(f, "processor time, user and system. {} {}", self.fio_version, self.fio_common.join(" "))?;
        for (name, args) in &self.fio_engines {
            writeln!(f, "  {name}: {}", args.join(" "))?;
        }
        writeln!(f, "{table}")?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let samples: Vec<Sample> = [4.0, 1.0, 3.0, 2.0].map(|iops| Sample { iops, iops_per_core: 0.0 }).to_vec();
        assert_eq!(median(&samples, |sample| sample.iops), 2.5);
        assert_eq!(median(&samples[..3], |sample| sample.iops), 3.0);
    }

    #[test]
    fn every_metric_that_the_engine_reports_is_known_to_studies() {
        for name in host::engine::METRIC_NAMES {
            assert!(experiment::metric::find(name).is_some(), "{name}");
        }
        for row in workload::WORKLOADS {
            assert!(host::engine::METRIC_NAMES.contains(&row.primary), "{}: {}", row.name, row.primary);
        }
    }

    #[test]
    fn all_cases_are_measured_where_fio_is_installed() {
        if let Err(error) = fio::version() {
            assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none_or(|v| v != "1"), "{error:#}");
            eprintln!("SKIPPED: {error:#}");
            return;
        }
        let report = run(&Options { rounds: 1, seconds: 0.1, file_size: 8 << 20, ..Options::default() }).unwrap();
        assert!(report.cases.len() == 6 || report.notes.len() == 1, "{report}");
        for case in &report.cases {
            assert!(case.ratio_iops_per_core > 0.0 && case.ratio_iops.is_finite(), "{case:?}");
        }
    }
}
