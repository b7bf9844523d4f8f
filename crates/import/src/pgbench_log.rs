//! The logs of pgbench: one line per transaction or per interval.
//!
//! Source: PostgreSQL 15, "Per-Transaction Logging" and "Aggregated Logging". A transaction:
//! client, number, latency in µs (or a word such as `skipped` or `failed`), script, and seconds and
//! microseconds of its end. An interval: its start in seconds, transactions, and the sum, sum of
//! squares, minimum and maximum of their latencies in µs. Each thread writes a file PREFIX.PID,
//! PREFIX.PID.1, …; together they are one trial.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::rows::{Entry, File, Rows};

const REMEDY: &str = "measure it again with pgbench --log, or omit the file";

#[derive(Debug, Default)]
struct Trial<'a> {
    files: Vec<&'a File>,
    latencies_us: Vec<u64>,
    first_us: Option<u64>,
    last_us: u64,
    /// Transactions per second, from intervals.
    rate: f64,
    transactions: u64,
    latency_us: u64,
    aggregated: bool,
}

/// Whether a text is a log: the right number of numeric fields, with a time of this century.
pub(crate) fn is_log(text: &str) -> bool {
    let first: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
    let numbers = first.iter().filter(|word| word.bytes().all(|c| c.is_ascii_digit())).count();
    let is_time = |at: usize| first[at].parse().is_ok_and(|seconds: u64| seconds > 946_684_800);
    first.len() >= 6 && numbers + 1 >= first.len() && (is_time(0) || is_time(4))
}

pub(crate) fn read(files: &[&File], rows: &mut Rows) -> Result<(), Error> {
    let mut trials: BTreeMap<String, Trial<'_>> = BTreeMap::new();
    for file in files {
        let trial = trials.entry(start_of(&file.path).to_owned()).or_default();
        trial.files.push(file);
        let first = file.text.lines().next().unwrap_or_default();
        // An interval begins with a time, a transaction with a client number.
        if first.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0u64)
            > 100_000_000
        {
            trial.aggregated = true;
            intervals(file, trial)?;
        } else {
            transactions(file, trial)?;
        }
    }
    for (start, trial) in trials {
        let file = trial.files[0];
        let mut entry = Entry::new(file);
        let name = start.rsplit('/').next().unwrap_or(&start);
        let prefix = name.rsplit_once('.').map_or(name, |(prefix, _)| prefix);
        entry.labels.push(("file".to_owned(), prefix.to_owned()));
        if trial.aggregated {
            rows.remark(
                "the last interval of an interval log is omitted: it is shorter than the others",
            );
        }
        values(file, &trial, &mut entry)?;
        rows.entries.push(entry);
    }
    Ok(())
}

/// The path without the thread number.
fn start_of(path: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    match path.rsplit_once('.') {
        Some((start, thread))
            if is_number(thread)
                && start.rsplit_once('.').is_some_and(|(_, pid)| is_number(pid)) =>
        {
            start
        }
        _ => path,
    }
}

fn field(file: &File, line: usize, words: &[&str], at: usize, what: &str) -> Result<u64, Error> {
    let word = words.get(at).copied().unwrap_or_default();
    word.parse().map_err(|_| {
        Error::new(&file.path, format!("{word:?} is not a {what}"), REMEDY)
            .at(format!("line {}", line + 1))
    })
}

fn transactions(file: &File, trial: &mut Trial<'_>) -> Result<(), Error> {
    for (line, text) in file.text.lines().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let end_us = field(file, line, &words, 4, "time in seconds")?
            .saturating_mul(1_000_000)
            .saturating_add(field(file, line, &words, 5, "part of a second in µs")?);
        // Words mark transactions without a latency: skipped, failed, serialization, deadlock.
        if words[2].bytes().all(|c| c.is_ascii_alphabetic()) {
            continue;
        }
        let latency = field(file, line, &words, 2, "latency in µs")?;
        trial.latencies_us.push(latency);
        let begin = end_us.saturating_sub(latency);
        trial.first_us = Some(trial.first_us.map_or(begin, |first| first.min(begin)));
        trial.last_us = trial.last_us.max(end_us);
    }
    Ok(())
}

fn intervals(file: &File, trial: &mut Trial<'_>) -> Result<(), Error> {
    let mut all: Vec<[u64; 3]> = Vec::new();
    for (line, text) in file.text.lines().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let start = field(file, line, &words, 0, "start of an interval in seconds")?;
        if all.last().is_some_and(|before| before[0] >= start) {
            let problem = "the intervals are not in order";
            return Err(Error::new(&file.path, problem, REMEDY).at(format!("line {}", line + 1)));
        }
        let count = field(file, line, &words, 1, "number of transactions")?;
        all.push([start, count, field(file, line, &words, 2, "sum of latencies in µs")?]);
    }
    if all.len() < 3 {
        let problem = format!("{} intervals (expected at least 3)", all.len());
        return Err(Error::new(
            &file.path,
            problem,
            "measure longer, or with a shorter --aggregate-interval",
        ));
    }
    let whole = &all[..all.len() - 1];
    let sum = |at: usize| whole.iter().fold(0u64, |sum, interval| sum.saturating_add(interval[at]));
    trial.transactions = trial.transactions.saturating_add(sum(1));
    trial.latency_us = trial.latency_us.saturating_add(sum(2));
    trial.rate += sum(1) as f64 / (all[all.len() - 1][0] - all[0][0]) as f64;
    Ok(())
}

fn values(file: &File, trial: &Trial<'_>, entry: &mut Entry) -> Result<(), Error> {
    let mut latencies = trial.latencies_us.clone();
    latencies.sort_unstable();
    let count = if trial.aggregated { trial.transactions } else { latencies.len() as u64 };
    if count == 0 {
        entry.invalid = Some("no transaction was completed".to_owned());
        return Ok(());
    }
    if trial.aggregated {
        entry.put(file, "", "tps", trial.rate)?;
        return entry.put(
            file,
            "",
            "latency_mean_ms",
            trial.latency_us as f64 / count as f64 / 1e3,
        );
    }
    let seconds =
        trial.last_us.saturating_sub(trial.first_us.unwrap_or_default()).max(1) as f64 / 1e6;
    entry.put(file, "", "tps", count as f64 / seconds)?;
    let sum: f64 = latencies.iter().map(|us| *us as f64).sum();
    entry.put(file, "", "latency_mean_ms", sum / count as f64 / 1e3)?;
    for (percent, name) in [(50, "latency_p50_ms"), (95, "latency_p95_ms"), (99, "latency_p99_ms")]
    {
        let at = (latencies.len() * percent).div_ceil(100).max(1) - 1;
        entry.put(file, "", name, latencies[at] as f64 / 1e3)?;
    }
    Ok(())
}
