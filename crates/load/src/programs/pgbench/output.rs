//! Converts pgbench's output and log to metrics.
//!
//! tps is pgbench's, without connection times. Mean latency is pgbench's too, and must agree with
//! the log. Percentiles come from the log: one line per transaction, in whole microseconds.

use std::time::Duration;

use super::counters::{self, BLOCKS_READ, FLUSHED};
use super::settings::Settings;
use crate::programs::error::{RunnerError, tail_of};
use crate::programs::kind::{Measurement, Moved};

const BLOCK: f64 = 8192.0;

pub(super) struct Raw {
    pub(super) report: String,
    pub(super) log: String,
    pub(super) before: counters::Counters,
    pub(super) after: counters::Counters,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Report {
    pub(super) transactions: u64,
    pub(super) tps: f64,
    pub(super) latency_mean_us: f64,
}

pub(super) fn measurement(settings: &Settings, raw: &Raw) -> Result<Measurement, RunnerError> {
    let report = report(&raw.report)?;
    let mut times = times_us(&raw.log).map_err(|missing| unreadable(&missing, &raw.log))?;
    times.sort_unstable();
    let logged = times.len() as u64;
    if logged != report.transactions {
        let missing = format!(
            "line in its log for each of its {} transactions ({logged} there)",
            report.transactions
        );
        return Err(unreadable(&missing, &raw.report));
    }
    let mean = times.iter().sum::<u64>() as f64 / logged as f64;
    if (mean - report.latency_mean_us).abs() > (0.01 * mean).max(1.0) {
        let own = report.latency_mean_us;
        let missing = format!(
            "latency average that its own log bears out ({own:.0} µs, {mean:.0} µs in the log)"
        );
        return Err(unreadable(&missing, &raw.report));
    }
    let mut seen = Measurement {
        window: Duration::from_secs_f64(logged as f64 / report.tps),
        ..Measurement::default()
    };
    seen.metrics.insert("tps".to_string(), report.tps);
    seen.metrics.insert("latency_mean_us".to_string(), report.latency_mean_us);
    for (name, per_mille) in
        [("latency_p50_us", 500), ("latency_p99_us", 990), ("latency_p999_us", 999)]
    {
        seen.metrics.insert(name.to_string(), percentile(&times, per_mille) as f64);
        seen.counts.insert(name.to_string(), logged);
    }
    seen.counters = counters::difference(&raw.before, &raw.after);
    seen.counters.insert("transactions".to_string(), logged as f64);
    seen.moved = Some(bytes_moved(settings, raw, &seen.counters));
    Ok(seen)
}

/// Lower bounds: the flushed log was written, and reads into an empty cache came from the device
/// until it was full. With updates, vacuum may read a page twice before that, so only pure reads
/// are counted.
fn bytes_moved(settings: &Settings, raw: &Raw, counted: &counters::Counters) -> Moved {
    let all_read = raw.after.get(BLOCKS_READ).copied().unwrap_or(0.0) - raw.at_start(BLOCKS_READ);
    let read = (all_read * BLOCK).min(settings.shared_buffers as f64);
    Moved {
        read_bytes: if settings.reads_only() { read.max(0.0) as u64 } else { 0 },
        written_bytes: counted.get(FLUSHED).copied().unwrap_or(0.0).max(0.0) as u64,
        exact: false,
    }
}

impl Raw {
    /// A counter before the window. Without the warm-up's reads, the lower bound stays valid.
    fn at_start(&self, name: &str) -> f64 {
        self.before.get(name).copied().unwrap_or(0.0)
    }
}

/// The smallest value with at least this share at or below it.
pub(super) fn percentile(sorted: &[u64], per_mille: usize) -> u64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted[rank - 1]
}

/// Parses the report of versions 12 to 17.
pub(super) fn report(said: &str) -> Result<Report, RunnerError> {
    let need = |missing: &'static str| move || unreadable(missing, said);
    let after =
        |head: &str| said.lines().find_map(|line| line.trim().strip_prefix(head)).map(str::trim);
    let processed = after("number of transactions actually processed:")
        .ok_or_else(need("number of transactions"))?;
    let (done, wanted) =
        processed.split_once('/').map_or((processed, None), |(done, wanted)| (done, Some(wanted)));
    let transactions: u64 = done.parse().map_err(|_| need("number of transactions")())?;
    let failed = after("number of failed transactions:")
        .map_or("0", |text| text.split(' ').next().unwrap_or_default());
    let unfinished = wanted.is_some_and(|wanted| wanted != done);
    if failed != "0" || unfinished || transactions == 0 {
        let status = match (failed, unfinished) {
            ("0", true) => format!("{processed} transactions"),
            ("0", false) => "no transaction at all".to_string(),
            (failed, _) => format!("{failed} failed transactions"),
        };
        return Err(RunnerError::Failed {
            program: "pgbench".to_string(),
            status,
            tail: tail_of(said, ""),
        });
    }
    let latency =
        after("latency average = ").and_then(|text| text.strip_suffix(" ms")).and_then(positive);
    let tps = said.lines().filter_map(|line| line.trim().strip_prefix("tps = ")).find_map(|text| {
        let (value, words) = text.split_once(' ')?;
        let without = ["(without initial connection time)", "(excluding connections establishing)"];
        without.contains(&words).then(|| positive(value))?
    });
    Ok(Report {
        transactions,
        tps: tps.ok_or_else(need("tps without the time of connecting"))?,
        latency_mean_us: latency.ok_or_else(need("latency average"))? * 1000.0,
    })
}

/// Parses the third column, in microseconds.
pub(super) fn times_us(log: &str) -> Result<Vec<u64>, String> {
    log.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let time =
                fields.get(2).filter(|_| fields.len() >= 6).and_then(|field| field.parse().ok());
            time.ok_or_else(|| format!("time in the line {line:?} of its log"))
        })
        .collect()
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn unreadable(missing: &str, said: &str) -> RunnerError {
    RunnerError::Unreadable {
        program: "pgbench".to_string(),
        missing: missing.to_string(),
        tail: tail_of(said, ""),
    }
}
