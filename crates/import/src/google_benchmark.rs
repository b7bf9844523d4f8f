//! Google Benchmark: `--benchmark_out_format=json`.
//!
//! Source: the user guide ("Output Formats", "Reporting Statistics") and the output of version 1.7.
//! Repetitions share a process, so their mean is one trial. The file's aggregates (mean, median,
//! stddev, complexity) are not read.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each, mean};

const MADE_BY: &str = "PROGRAM --benchmark_out_format=json --benchmark_out=FILE";

pub(crate) const ROW: Importer = Importer {
    name: "google-benchmark",
    reads: "the file of --benchmark_out with --benchmark_out_format=json, one for each start of the program",
    trial: "a benchmark of a file; its repetitions, which share a process, are averaged",
    labels: &[("benchmark", "name of the benchmark with its arguments")],
    metrics: &[
        ("real_time_ns", "ns", "wall-clock time of an iteration"),
        ("cpu_time_ns", "ns", "CPU time of an iteration"),
        ("items_per_second", "1/s", "items, where the benchmark counts them"),
        ("bytes_per_second", "B/s", "bytes, where the benchmark counts them"),
    ],
    own_metrics: "",
    lacks: &[
        "the repetitions of a file share a process and are not independent: their mean is one trial",
        "measurement order is unknown: --round run uses the file numbers as rounds",
    ],
    variants: &["file", "dir", "benchmark"],
    repeat: "start each program at least five times, alternating: for i in 1 2 3 4 5; do for p in old new; do ./$p \
             --benchmark_out_format=json --benchmark_out=$p-$i.json; done; done",
    within: Some(|path| path.ends_with(".json")),
    missing: |text| first_missing(text, &["\"benchmarks\"", "\"real_time\""]),
    read,
};

#[derive(Debug, Deserialize)]
struct Output {
    benchmarks: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    #[serde(default)]
    real_time: f64,
    #[serde(default)]
    cpu_time: f64,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    /// Includes the benchmark's own counters.
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

/// Numbers of a run that are not measurements.
const DESCRIBING: &[&str] = &[
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
];

fn read(files: &[File]) -> Result<Rows, Error> {
    each(
        files,
        "run of a benchmark (aggregates only? remove --benchmark_report_aggregates_only)",
        |file, rows| {
            let output: Output = json::parse(file, MADE_BY)?;
            let is_run =
                |run: &&Run| run.run_type.as_deref().is_none_or(|kind| kind == "iteration");
            let mut by_name: Vec<(&str, Vec<&Run>)> = Vec::new();
            for run in output.benchmarks.iter().filter(is_run) {
                let name = run.run_name.as_deref().unwrap_or(&run.name);
                match by_name.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, runs)) => runs.push(run),
                    None => by_name.push((name, vec![run])),
                }
            }
            for (name, runs) in by_name {
                let entry = trial(file, name, &runs)?;
                rows.entries.push(entry);
            }
            Ok(())
        },
    )
}

fn trial(file: &File, name: &str, runs: &[&Run]) -> Result<Entry, Error> {
    let mut entry = Entry::new(file).label("benchmark", name);
    let place = format!("benchmark {name}");
    if let Some(failed) = runs.iter().find(|run| run.error_occurred) {
        let message = failed.error_message.as_deref().unwrap_or("no message");
        entry.invalid = Some(format!("the benchmark failed: {message}"));
        return Ok(entry);
    }
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        let ns = match run.time_unit.as_deref().unwrap_or("ns") {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            other => {
                let problem = format!("time_unit {other:?} (expected ns, us, ms or s)");
                return Err(
                    Error::new(&file.path, problem, format!("write it with {MADE_BY}")).at(place)
                );
            }
        };
        values.entry("real_time_ns".to_owned()).or_default().push(run.real_time * ns);
        values.entry("cpu_time_ns".to_owned()).or_default().push(run.cpu_time * ns);
        for (counter, value) in
            run.other.iter().filter(|(counter, _)| !DESCRIBING.contains(&counter.as_str()))
        {
            values.entry(counter.clone()).or_default().extend(value.as_f64());
        }
    }
    for (metric, all) in values.into_iter().filter(|(_, all)| all.len() == runs.len()) {
        entry.put(file, &place, &metric, mean(&all))?;
    }
    Ok(entry)
}
