//! mmtests: directories `work/log/RUN/iter-N/BENCHMARK/logs`, and the output of its parsers.
//!
//! Source: `run-mmtests.sh`, `bin/run-single-test.sh` and `shellpack_src/src/*/parse-results` of
//! mmtests, June 2026. Each benchmark's script `parse-results` converts its logs to tab-separated
//! lines `metric factorA factorB interval value extra`, which are read for every benchmark. Raw
//! logs are read for hackbench (`Total time: N`, one per process) and pgbench. The variant is RUN.
//! A trial is an iteration (`iter-N`), with its intervals averaged, or a process of hackbench.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::importer::Importer;
use crate::pgbench;
use crate::rows::{Entry, File, Rows, each, mean};

pub(crate) const ROW: Importer = Importer {
    name: "mmtests",
    reads: "the directories work/log/RUN of mmtests (logs of hackbench and pgbench), or what the parse-results of a benchmark prints \
            (parse-results work/log/RUN/iter-N/BENCHMARK/logs > RUN/iter-N/BENCHMARK.tsv)",
    trial: "an iteration (iter-N); of hackbench a process",
    labels: &[
        ("mmtests_run", "the name of the run, the directory above iter-N"),
        ("benchmark", "the benchmark"),
        ("factor", "factorA and factorB: the number of clients, groups or threads, and others"),
    ],
    metrics: &[],
    own_metrics: "The first column of a parser's lines; `time_s` of hackbench, those of pgbench. Set the direction of other \
                  names with `--higher-is-better` or `--lower-is-better`.",
    lacks: &["mmtests measures one run after the other: drift biases the comparison"],
    variants: &["mmtests_run", "file", "dir"],
    repeat: "measure with MMTEST_ITERATIONS=5 or more",
    within: Some(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_log = (name.starts_with("hackbench-") && !name.contains('.'))
            || (name.starts_with("pgbench-") && name.ends_with(".log"));
        (is_log && !name.contains("transactions") && !name.contains("init"))
            || name.ends_with(".tsv")
    }),
    missing: |text| {
        let first = text.lines().next().unwrap_or_default();
        let is_parsed = first.split('\t').count() == 6 && parsed(first).is_some();
        (!is_parsed).then_some("first line of a parser: six columns, with tabs between")
    },
    read,
};

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "value", |file, rows| {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        if file.text.contains("Total time:") {
            return hackbench(file, name, rows);
        }
        if file.text.contains("transaction type: ") {
            let before = rows.entries.len();
            pgbench::output(file, rows)?;
            let clients = name.trim_start_matches("pgbench-").trim_end_matches(".log").to_owned();
            for entry in &mut rows.entries[before..] {
                entry.labels.retain(|(label, _)| label == "path");
                *entry =
                    with_place(file, std::mem::take(entry), "pgbench").label("factor", &*clients);
            }
            return Ok(());
        }
        lines(file, rows)
    })
}

/// The labels in a path …/RUN/iter-N/BENCHMARK/….
fn with_place(file: &File, mut entry: Entry, benchmark: &str) -> Entry {
    let parts: Vec<&str> = file.path.split('/').collect();
    let iteration = parts
        .iter()
        .position(|part| part.strip_prefix("iter-").is_some_and(|n| n.parse::<u32>().is_ok()));
    if let Some(at) = iteration.filter(|at| *at > 0) {
        entry = entry.label("mmtests_run", parts[at - 1]).label("run", &parts[at]["iter-".len()..]);
        // These names differ within a run and do not name variants.
        entry = entry.label("file", benchmark).label("dir", "");
        if at + 2 < parts.len() {
            return entry.label("benchmark", parts[at + 1]);
        }
    }
    if benchmark.is_empty() { entry } else { entry.label("benchmark", benchmark) }
}

fn hackbench(file: &File, name: &str, rows: &mut Rows) -> Result<(), Error> {
    let groups = name.rsplit_once('-').map_or(name, |(_, groups)| groups);
    for (at, text) in file.text.lines().enumerate() {
        let Some(rest) = text.trim_start().strip_prefix("Total time:") else { continue };
        let word = rest.split_whitespace().next().unwrap_or_default();
        let place = format!("line {}", at + 1);
        let seconds = word.parse::<f64>().map_err(|_| {
            let problem = format!("{word:?} is not a time in seconds (localised?)");
            Error::new(&file.path, problem, "measure it again with LC_ALL=C").at(&*place)
        })?;
        let mut entry = with_place(file, Entry::new(file), "hackbench").label("factor", groups);
        // The processes of an iteration are separate trials, but unnumbered.
        entry.labels.retain(|(label, _)| label != "run");
        entry.put(file, &place, "time_s", seconds)?;
        rows.entries.push(entry);
    }
    Ok(())
}

/// A line of a parser: metric, factors, value.
fn parsed(line: &str) -> Option<(&str, String, &str)> {
    let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [metric, a, b, _interval, value, ..] = cells[..] else { return None };
    let is_empty = |factor: &&str| *factor == "_" || factor.is_empty();
    let factors: Vec<&str> = [a, b].into_iter().filter(|factor| !is_empty(factor)).collect();
    value.parse::<f64>().is_ok().then(|| (metric, factors.join(" "), value))
}

fn lines(file: &File, rows: &mut Rows) -> Result<(), Error> {
    let mut values: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for (at, text) in file.text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let Some((metric, factor, value)) = parsed(text) else {
            let problem = "not a line of a parser of mmtests (metric, factorA, factorB, interval, value and extra, with tabs between)";
            let remedy =
                "write it with the parse-results of the benchmark, or name the directory of a run";
            return Err(Error::new(&file.path, problem, remedy).at(format!("line {}", at + 1)));
        };
        let value = value.parse().unwrap_or(f64::NAN);
        values.entry((factor, metric.to_owned())).or_default().push(value);
    }
    let mut entry: Option<Entry> = None;
    for ((factor, metric), all) in values {
        if all.len() > 1 {
            rows.remark("several values of one iteration (intervals) are averaged: they come from one process and are no trials of their own");
        }
        if entry.as_ref().is_none_or(|entry| entry.of("factor") != Some(&factor)) {
            rows.entries.extend(entry.take());
        }
        let place = format!("{metric} {factor}");
        let entry = entry.get_or_insert_with(|| {
            let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".tsv");
            let benchmark = if file.path.contains("/iter-") { stem } else { "" };
            with_place(file, Entry::new(file), benchmark).label("factor", &*factor)
        });
        entry.put(file, &place, &metric, mean(&all))?;
    }
    rows.entries.extend(entry);
    Ok(())
}
