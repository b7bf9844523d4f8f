//! Validates the modelled disks on DiskSim's traces of real ones.
//!
//! Each request follows the previous completion after the recorded pause. Distributions of response
//! times are compared (`demerit`), because a model that differs once by part of a revolution is out
//! of phase from there on; traces are also replayed with random additional pauses. The drives were
//! measured on hosts slower than their buses (`through_host`). Traces and parameters are read from
//! the user's DiskSim 4.0 tree.

mod demerit;
mod speed;
mod table;
mod trace;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use elevator::{Op, Time};
use serde::Serialize;

use lab::failure::usage;
use sim::DeviceModel;
use sim::device::{Command, device};
use trace::Request;

#[derive(Debug, Default)]
pub(crate) struct Options {
    /// DiskSim's tree, or its directory `valid`.
    pub(crate) disksim: PathBuf,
    pub(crate) only: Option<String>,
    pub(crate) with: Vec<String>,
    pub(crate) logs: Option<PathBuf>,
}

struct Drive {
    preset: &'static str,
    name: &'static str,
    trace: &'static str,
    /// DiskSim's own demerit in µs: as its script runvalid states it, and the mean of six replays
    /// with random pauses as here, measured with DiskSim.
    disksim_us: [u32; 2],
}

const fn drive(
    preset: &'static str,
    name: &'static str,
    trace: &'static str,
    disksim_us: [u32; 2],
) -> Drive {
    Drive { preset, name, trace, disksim_us }
}

/// Number of replays, and maximum addition: more than a revolution of each drive.
const DRAWS: u64 = 12;
const LONGER_NS: u64 = 12_000_000;

const DRIVES: [Drive; 8] = [
    drive("cheetah9lp", "Seagate Cheetah 9LP", "cheetah9LP.trace", [107, 119]),
    drive("atlas10k", "Quantum Atlas 10K", "atlas10k.trace", [268, 239]),
    drive("cheetah4lp", "Seagate Cheetah 4LP", "cheetah4LP.trace", [318, 350]),
    drive("atlas3", "Quantum Atlas III", "atlas_III.trace", [378, 358]),
    drive("barracuda7200", "Seagate Barracuda", "barracuda.trace", [349, 326]),
    drive("c2490a", "HP C2490A", "hp_c2490a.trace", [254, 256]),
    drive("c3323a", "HP C3323A", "hp_c3323a.trace", [306, 220]),
    drive("c2247a", "HP C2247A", "hp_c2247a.trace", [90, 121]),
];

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    preset: &'static str,
    drive: &'static str,
    requests: usize,
    measured_mean_ms: f64,
    modelled_mean_ms: f64,
    demerit_ms: f64,
    disksim_demerit_ms: f64,
    /// Mean over the replays with random pauses.
    drawn_demerit_ms: f64,
    disksim_drawn_demerit_ms: f64,
    /// How many times as fast as the DiskSim that is built in the tree.
    times_disksim: Option<f64>,
    reads: Option<Direction>,
    writes: Option<Direction>,
}

#[derive(Debug, Serialize)]
struct Direction {
    requests: usize,
    measured_mean_ms: f64,
    modelled_mean_ms: f64,
    demerit_ms: f64,
}

impl Direction {
    fn of(pairs: &[(f64, f64)]) -> Option<Direction> {
        let (measured, modelled): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        Some(Direction {
            requests: pairs.len(),
            demerit_ms: demerit::demerit(&measured, &modelled)?,
            measured_mean_ms: mean(&measured),
            modelled_mean_ms: mean(&modelled),
        })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let valid = options.disksim.join("valid");
    let dir = if valid.is_dir() { valid } else { options.disksim.clone() };
    let wanted = DRIVES
        .iter()
        .filter(|drive| options.only.as_ref().is_none_or(|only| drive.preset.contains(only)));
    let rows =
        wanted.map(|drive| row(drive, &dir, options).with_context(|| drive.preset.to_owned()));
    let rows = rows.collect::<Result<Vec<Row>>>()?;
    if rows.is_empty() {
        return Err(usage("--only: no preset with a trace has this text in its name"));
    }
    Ok(Report { rows })
}

fn row(drive: &Drive, dir: &Path, options: &Options) -> Result<Row> {
    let changes: String = options.with.iter().map(|change| format!(":{change}")).collect();
    let mut model = device(&specification(drive, &changes), 1)
        .map_err(|error| usage(format!("--with: {error}")))?;
    let requests = trace::read(&dir.join(drive.trace), model.sectors())?;
    let times = replay(model.as_mut(), &requests, || 0);
    if let Some(logs) = &options.logs {
        log(logs, drive.preset, &requests, &times)?;
    }
    let of = |op: Option<Op>| {
        let chosen =
            requests.iter().zip(&times).filter(|(request, _)| op.is_none_or(|op| request.op == op));
        let pairs: Vec<(f64, f64)> =
            chosen.map(|(request, ns)| (request.service_us / 1e3, *ns as f64 / 1e6)).collect();
        Direction::of(&pairs)
    };
    let drawn =
        (0..DRAWS).map(|seed| drawn(drive, &changes, &requests, seed)).sum::<Result<f64>>()?
            / DRAWS as f64;
    let [disksim, disksim_drawn] = drive.disksim_us.map(|us| f64::from(us) / 1e3);
    let all = of(None).expect("a trace has at least one request");
    Ok(Row {
        preset: drive.preset,
        drive: drive.name,
        requests: all.requests,
        measured_mean_ms: all.measured_mean_ms,
        modelled_mean_ms: all.modelled_mean_ms,
        demerit_ms: all.demerit_ms,
        disksim_demerit_ms: disksim,
        drawn_demerit_ms: drawn,
        disksim_drawn_demerit_ms: disksim_drawn,
        times_disksim: speed::times_disksim(drive, dir)?,
        reads: of(Some(Op::Read)),
        writes: of(Some(Op::Write)),
    })
}

fn specification(drive: &Drive, changes: &str) -> String {
    format!("{}:through_host=true{changes}", drive.preset)
}

fn drawn(drive: &Drive, changes: &str, requests: &[Request], seed: u64) -> Result<f64> {
    let mut random = sim::stream(seed, "pauses");
    let mut model = device(&specification(drive, changes), 1)?;
    let times = replay(model.as_mut(), requests, || random.below(LONGER_NS));
    let measured: Vec<f64> = requests.iter().map(|request| request.service_us / 1e3).collect();
    let modelled: Vec<f64> = times.iter().map(|ns| *ns as f64 / 1e6).collect();
    demerit::demerit(&measured, &modelled).context("a trace has at least one request")
}

/// Returns response times in ns; each pause is extended by `longer`.
fn replay(
    model: &mut dyn DeviceModel,
    requests: &[Request],
    mut longer: impl FnMut() -> u64,
) -> Vec<u64> {
    let (mut times, mut done, mut now) = (Vec::with_capacity(requests.len()), Vec::new(), 0);
    for request in requests {
        // Events due before the request.
        model.advance(Time::from_ns(now), &mut done);
        let Request { op, sector, nr_sectors, .. } = *request;
        model.submit(Time::from_ns(now), Command::Transfer { tag: 0, op, sector, nr_sectors });
        let sent = now;
        done.clear();
        while done.is_empty() {
            let at = model.next_event().expect("a request that is inside completes");
            model.advance(at, &mut done);
            now = at.as_ns();
        }
        times.push(now - sent);
        now += (request.think_us * 1e3).round() as u64 + longer();
    }
    times
}

/// Writes one line per request: direction, sector, sectors, and both times in µs.
fn log(dir: &Path, preset: &str, requests: &[Request], times: &[u64]) -> Result<()> {
    let mut text = String::new();
    for (request, ns) in requests.iter().zip(times) {
        let Request { op, sector, nr_sectors, service_us, .. } = request;
        writeln!(text, "{op} {sector} {nr_sectors} {service_us} {}", *ns as f64 / 1e3)?;
    }
    let path = dir.join(format!("{preset}.log"));
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
