//! JSON for github-action-benchmark's `customBiggerIsBetter` and `customSmallerIsBetter`.
//!
//! Source: interface `BenchmarkResult` in the action's src/extract.ts. A file has one direction,
//! hence two formats. The action embeds names in a script as JSON; `<` is written as `\u003c` so
//! that no name can close the script.

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
