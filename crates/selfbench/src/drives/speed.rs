//! How fast a trace is replayed, next to DiskSim built in the user's tree.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Drive, replay, specification, trace};
use crate::engine::median;

/// Alternating measurements of each.
const PAIRS: usize = 9;

/// DiskSim's time over schedlab's, both with the reading of the trace: the median of neighbours.
/// `None` without a program in `../src` of the directory `valid`.
pub(super) fn times_disksim(drive: &Drive, valid: &Path) -> Result<Option<f64>> {
    let program = valid.join("../src/disksim");
    if !program.is_file() {
        return Ok(None);
    }
    let program = program.canonicalize().context("src/disksim")?;
    let mut ratios = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let theirs = disksim(&program, drive, valid)?;
        ratios.push(theirs.as_secs_f64() / schedlab(drive, valid)?.as_secs_f64());
    }
    Ok(Some(median(ratios.into_iter())))
}

fn disksim(program: &Path, drive: &Drive, valid: &Path) -> Result<Duration> {
    let out = tempfile::NamedTempFile::new().context("cannot create DiskSim's output")?;
    let parameters = Path::new(drive.trace).with_extension("parv");
    let started = Instant::now();
    let status = Command::new(program)
        .current_dir(valid)
        .args([parameters.as_path(), out.path()])
        .args(["validate", drive.trace, "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    if !status.success() {
        bail!("{} {} ended with {status}", program.display(), parameters.display());
    }
    Ok(started.elapsed())
}

fn schedlab(drive: &Drive, valid: &Path) -> Result<Duration> {
    let started = Instant::now();
    let mut model = sim::device::device(&specification(drive, ""), 1)?;
    let requests = trace::read(&valid.join(drive.trace), model.sectors())?;
    std::hint::black_box(replay(model.as_mut(), &requests, || 0));
    Ok(started.elapsed())
}
