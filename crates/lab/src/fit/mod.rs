//! Fits a model to a device and writes its description.
//!
//! A real device is only read, with O_DIRECT; its settings do not change. A simulator model is
//! measured with the same reads in virtual time, which checks that a fit recovers known parameters.

mod real;

use std::path::{Path, PathBuf};
use std::time::Instant;

use ::sim::fit::latency::CellError;
use ::sim::fit::recorded::{KindError, Recorded};
use ::sim::fit::{Drive, Error, FitError, ModelDrive};
use anyhow::{Context, Result, anyhow};
use machine::{LoopDevice, Root};
use recorder::file::ReadOptions;
use serde::Serialize;

use crate::advise::held_out_line;
use crate::arena::disk;
use crate::arena::model::Model;
use crate::failure::usage;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::traces;
use real::RealDrive;

/// Tolerated relative error of a latency model.
pub const GOOD: f64 = 0.15;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A rotational disk with an actuator.
    Hdd,
    /// Any other device: latencies by size and depth.
    Ssd,
}

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub device: String,
    /// `device` is a simulator model, measured in virtual time.
    pub simulated: bool,
    /// None: as reported by the device.
    pub kind: Option<Kind>,
    /// A trace from which to learn writes.
    pub writes_from: Option<PathBuf>,
    pub loop_dir: PathBuf,
    pub seed: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Fitted {
    pub device: String,
    pub kind: Kind,
    pub description: String,
    pub findings: Vec<String>,
    /// Maximum error of the seek curve, if the true one is known (simulator models).
    pub seek_error: Option<f64>,
    /// The error on held-out reads; by size and depth for latency models.
    pub error: Option<Error>,
    pub cells: Vec<CellError>,
    /// For a trace, by kind of request.
    pub work: Vec<KindError>,
    /// Reasons to doubt the model.
    pub warnings: Vec<String>,
    /// By the drive's clock.
    pub seconds: f64,
}

pub fn fit(root: &Root, request: &Request, stop: &Stop, progress: &dyn Progress) -> Result<Fitted> {
    if request.simulated {
        let model = Model::read(&request.device)?;
        let mut drive = ModelDrive::new(&request.device, model.make(request.seed)?);
        let mut fitted = of_drive(&mut drive, request, progress)?;
        if let (Kind::Hdd, truth) = (fitted.kind, model.look(|device| device.geometry())) {
            fitted.seek_error = seek_error(&fitted.description, &truth)?;
        }
        return Ok(fitted);
    }
    let target = disk::Target::parse(&request.device)?;
    let temporary = match &target {
        disk::Target::Temporary(size) => {
            disk::DiskArena::require_root()?;
            machine::restore_all(root, &machine::cpu::UNDO)?;
            Some(disk::make_loop(root, *size, &request.loop_dir, stop, progress)?)
        }
        disk::Target::Device(_) => None,
    };
    let result = of_device(root, request, temporary.as_ref(), stop, progress);
    let removed = temporary.map(LoopDevice::remove).transpose();
    let fitted = result?;
    removed?;
    Ok(fitted)
}

fn of_device(
    root: &Root,
    request: &Request,
    temporary: Option<&LoopDevice>,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<Fitted> {
    let device = match temporary {
        Some(made) => made.describe()?,
        None => machine::device::find(root, &request.device).map_err(|e| usage(e.to_string()))?,
    };
    let mut drive = RealDrive::open(root, &device, stop)?;
    let mut fitted = of_drive(&mut drive, request, progress)?;
    fitted.warnings.extend(drive.warnings(&device));
    Ok(fitted)
}

/// Maximum deviation of a description's seek curve from the true one.
fn seek_error(description: &str, truth: &elevator::Geometry) -> Result<Option<f64>> {
    let fitted = sim::device::device_from_toml(description, &[], 0)?.geometry();
    let distances = 1..fitted.cylinders.min(truth.cylinders);
    let off = |distance| {
        (fitted.seek.seek_ns(distance) as f64 / truth.seek.seek_ns(distance).max(1) as f64 - 1.0)
            .abs()
    };
    Ok(distances.map(off).max_by(f64::total_cmp))
}

fn of_drive(drive: &mut dyn Drive, request: &Request, progress: &dyn Progress) -> Result<Fitted> {
    let (began, wall) = (drive.now(), Instant::now());
    let wanted =
        request.kind.unwrap_or(if drive.facts().rotational { Kind::Hdd } else { Kind::Ssd });
    let mut fitted = match wanted {
        Kind::Hdd => match of_spindle(drive, request, progress) {
            // A virtual disk that claims to be rotational.
            Err(FitError::Unfit { what, found, .. }) if request.kind.is_none() => {
                let mut fitted = of_latencies(drive, request, progress)?;
                fitted.warnings.push(format!(
                    "{}: reports itself as rotational, but {what} (found {found}); fitted by its latencies instead",
                    request.device
                ));
                fitted
            }
            other => other?,
        },
        Kind::Ssd => of_latencies(drive, request, progress)?,
    };
    progress.clear();
    fitted.seconds = if request.simulated {
        (drive.now() - began) as f64 / 1e9
    } else {
        wall.elapsed().as_secs_f64()
    };
    Ok(fitted)
}

fn of_spindle(
    drive: &mut dyn Drive,
    request: &Request,
    progress: &dyn Progress,
) -> std::result::Result<Fitted, FitError> {
    let mut steps = 0;
    let mut say = |what: &str| {
        steps += 1;
        // The number of zones is not known in advance.
        progress.prepare(what, steps, steps + 60);
    };
    let found = ::sim::fit::hdd::measure(drive, request.seed, &mut say)?;
    let (cylinders, heads, zones) = found.shape();
    progress.prepare("reads that were held out", steps, steps);
    let error = ::sim::fit::held_out::error_of(drive, &found.keys(), request.seed.wrapping_add(1))?;
    let mut description = head(request, "reads only; writes are assumed to be as fast as reads");
    if let Some(error) = &error {
        description += &held_out_line(&format!(
            "demerit {:.1} % of the mean latency, median {:+.1} %, 99th percentile {:+.1} %, on {} single reads",
            error.demerit * 100.0,
            error.median() * 100.0,
            error.p99() * 100.0,
            error.reads
        ));
    }
    description += &found.keys();
    let mut warnings = Vec::new();
    if request.writes_from.is_some() {
        warnings.push("writes: not fitted for hard disks; treated as reads".to_owned());
    }
    Ok(Fitted {
        device: request.device.clone(),
        kind: Kind::Hdd,
        description,
        findings: vec![
            format!("{} rpm, angles kept to {:.3} % of a turn", found.rpm(), found.noise * 100.0),
            format!("{cylinders} cylinders, {heads} heads, {zones} zones"),
        ],
        seek_error: None,
        error,
        cells: Vec::new(),
        work: Vec::new(),
        warnings,
        seconds: 0.0,
    })
}

fn of_latencies(
    drive: &mut dyn Drive,
    request: &Request,
    progress: &dyn Progress,
) -> Result<Fitted> {
    let mut steps = 0;
    let mut say = |what: &str| {
        steps += 1;
        progress.prepare(what, steps, ::sim::fit::latency::ROUNDS as u64);
    };
    let mut found = ::sim::fit::latency::measure(drive, request.seed, &mut say)?;
    let (mut findings, mut warnings) = (Vec::new(), Vec::new());
    let mut source = "reads only; writes are assumed to be as fast as reads";
    if let Some(path) = &request.writes_from {
        let trace = traces::read(path, &ReadOptions::default()).context("--writes-from")?;
        found.learn_writes(&trace.ios);
        match &found.writes {
            Some(writes) => {
                source = "reads, and writes of a trace";
                let beside = writes.beside_percent.last().copied().unwrap_or(100);
                findings.push(format!(
                    "{} writes of the trace; with several writes in flight a read takes {beside} % of its time",
                    writes.seen
                ));
            }
            None => warnings.push(format!(
                "{}: too few writes with times of issue and completion (expected 100); treated as reads",
                path.display()
            )),
        }
    }
    let cells =
        found.errors(&found.keys(), request.seed.wrapping_add(1)).map_err(|e| anyhow!(e))?;
    let description =
        head(request, source) + &held_out_line(&cells_in_words(&cells)) + &found.keys();
    findings.push(format!(
        "latencies at {} sizes and depths",
        cells.iter().filter(|cell| cell.in_grid).count()
    ));
    Ok(Fitted {
        device: request.device.clone(),
        kind: Kind::Ssd,
        description,
        findings,
        seek_error: None,
        error: None,
        cells,
        work: Vec::new(),
        warnings,
        seconds: 0.0,
    })
}

/// Fits a model to the busiest disk of a trace.
///
/// # Errors
/// It cannot be read, or has too few requests with issue and completion times.
pub fn fit_trace(path: &Path, seed: u64) -> Result<Fitted> {
    let shown = path.display();
    let trace = traces::read(path, &ReadOptions::default())?;
    let found =
        Recorded::from_trace(&trace).with_context(|| format!("{shown}: cannot fit a model"))?;
    let keys = found.keys();
    let work = found.errors(&keys, seed).map_err(|e| anyhow!(e))?;
    let request = Request { device: shown.to_string(), ..Request::default() };
    let source = "a trace alone: latencies by size and depth, without positions";
    let description = head(&request, source) + &held_out_line(&work_in_words(&work)) + &keys;
    let (reads, writes) = found.seen();
    let mut findings =
        vec![format!("{}: {reads} reads and {writes} writes of the trace", found.name)];
    if found.beside_percent() != 100 {
        findings.push(format!(
            "with several writes in flight a read takes {} % of its time",
            found.beside_percent()
        ));
    }
    let mut warnings = Vec::new();
    if found.rotational == Some(true) {
        warnings.push(format!(
            "{shown}: {} reports itself as rotational, and this model has no positions, so no order of requests is better than another; if it \
             is a hard disk, fit it itself: sudo schedlab fit /dev/{}",
            found.name, found.name
        ));
    }
    let (kind, seconds) = (Kind::Ssd, 0.0);
    let (device, cells) = (request.device, Vec::new());
    Ok(Fitted {
        device,
        kind,
        description,
        findings,
        seek_error: None,
        error: None,
        cells,
        work,
        warnings,
        seconds,
    })
}

fn work_in_words(work: &[KindError]) -> String {
    let words = work.iter().map(|KindError { kind, error, .. }| {
        let off =
            [("mean", error.mean()), ("median", error.median()), ("99th percentile", error.p99())];
        let off = off.map(|(what, off)| format!("{what} {:+.1} %", off * 100.0)).join(", ");
        format!("{} {}s: {off}", error.reads, kind.name())
    });
    words.collect::<Vec<_>>().join("; ")
}

/// How many sizes and depths are within [`GOOD`].
fn cells_in_words(cells: &[CellError]) -> String {
    let within =
        |of: fn(&Error) -> f64| cells.iter().filter(|cell| of(&cell.error).abs() <= GOOD).count();
    let (median, p99) = (within(Error::median), within(Error::p99));
    let percent = GOOD * 100.0;
    format!(
        "the median is within {percent:.0} % at {median} and the 99th percentile at {p99} of {} sizes and depths",
        cells.len()
    )
}

/// The comment at the top of the file. The name may contain any character, including newlines.
fn head(request: &Request, source: &str) -> String {
    let name: String = request
        .device
        .chars()
        .map(|c| if c.is_control() || text::controls_terminal(c) { '?' } else { c })
        .collect();
    let arena = if request.simulated { " --arena sim" } else { "" };
    format!(
        "# Fitted by schedlab {}: schedlab fit{arena} {name}\n# From {source}.\n",
        text::build::identity()
    )
}
