//! `selfbench fleet`: time, memory and correctness of a verdict over a fleet.
//!
//! Synthetic machines: a mean effect of −20 %, 6 % between machines, 2 % between trials, and liars
//! with the opposite effect. Files are not flushed, since reading is measured, and are in the page
//! cache. Peak memory includes their generation.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;

use ::fleet::{Key, Location, Machine, MachineResult, Selection, Store};
use anyhow::{Context, Result};
use experiment::fleet::FleetComparison;
use experiment::plan::{Criteria, Plan};
use experiment::results::{Environment, Header, Observation, Results, Trial};
use serde::Serialize;

/// Guarantees, in seconds and bytes.
const GUARANTEED_S: f64 = 5.0;
const GUARANTEED_BYTES: u64 = 1 << 30;

/// Mean and SD of the machines' log ratios.
const EFFECT: f64 = -0.223_143_55;
const BETWEEN: f64 = 0.06;

const PLAN: &str = "device = '/dev/sdb'
baseline = 'none'
[budget]
no_early_stop = true
[[variant]]
name = 'none'
scheduler = 'none'
[[variant]]
name = 'bfq'
scheduler = 'bfq'
[[workload]]
name = 'readers'
kind = 'randread'
primary = 'iops'
";

const OTHERS: [&str; 8] = [
    "read_iops",
    "read_mb_per_s",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p90_us",
    "latency_p99_us",
    "latency_p999_us",
    "cpu_percent",
];

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    machines: u64,
    trials: u64,
    liars: u64,
    bytes: u64,
    seconds: f64,
    peak_bytes: u64,
    true_ratio: f64,
    comparison: FleetComparison,
    liars_named: usize,
    honest_named: usize,
    is_reached: bool,
}

/// `keep` is a directory in which the fleet stays.
pub(crate) fn run(machines: u64, trials: u64, liars: u64, keep: Option<&Path>) -> Result<Report> {
    let temporary = tempfile::tempdir().context("fleet: no temporary directory")?;
    let dir = keep.unwrap_or(temporary.path());
    let bytes = make(dir, machines, trials, liars)?;
    let start = Instant::now();
    let store = Store::open(&Location::Directory(dir.to_path_buf()))?;
    let criteria = Criteria::default();
    let loaded = ::fleet::load(&store, &Selection::default(), &criteria, u64::MAX)?;
    let analysis = ::fleet::analyze(&loaded, &[Key::Model], &criteria);
    let seconds = start.elapsed().as_secs_f64();
    let peak_bytes = peak_bytes();
    let group = analysis.groups.first().context("fleet: no group")?;
    let question = group.questions.first().context("fleet: no question")?;
    let comparison = question.comparisons.first().context("fleet: no comparison")?.clone();
    let lies = |name: &str| {
        name.trim_start_matches("db").parse::<u64>().is_ok_and(|number| number < liars)
    };
    let liars_named = comparison.outliers.iter().filter(|of| lies(&of.machine)).count();
    Ok(Report {
        machines,
        trials,
        liars,
        bytes,
        seconds,
        peak_bytes,
        true_ratio: EFFECT.exp(),
        liars_named,
        honest_named: comparison.outliers.len() - liars_named,
        comparison,
        is_reached: seconds <= GUARANTEED_S && peak_bytes <= GUARANTEED_BYTES,
    })
}

fn make(dir: &Path, machines: u64, trials: u64, liars: u64) -> Result<u64> {
    let objects = dir.join("results");
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    std::fs::create_dir(&objects)
        .with_context(|| format!("{}: cannot be made (name a new directory)", objects.display()))?;
    let mut bytes = 0;
    for number in 0..machines {
        let own =
            if number < liars { -EFFECT } else { EFFECT + BETWEEN * normal(number, u64::MAX) };
        let machine = Machine { name: format!("db{number}") };
        let (name, file) =
            MachineResult::of(&results(number, own.exp(), trials)?, &machine)?.to_file()?;
        bytes += file.len() as u64;
        std::fs::write(objects.join(format!("{name}.parquet")), file)?;
    }
    Ok(bytes)
}

/// Returns a pseudo-random value from −1 to 1.
fn noise(a: u64, b: u64) -> f64 {
    let mixed = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn normal(a: u64, b: u64) -> f64 {
    (0..12_u64).map(|part| noise(a.wrapping_mul(13).wrapping_add(part), b)).sum::<f64>() / 2.0
}

fn results(number: u64, ratio: f64, trials: u64) -> Result<Results> {
    let mut environment = Environment::new();
    let mut put = |section: &str, facts: &[(&str, &str)]| {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        environment.insert(section.to_owned(), facts.collect());
    };
    put("kernel", &[("release", "6.12.9"), ("boot_id", format!("boot {number}").as_str())]);
    put(
        "device",
        &[
            ("kind", "nvme"),
            ("model", "FAST 980"),
            ("identity", format!("wwid eui.{number:016x}").as_str()),
        ],
    );
    let header = Header {
        schema: experiment::plan::SCHEMA,
        schedlab: text::build::identity().to_owned(),
        plan: Plan::from_toml(PLAN)?,
        environment,
        started_unix_ms: 1_700_000_000_000 + number,
        command: String::new(),
    };
    let mut results = Results::new(header);
    results.trials = (0..trials).map(|sequence| trial(number, sequence, ratio)).collect();
    Ok(results)
}

fn trial(number: u64, sequence: u64, ratio: f64) -> Trial {
    let is_bfq = sequence % 2 == 1;
    let value =
        10_000.0 * (0.02 * normal(number, sequence)).exp() * if is_bfq { ratio } else { 1.0 };
    let others =
        OTHERS.iter().enumerate().map(|(at, name)| ((*name).to_owned(), value / (at + 2) as f64));
    let metrics: BTreeMap<String, f64> = others.chain([("iops".to_owned(), value)]).collect();
    Trial {
        sequence,
        workload: "readers".to_owned(),
        round: (sequence / 2) as u32,
        position: (sequence % 2) as u32,
        variant: if is_bfq { "bfq" } else { "none" }.to_owned(),
        started_ms: sequence * 10,
        observation: Observation { duration_ns: 5_000_000, metrics, ..Observation::default() },
    }
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(u64::MAX >> 10) << 10
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { machines, trials, liars, comparison, .. } = self;
        writeln!(
            f,
            "{machines} machines of {trials} trials ({:.0} MB): compared in {:.2} s, at most {:.0} MB of memory; guaranteed: {GUARANTEED_S:.0} s, {:.0} MB, {}",
            self.bytes as f64 / 1e6,
            self.seconds,
            self.peak_bytes as f64 / 1e6,
            GUARANTEED_BYTES as f64 / 1e6,
            if self.is_reached { "reached" } else { "missed" }
        )?;
        let show = |of: Option<experiment::fleet::Ratios>| {
            of.map_or_else(
                || "-".to_owned(),
                |of| {
                    format!(
                        "{:.4} ({:.4} to {:.4})",
                        of.ratio,
                        of.low.unwrap_or(0.0),
                        of.high.unwrap_or(f64::INFINITY)
                    )
                },
            )
        };
        writeln!(
            f,
            "true ratio {:.4}; mean {}; a new machine {}; with the liars {}",
            self.true_ratio,
            show(comparison.mean),
            show(comparison.further_machine),
            show(comparison.with_outliers)
        )?;
        writeln!(
            f,
            "liars named: {} of {liars}; honest machines named: {}",
            self.liars_named, self.honest_named
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_fleet_is_made_and_compared_and_its_liars_are_named() {
        let report = run(60, 40, 2, None).expect("a fleet");
        assert_eq!((report.liars_named, report.comparison.machines + report.honest_named), (2, 58));
        let mean = report.comparison.mean.expect("a mean");
        assert!(
            mean.low.is_some_and(|low| low < report.true_ratio)
                && mean.high.is_some_and(|high| report.true_ratio < high)
        );
    }
}
