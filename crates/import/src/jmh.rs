//! JMH: `-rf json`.
//!
//! Source: JMH 1.37's output and the comments of its samples on forks. Iterations of a fork share a
//! virtual machine with its compiled code and heap, so a fork is a trial, with the mean of its
//! iterations as its value.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each, mean};

const MADE_BY: &str = "JMH and -rf json -rff FILE";

pub(crate) const ROW: Importer = Importer {
    name: "jmh",
    reads: "the file of JMH with -rf json",
    trial: "a fork; its iterations, which share a virtual machine, are averaged",
    labels: &[
        ("benchmark", "name of the method"),
        ("mode", "thrpt, avgt, sample or ss"),
        ("PARAMETER", "the value of a @Param"),
    ],
    metrics: &[],
    own_metrics: "The score: `throughput_ops_per_UNIT` of the mode thrpt, `time_UNIT_per_op` of the others. Secondary results are not read.",
    lacks: &[
        "the iterations of a fork are not independent: their mean is one trial, and the forks of a benchmark follow each other",
    ],
    variants: &["file", "dir", "benchmark"],
    repeat: "measure with -f 5 or more forks",
    within: Some(|path| path.ends_with(".json")),
    missing: |text| first_missing(text, &["\"primaryMetric\""]),
    read,
};

#[derive(Debug, Deserialize)]
struct Benchmark {
    benchmark: String,
    mode: String,
    #[serde(default)]
    params: BTreeMap<String, String>,
    #[serde(rename = "primaryMetric")]
    primary: Metric,
}

/// Times and their counts.
type Histogram = Vec<(f64, u64)>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score_unit: String,
    /// By fork and iteration.
    raw_data: Option<Vec<Vec<f64>>>,
    /// In sample mode: by fork and iteration.
    raw_data_histogram: Option<Vec<Vec<Histogram>>>,
}

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "fork of a benchmark", |file, rows| {
        let all: Vec<Benchmark> = json::parse(file, MADE_BY)?;
        for one in &all {
            let Benchmark { benchmark, mode, params, primary } = one;
            let place = format!("benchmark {benchmark}");
            let metric = name(mode, &primary.score_unit);
            let Some(forks) = forks(primary) else {
                return Err(Error::new(
                    &file.path,
                    "no rawData of its forks",
                    format!("write it with {MADE_BY}"),
                )
                .at(place));
            };
            for (fork, value) in forks.into_iter().enumerate() {
                let mut entry =
                    Entry::new(file).label("benchmark", &**benchmark).label("mode", &**mode);
                for (name, value) in params {
                    entry = entry.label(name, &**value);
                }
                entry.put(file, &format!("{place}, fork {}", fork + 1), &metric, value)?;
                rows.entries.push(entry);
            }
        }
        Ok(())
    })
}

/// `ns/op` of a time is `time_ns_per_op`, `ops/s` is `throughput_ops_per_s`.
fn name(mode: &str, unit: &str) -> String {
    let unit = unit.replace('/', "_per_");
    if mode == "thrpt" { format!("throughput_{unit}") } else { format!("time_{unit}") }
}

fn forks(metric: &Metric) -> Option<Vec<f64>> {
    if let Some(raw) = &metric.raw_data {
        return Some(raw.iter().filter(|fork| !fork.is_empty()).map(|fork| mean(fork)).collect());
    }
    let of = |fork: &Vec<Vec<(f64, u64)>>| {
        let pairs = || fork.iter().flatten();
        let count: f64 = pairs().map(|(_, count)| *count as f64).sum();
        pairs().map(|(time, count)| time * *count as f64).sum::<f64>() / count
    };
    Some(
        metric
            .raw_data_histogram
            .as_ref()?
            .iter()
            .filter(|fork| fork.iter().any(|one| !one.is_empty()))
            .map(of)
            .collect(),
    )
}
