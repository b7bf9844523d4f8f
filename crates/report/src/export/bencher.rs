//! Bencher Metric Format: benchmark → measure → value with lower and upper value.
//!
//! Source: <https://bencher.dev/docs/reference/bencher-metric-format> and its JSON schema
//! `bmf.json`. A benchmark name has at most 1024 characters, a measure name 64. The suffix
//! `-bencher-ignore` suppresses alerts; a plan must not do that, so an underscore is appended to
//! such names.

use serde_json::{Map, Value, json};

use super::series::Series;
use crate::words::{clean, shortened};

const LONGEST_NAME: usize = 1024;
const LONGEST_MEASURE: usize = 64;
const SUPPRESSES: &str = "-bencher-ignore";

pub(super) fn render(series: &[Series]) -> crate::Result<String> {
    let mut benchmarks = Map::new();
    for one in series {
        let mut metric = Map::new();
        metric.insert("value".into(), json!(one.mean));
        if let Some((low, high)) = one.range {
            metric.insert("lower_value".into(), json!(low));
            metric.insert("upper_value".into(), json!(high));
        }
        let measure = shortened(&clean(&one.metric), LONGEST_MEASURE);
        let mut measures = Map::new();
        measures.insert(measure, Value::Object(metric));
        benchmarks.insert(free_name(&benchmarks, one), Value::Object(measures));
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&benchmarks)?))
}

/// `a/b` on `c` and `b` on `c/a` would collide.
fn free_name(taken: &Map<String, Value>, one: &Series) -> String {
    // Leave room for a number.
    let name = shortened(&clean(&format!("{}/{}", one.workload, one.variant)), LONGEST_NAME - 8);
    let name = if name.to_lowercase().ends_with(SUPPRESSES) { format!("{name}_") } else { name };
    let mut names =
        std::iter::once(name.clone()).chain((2..).map(|number| format!("{name} {number}")));
    names.find(|name| !taken.contains_key(name)).expect("numbers do not end")
}
