//! LKP (intel/lkp-tests): `stats.json` of results, and the `matrix.json` above them.
//!
//! Source: `lib/matrix.rb` and `lib/result.rb` of lkp-tests, July 2026. A result is a directory
//! TESTCASE/PARAMS/TBOX/ROOTFS/KCONFIG/COMPILER/COMMIT/RUN whose `stats.json` holds the run's mean
//! of each value. One level up, `matrix.json` has one column per run, identified by `stats_source`.
//! Without that list it holds samples of one run over time, which are not trials. Runs with
//! `last_state.is_incomplete_run` are invalid.

use std::collections::BTreeMap;

use experiment::metric::direction_of_column;
use serde_json::Value;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each};

const MADE_BY: &str = "lkp run, which leaves stats.json in its result";
/// Path components above the run, innermost first.
const SCHEME: &[&str] = &["commit", "compiler", "kconfig", "rootfs", "tbox", "params", "testcase"];

pub(crate) const ROW: Importer = Importer {
    name: "lkp",
    reads: "results of lkp-tests: directories, stats.json of runs, or the matrix.json over runs; gunzip what is compressed",
    trial: "a run (one boot of a machine, or one lkp run)",
    labels: &[
        ("commit", "the kernel's commit, from the path"),
        ("testcase", "likewise; also params, tbox, rootfs, kconfig and compiler"),
    ],
    metrics: &[],
    own_metrics: "The statistics of the testcase itself (`TESTCASE.NAME`) whose names tell which way is better; any other by `--metric`.",
    lacks: &["LKP's results contain no measurement order"],
    variants: &["commit", "file", "dir"],
    repeat: "queue the job several times for each commit",
    within: Some(|path| path.ends_with("/stats.json")),
    missing: |text| {
        let is_matrix = text.contains("\"stats_source\"");
        let is_object = text.trim_start().starts_with('{');
        let missing = first_missing(text, &[".time.elapsed_time"]);
        missing.or((!is_object).then_some("JSON")).filter(|_| !is_matrix)
    },
    read,
};

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "value", |file, rows| {
        let all: BTreeMap<String, Value> = json::parse(file, MADE_BY)?;
        let lists = all.values().any(Value::is_array);
        match (lists, all.get("stats_source")) {
            (false, _) => run(file, &all, None, rows)?,
            (true, Some(Value::Array(sources))) => {
                for column in 0..sources.len() {
                    run(file, &all, Some(column), rows)?;
                }
            }
            (true, _) => {
                let problem = "samples of one run over time (a matrix.json without stats_source)";
                return Err(Error::new(
                    &file.path,
                    problem,
                    "name the stats.json next to it, or the matrix.json over the runs",
                ));
            }
        }
        Ok(())
    })
}

/// One run: a `stats.json`, or a column of a `matrix.json`.
fn run(
    file: &File,
    all: &BTreeMap<String, Value>,
    column: Option<usize>,
    rows: &mut Rows,
) -> Result<(), Error> {
    let of = |value: &Value| match (column, value) {
        (Some(column), Value::Array(list)) => list.get(column).and_then(Value::as_f64),
        (_, value) => value.as_f64(),
    };
    let mut entry = Entry::new(file);
    let mut parts: Vec<&str> = file.path.split('/').collect();
    parts.pop();
    if column.is_none()
        && let Some(run) = parts.pop()
    {
        entry = entry.label("run", run);
    }
    for (name, part) in SCHEME.iter().zip(parts.iter().rev()).filter(|(_, part)| !part.is_empty()) {
        entry = entry.label(name, *part);
    }
    if parts.len() >= 2 {
        // All files have the same name, and their directories are the runs.
        entry = entry.label("file", "").label("dir", "");
    }
    let incomplete = all.get("last_state.is_incomplete_run").and_then(of);
    entry.invalid = incomplete
        .filter(|count| *count > 0.0)
        .map(|_| "the run is incomplete (last_state.is_incomplete_run)".to_owned());
    let own = testcase(all);
    // In a name of time(1)'s values, the part after `.time.`.
    let word = |name: &str| name.rsplit_once(".time.").map_or(name, |(_, word)| word).to_owned();
    let is_own = |name: &str| {
        own.is_some_and(|own| name.starts_with(own)) && direction_of_column(&word(name)).is_some()
    };
    let mut names: Vec<&String> = all.keys().collect();
    // Values of the testcase precede those of time(1).
    names.sort_by_key(|name| (!is_own(name), name.contains(".time.")));
    for name in names {
        // Monitors may report negative differences; they do not measure the testcase.
        if let Some(number) = of(&all[name]).filter(|number| number.is_finite() && *number >= 0.0) {
            entry.put(file, name, name, number)?;
            if !is_own(name) {
                rows.aside.insert(name.clone());
            }
        }
    }
    if entry.values.is_empty() && entry.invalid.is_none() {
        return Err(Error::new(&file.path, "no numbers", format!("write it with {MADE_BY}")));
    }
    rows.entries.push(entry);
    Ok(())
}

/// The prefix of the testcase's own statistics. LKP times the testcase, so it has an elapsed time.
pub(crate) fn testcase(all: &BTreeMap<String, Value>) -> Option<&str> {
    all.keys()
        .find_map(|name| name.strip_suffix("time.elapsed_time"))
        .filter(|prefix| !prefix.is_empty())
}
