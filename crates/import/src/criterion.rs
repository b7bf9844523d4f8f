//! Criterion.rs: `sample.json` of a saved baseline, and `raw.csv`.
//!
//! Source: the guide of criterion 0.5 ("CSV Output", "Command-Line Options") and its directories
//! target/criterion/GROUP/FUNCTION/VALUE/BASELINE, where a baseline is `new`, `base` or a name
//! given to `--save-baseline`. Samples of a benchmark share a process, so together they are one
//! trial, with total time divided by iterations as its value. `raw.csv` is written by criterion
//! before 0.4 or with the feature `csv_output`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each};

const MADE_BY: &str = "cargo bench -- --save-baseline NAME";

pub(crate) const ROW: Importer = Importer {
    name: "criterion",
    reads: "the directory target/criterion of Criterion.rs, sample.json of its baselines, or raw.csv",
    trial: "a benchmark of a baseline; its samples, which share a process, are combined",
    labels: &[("benchmark", "group, function and value; dir is the baseline")],
    metrics: &[("time_ns", "ns", "wall-clock time of an iteration")],
    own_metrics: "",
    lacks: &[
        "the samples of a benchmark share a process and are not independent: together they are one trial",
        "criterion measures one baseline after the other: drift biases the comparison; --round run uses the baseline numbers as rounds",
    ],
    variants: &["dir", "file", "benchmark"],
    repeat: "start each version at least five times, alternating, with a baseline for each start: cargo bench -- --save-baseline old-1, … new-1, … old-2, …",
    within: Some(|path| path.ends_with("/sample.json")),
    missing: |text| {
        let is_table = text.starts_with("group,function,value,");
        first_missing(text, &["\"sampling_mode\"", "\"iters\"", "\"times\""]).filter(|_| !is_table)
    },
    read,
};

#[derive(Debug, Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

fn read(files: &[File]) -> Result<Rows, Error> {
    // `new` and `base` may be copies of a named baseline.
    let saved = |file: &File| !["new", "base"].contains(&dir_of(&file.path));
    let is_copy = |file: &File| {
        !saved(file) && files.iter().any(|other| saved(other) && other.text == file.text)
    };
    let files: Vec<File> = files.iter().filter(|file| !is_copy(file)).cloned().collect();
    each(&files, "sample", |file, rows| {
        if file.text.starts_with("group,") {
            return table(file, rows);
        }
        let Sample { iters, times } = json::parse(file, MADE_BY)?;
        if iters.len() != times.len() {
            let problem = format!("{} times of {} samples", times.len(), iters.len());
            return Err(Error::new(&file.path, problem, format!("write it with {MADE_BY}")));
        }
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        let sums = Sums { iterations: sum(&iters), ns: sum(&times) };
        if !iters.is_empty() {
            rows.entries.push(trial(file, &benchmark_of(&file.path), sums)?);
        }
        Ok(())
    })
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    iterations: f64,
    ns: f64,
}

fn trial(file: &File, benchmark: &str, sums: Sums) -> Result<Entry, Error> {
    let mut entry = Entry::new(file).label("benchmark", benchmark);
    entry.put(file, &format!("benchmark {benchmark}"), "time_ns", sums.ns / sums.iterations)?;
    Ok(entry)
}

/// The directories between `criterion` and the baseline; without `criterion`, all above the
/// baseline.
fn benchmark_of(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.truncate(parts.len().saturating_sub(2));
    let root = parts.iter().rposition(|part| *part == "criterion").map_or(0, |at| at + 1);
    parts[root..].join("/")
}

fn dir_of(path: &str) -> &str {
    path.rsplit('/').nth(1).unwrap_or_default()
}

fn table(file: &File, rows: &mut Rows) -> Result<(), Error> {
    let wrong = |line: u64, problem: String| {
        Error::new(&file.path, problem, "name a raw.csv that criterion wrote")
            .at(format!("line {line}"))
    };
    let mut reader = csv::ReaderBuilder::new().from_reader(file.text.as_bytes());
    let header = reader.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
    let column = |names: &[&str]| {
        let found = header.iter().position(|name| names.contains(&name));
        found.ok_or_else(|| wrong(1, format!("no column {}", names[0])))
    };
    let time = column(&["sample_measured_value", "sample_time_nanos"])?;
    let iterations = column(&["iteration_count"])?;
    let unit = header.iter().position(|name| name == "unit");
    let mut all: BTreeMap<String, Sums> = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(1, error.to_string()))?;
        let line = row.position().map_or(1, csv::Position::line);
        if let Some(unit) = unit.map(|at| &row[at]).filter(|unit| *unit != "ns") {
            return Err(wrong(line, format!("unit {unit:?} (expected ns)")));
        }
        let number = |at: usize| {
            row[at]
                .parse::<f64>()
                .map_err(|_| wrong(line, format!("{:?} is not a number", &row[at])))
        };
        let parts: Vec<&str> = row.iter().take(3).filter(|part| !part.is_empty()).collect();
        let sums = all.entry(parts.join("/")).or_default();
        sums.iterations += number(iterations)?;
        sums.ns += number(time)?;
    }
    for (benchmark, sums) in all {
        rows.entries.push(trial(file, &benchmark, sums)?);
    }
    Ok(())
}
