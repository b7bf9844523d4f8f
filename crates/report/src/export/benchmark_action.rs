//! JSON for github-action-benchmark, whose tools `customBiggerIsBetter` and `customSmallerIsBetter`
//! read a list of benchmarks.
//!
//! Source: the interface `BenchmarkResult` in the action's src/extract.ts: name, value, unit, and
//! as text range and extra. A file is of one direction, so there are two formats. The action shows
//! names on a page that it makes of a script, where they are escaped as JSON; a `<` is written as
//! `\u003c`, so that no name can end that script.

use experiment::metric::Direction;
use serde_json::{Value, json};

use super::series::Series;
use crate::number;
use crate::words::{clean, counted};

pub(super) fn render(series: &[Series], direction: Direction) -> crate::Result<String> {
    let benchmarks: Vec<Value> =
        series.iter().filter(|one| one.direction == direction).map(benchmark).collect();
    Ok(format!("{}\n", serde_json::to_string_pretty(&benchmarks)?.replace('<', "\\u003c")))
}

fn benchmark(one: &Series) -> Value {
    let mut benchmark = json!({
        "name": clean(&format!("{} / {} / {}", one.workload, one.variant, one.metric)),
        "unit": one.unit,
        "value": one.mean,
        "extra": format!("{}; geometric mean, 95 % interval", counted(one.n as u64, "trial")),
    });
    if let Some((low, high)) = one.range {
        benchmark["range"] =
            format!("{} … {}", number::significant(low), number::significant(high)).into();
    }
    benchmark
}
