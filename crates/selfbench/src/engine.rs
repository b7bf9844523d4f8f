//! `selfbench engine`: CPU cost per request of our load engine and of fio, on the same file.
//!
//! The measure is requests per second of the client thread's CPU time, which does not depend on the
//! target's speed: 4 KiB random reads, one client, one latency measurement per request. Sides
//! alternate; the ratio is the median over adjacent pairs. Targets: a tmpfs file, and a loop device
//! over it, cached or direct. io_uring is skipped on tmpfs, where it uses worker threads that fio
//! does not account for.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use experiment::stats::describe;
use load::{Drive, PATIENCE, Submission, place_on_device, prepare_files, run as measure};
use serde::Serialize;

use super::fio::{self, Sample};

#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Rounds of each case; at least 1.
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) file_size: u64,
    /// A directory on a tmpfs.
    pub(crate) dir: PathBuf,
}

impl Default for Options {
    fn default() -> Options {
        Options { rounds: 11, seconds: 0.2, file_size: 32 << 20, dir: "/dev/shm".into() }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Case {
    /// `tmpfs`, `cached` (loop device through the page cache) or `loop` (with direct I/O).
    pub(crate) target: &'static str,
    /// `psync`, `io_uring` or `io_uring batched` (fio's options; ours has one way per iodepth).
    pub(crate) engine: &'static str,
    pub(crate) schedlab: Vec<Sample>,
    /// fio's, paired with ours.
    pub(crate) fio: Vec<Sample>,
    /// Ours / fio's, median over pairs.
    pub(crate) ratio_iops_per_core: f64,
    /// Ratios at 10 % and 90 % of the pairs.
    pub(crate) ratio_per_core_range: [f64; 2],
    /// Each side's best: other load only makes requests more expensive.
    pub(crate) ratio_best_per_core: f64,
    pub(crate) ratio_iops: f64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) fio_version: String,
    pub(crate) fio_common: Vec<&'static str>,
    pub(crate) fio_engines: Vec<(&'static str, Vec<&'static str>)>,
    pub(crate) cases: Vec<Case>,
    /// Omissions and their reasons.
    pub(crate) notes: Vec<String>,
}

/// fio's name, our iodepth, fio's settings.
struct Engine {
    name: &'static str,
    iodepth: &'static str,
    fio: &'static [&'static str],
}

const PSYNC: Engine = Engine { name: "psync", iodepth: "1", fio: fio::PSYNC };
const RINGS: [Engine; 2] = [
    Engine { name: "io_uring", iodepth: "32", fio: fio::IO_URING },
    Engine { name: "io_uring batched", iodepth: "32", fio: fio::IO_URING_BATCHED },
];

struct Target<'a> {
    name: &'static str,
    path: &'a Path,
    direct: bool,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    ensure!(options.rounds > 0, "rounds = 0: at least 1 is needed");
    let fio_version = fio::version()?;
    let dir = tempfile::Builder::new().prefix("schedlab-bench-").tempdir_in(&options.dir)?;
    let file = prepare_files(dir.path(), &[options.file_size])?.remove(0);
    let engines = || std::iter::once(&PSYNC).chain(&RINGS);
    let mut report = Report {
        fio_version,
        fio_common: fio::COMMON.to_vec(),
        fio_engines: engines().map(|engine| (engine.name, engine.fio.to_vec())).collect(),
        cases: Vec::new(),
        notes: Vec::new(),
    };
    report.cases.push(case(
        &Target { name: "tmpfs", path: &file, direct: false },
        &PSYNC,
        options,
    )?);
    match Loop::over(&file) {
        Err(error) => report
            .notes
            .push(format!("no loop device ({error:#}): run as root to compare io_uring")),
        Ok(device) => {
            for engine in engines() {
                report.cases.push(case(
                    &Target { name: "cached", path: &device.0, direct: false },
                    engine,
                    options,
                )?);
            }
            for engine in engines() {
                report.cases.push(case(
                    &Target { name: "loop", path: &device.0, direct: true },
                    engine,
                    options,
                )?);
            }
        }
    }
    Ok(report)
}

fn case(target: &Target, engine: &Engine, options: &Options) -> Result<Case> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        // Ours starts the first round: its warm-up caches every page, in folios of equal size for
        // both.
        for side in [round, round + 1] {
            if side.is_multiple_of(2) {
                ours.push(one_of_ours(target, engine, options, round)?);
            } else {
                theirs.push(fio::run(
                    engine.fio,
                    target.path,
                    options.file_size,
                    target.direct,
                    options.seconds,
                )?);
            }
        }
    }
    let ratios = |of: fn(&Sample) -> f64| {
        sorted(ours.iter().zip(&theirs).map(|(ours, fio)| of(ours) / of(fio)))
    };
    let per_core = ratios(|sample| sample.iops_per_core);
    let ratio_iops_per_core = quantile(&per_core, 0.5);
    let ratio_per_core_range = [quantile(&per_core, 0.1), quantile(&per_core, 0.9)];
    let ratio_iops = quantile(&ratios(|sample| sample.iops), 0.5);
    let ratio_best_per_core = best(&ours) / best(&theirs);
    let (target, engine) = (target.name, engine.name);
    Ok(Case {
        target,
        engine,
        schedlab: ours,
        fio: theirs,
        ratio_iops_per_core,
        ratio_per_core_range,
        ratio_best_per_core,
        ratio_iops,
    })
}

fn one_of_ours(target: &Target, engine: &Engine, options: &Options, round: u32) -> Result<Sample> {
    let kind = sim::workload::find("randread").expect("randread is a workload");
    let direct = target.direct.to_string();
    let params =
        kind.params([("clients", "1"), ("iodepth", engine.iodepth), ("direct", &direct)])?;
    let files = place_on_device(kind, &params, target.path, options.file_size, 512)?;
    let drive = Drive {
        kind,
        params,
        files,
        seed: u64::from(round),
        duration: Duration::from_secs_f64(options.seconds),
        warmup: if target.direct {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(options.seconds)
        },
        patience: PATIENCE,
        submission: Submission::IoUring,
    };
    let measured = measure(&drive, &AtomicBool::new(false))?;
    ensure!(measured.errors == 0, "requests failed: {}", measured.first_error.unwrap_or_default());
    // fio reports only its client's thread, so ours does too.
    let cpu_ns = measured.clients[0].cpu_ns;
    ensure!(cpu_ns > 0 && measured.ios() > 0, "nothing was measured: run longer");
    Ok(Sample {
        iops: measured.ios() as f64 * 1e9 / measured.window_ns as f64,
        iops_per_core: measured.ios() as f64 * 1e9 / cpu_ns as f64,
    })
}

/// Detached on drop. It stays open, because the kernel drops its cached pages on the last close.
pub(crate) struct Loop(pub(crate) PathBuf, Option<File>);

impl Loop {
    pub(crate) fn over(file: &Path) -> Result<Loop> {
        let output = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(file)
            .output()
            .context("cannot start losetup")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let open = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Loop(path, Some(open)))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(self.1.take());
        // Failure is harmless: the file is deleted with its directory, and `losetup -l` shows the
        // device.
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

fn best(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.iops_per_core).fold(0.0, f64::max)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(&sorted(values), 0.5)
}

pub(crate) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    describe::quantile(sorted, share).expect("there is at least one round")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "target", "engine", "per core", "fio", "ratio", "10-90 %", "best", "fio", "ratio",
            "IOPS", "fio", "ratio",
        ]);
        let thousands = |value: f64| format!("{:.0} k", value / 1e3);
        for case in &self.cases {
            table.add_row([
                case.target.to_owned(),
                case.engine.to_owned(),
                thousands(median(case.schedlab.iter().map(|sample| sample.iops_per_core))),
                thousands(median(case.fio.iter().map(|sample| sample.iops_per_core))),
                format!("{:.2}", case.ratio_iops_per_core),
                format!(
                    "{:.2} … {:.2}",
                    case.ratio_per_core_range[0], case.ratio_per_core_range[1]
                ),
                thousands(best(&case.schedlab)),
                thousands(best(&case.fio)),
                format!("{:.2}", case.ratio_best_per_core),
                thousands(median(case.schedlab.iter().map(|sample| sample.iops))),
                thousands(median(case.fio.iter().map(|sample| sample.iops))),
                format!("{:.2}", case.ratio_iops),
            ]);
        }
        writeln!(
            f,
            "4 KiB random reads, one client, alternating measurements: medians, and of the ratios of neighbours also the range that"
        )?;
        writeln!(
            f,
            "holds 80 % of them. A range on both sides of 1 shows no difference. Per core: I/Os per second of"
        )?;
        writeln!(
            f,
            "CPU time of the client's thread, user and system. {} {}",
            self.fio_version,
            self.fio_common.join(" ")
        )?;
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
        assert_eq!(median([4.0, 1.0, 3.0, 2.0].into_iter()), 2.5);
        assert_eq!(median([4.0, 1.0, 3.0].into_iter()), 3.0);
    }

    #[test]
    fn a_tenth_of_eleven_values_is_the_second_smallest() {
        let eleven = sorted((0..11).rev().map(f64::from));
        assert_eq!((quantile(&eleven, 0.1), quantile(&eleven, 0.9)), (1.0, 9.0));
        assert_eq!(quantile(&[2.0], 0.9), 2.0);
    }

    #[test]
    fn every_metric_that_the_engine_reports_is_known_to_analyses() {
        for name in load::METRIC_NAMES {
            assert!(experiment::metric::find(name).is_some(), "{name}");
        }
        for row in sim::workload::WORKLOADS {
            assert!(load::METRIC_NAMES.contains(&row.primary), "{}: {}", row.name, row.primary);
        }
    }

    #[test]
    fn all_cases_are_measured_where_fio_is_installed() {
        if let Err(error) = fio::version() {
            return testbed::skip(&format!("{error:#}"));
        }
        let report =
            run(&Options { rounds: 1, seconds: 0.3, file_size: 8 << 20, ..Options::default() })
                .unwrap();
        assert!(report.cases.len() == 7 || report.notes.len() == 1, "{report}");
        for case in &report.cases {
            assert!(case.ratio_iops_per_core > 0.0 && case.ratio_iops.is_finite(), "{case:?}");
        }
    }
}
