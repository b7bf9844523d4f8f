//! Every file that a command writes. Foreign names must remain text in each: never markup, a link,
//! a TeX command, a formula, a new line or a terminal control sequence.
//!
//! Each writer runs in an empty directory, where files and rows must match one to one. A new
//! command or option that names a file fails the command-line test until it has a row.

mod command_line;
mod formats;
mod writers;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use formats::Format;

pub(crate) struct Written {
    pub(crate) command: &'static str,
    /// Path below the results directory; `*` matches within one component.
    pub(crate) file: &'static str,
    pub(crate) format: Format,
    /// Proves that hostile names are text in it.
    pub(crate) shown_by: ShownBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownBy {
    Writer(&'static str),
    /// Performs the attack: the file needs a device, systemd or a kernel.
    Test(&'static str),
}

use Format::*;
use ShownBy::{Test, Writer};

macro_rules! written {
    ($($command:literal by $shown:expr => { $($file:literal: $format:expr),* $(,)? })*) => {
        &[$($(Written { command: $command, file: $file, format: $format, shown_by: $shown }),*),*]
    };
}

#[rustfmt::skip]
pub(crate) static WRITTEN: &[Written] = written! {
    "run" by Writer("run") => {
        "out/plan.toml": Plan, "out/results.jsonl": JsonLines, "out/report.html": Html, "out/report.md": Markdown,
        "out/analysis.json": Json, "out/comparisons.csv": Csv, "out/trials.csv": Csv,
        "out/traces/*.csv": Csv, "out/traces/*.parquet": Parquet, "out/traces/*.perfetto-trace": Perfetto,
        "metrics.prom": OpenMetrics,
    }
    "compare" by Writer("compare") => {
        "out/plan.toml": Plan, "out/results.jsonl": JsonLines, "out/report.html": Html, "out/report.md": Markdown,
        "out/analysis.json": Json, "out/comparisons.csv": Csv, "out/trials.csv": Csv,
        "out/traces/*.csv": Csv, "metrics.prom": OpenMetrics,
    }
    "sweep" by Writer("sweep") => {
        "out/plan.toml": Plan, "out/results.jsonl": JsonLines, "out/report.html": Html, "out/report.md": Markdown,
        "out/analysis.json": Json, "out/comparisons.csv": Csv, "out/trials.csv": Csv, "out/sweep.csv": Csv,
    }
    "gate" by Writer("gate") => {
        "out*/plan.toml": Plan, "out*/results.jsonl": JsonLines, "out*/report.html": Html, "out*/report.md": Markdown,
        "out*/analysis.json": Json, "out*/comparisons.csv": Csv, "out*/trials.csv": Csv,
        "junit*.xml": JUnit, "state/*.jsonl": JsonLines, "annotations.txt": Annotations,
    }
    "shard run" by Writer("merge") => { "*.segment": JsonLines }
    "shard merge" by Writer("merge") => {
        "out/plan.toml": Plan, "out/results.jsonl": JsonLines, "out/report.html": Html, "out/report.md": Markdown,
        "out/analysis.json": Json, "out/comparisons.csv": Csv, "out/trials.csv": Csv,
    }
    "atlas" by Writer("atlas") => {
        "atlas.toml": Toml, "atlas.html": Html, "atlas.json": Json, "atlas.csv": Csv, "atlas.md": Markdown,
        "cells/*/plan.toml": Plan, "cells/*/results.jsonl": JsonLines,
    }
    "tune" by Writer("tune") => {
        "out/tune.json": Json, "out/tune.html": Html, "out/search.jsonl": JsonLines,
        "out/*/plan.toml": Plan, "out/*/results.jsonl": JsonLines, "out/*/report.html": Html, "out/*/report.md": Markdown,
        "out/*/analysis.json": Json, "out/*/comparisons.csv": Csv, "out/*/trials.csv": Csv,
    }
    "analyze" by Writer("analysis") => {
        "*/report.html": Html, "*/report.md": Markdown, "*/analysis.json": Json, "*/comparisons.csv": Csv, "*/trials.csv": Csv,
        "several/*/report.html": Html, "several/*/report.md": Markdown, "several/*/analysis.json": Json,
        "several/*/comparisons.csv": Csv, "several/*/trials.csv": Csv,
    }
    "report" by Writer("report") => {
        "report.html": Html, "report.md": Markdown, "analysis.json": Json, "comparisons.csv": Csv, "trials.csv": Csv,
        "figures/table.tex": Latex, "figures/table.md": Markdown, "figures/methods.tex": Latex, "figures/methods.md": Markdown,
        "figures/references.bib": Bibtex, "figures/*.svg": Svg, "figures/*.pdf": Pdf,
        "bencher.export": Json, "customBiggerIsBetter.export": Json, "customSmallerIsBetter.export": Json,
        "openmetrics.export": OpenMetrics, "otlp.export": Json,
    }
    "fleet contribute" by Writer("fleet") => { "lines.jsonl": JsonLines }
    "fleet push" by Writer("fleet") => { "fleet/results/*.parquet": Parquet }
    "fleet copy" by Writer("fleet") => { "copy/results/*.parquet": Parquet }
    "fleet learn" by Writer("fleet") => { "state/fleet.json": Json }
    "trace profile" by Writer("trace") => { "profile.html": Html }
    "trace convert" by Writer("trace") => {
        "trace.parquet": Parquet, "trace.iolog": Iolog, "trace.blkparse": Blkparse, "trace.perfetto-trace": Perfetto,
    }
    "trace synthesize" by Writer("trace") => { "synthesized.toml": Plan }
    "fit" by Writer("trace") => { "model.toml": Toml }
    "advise" by Writer("trace") => {
        "advice/model.toml": Toml, "advice/confirm.toml": Plan,
        "advice/replay/plan.toml": Plan, "advice/replay/results.jsonl": JsonLines, "advice/replay/report.html": Html,
        "advice/replay/report.md": Markdown, "advice/replay/analysis.json": Json, "advice/replay/comparisons.csv": Csv,
        "advice/replay/trials.csv": Csv,
    }
    "watch history" by Writer("history") => { "history.html": Html }
    "trace record" by Test("traces::the_name_of_a_process_cannot_steer_a_terminal_and_is_no_markup_in_a_page") => {
        "FILE.parquet": Parquet, "FILE.perfetto-trace": Perfetto,
    }
    "watch add" by Test("texts::the_name_of_a_device_makes_no_line_of_its_own_in_a_unit") => {
        "STATE/watch/NAME.toml": Toml, "/etc/systemd/system/schedlab-watch-NAME.service": Unit,
        "/etc/systemd/system/schedlab-watch-NAME.timer": Unit,
    }
    "watch run" by Test("lab::watch::history::tests::a_hostile_name_is_one_line_and_steers_nothing") => {
        "STATE/history/KEY/history.jsonl": JsonLines,
    }
    "persist" by Test("machine::persist::texts::tests::no_text_from_outside_makes_a_second_line") => {
        "/etc/udev/rules.d/90-schedlab-KEY.rules": Unit, "/etc/modules-load.d/schedlab-KEY.conf": Unit, "STATE/kept/KEY.json": Json,
    }
    "iocost" by Test("lab::iocost::model::tests::lines_are_those_of_the_kernel_and_of_systemd_and_without_writes_they_name_none") => {
        "standard output": Unit,
    }
    "bisect" by Test("lab::bisect::log::tests::a_hostile_step_is_one_line_and_steers_nothing") => {
        "bisect.jsonl": JsonLines, "found.toml": Plan,
    }
};

fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), name.split('/').collect());
    let part = |pattern: &str, name: &str| match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    };
    pattern.len() == name.len()
        && pattern.iter().zip(&name).all(|(pattern, name)| part(pattern, name))
}

fn files_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(at) = open.pop() {
        for path in fs::read_dir(&at).expect("readable").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(
                    path.strip_prefix(dir)
                        .expect("it is below")
                        .to_str()
                        .expect("our names")
                        .to_owned(),
                );
            }
        }
    }
    found.sort();
    found
}

#[test]
fn hostile_names_are_text_in_every_file_that_a_command_writes() {
    let stage = writers::Stage::new();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for writer in writers::WRITERS {
        let dir = stage.run(writer);
        let rows: Vec<&Written> =
            WRITTEN.iter().filter(|row| row.shown_by == Writer(writer.name)).collect();
        let mut texts = 0;
        for file in files_below(&dir) {
            let Some(row) = rows.iter().find(|row| matches(row.file, &file)) else {
                wrong.push(format!("{}: {file}: no row of the table has it", writer.name));
                continue;
            };
            seen.insert((row.command, row.file));
            match row.format.check(&dir.join(&file)) {
                Ok(shows_name) => texts += usize::from(shows_name),
                Err(why) => wrong.push(format!("{}: {file}: {why}", writer.name)),
            }
        }
        if texts == 0 && writer.is_hostile {
            wrong.push(format!("{}: no file shows the hostile name", writer.name));
        }
    }
    let unseen = WRITTEN.iter().filter(|row| {
        matches!(row.shown_by, Writer(_)) && !seen.contains(&(row.command, row.file))
    });
    wrong.extend(unseen.map(|row| format!("{}: {}: no writer has made it", row.command, row.file)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_row_matches_names_of_its_own_and_no_others() {
    assert!(
        matches("out/traces/*.csv", "out/traces/a-b.csv")
            && matches("figures/*.svg", "figures/.svg")
    );
    for name in ["out/traces/a.csv/b", "out/a.csv", "out/traces/a.csv.html", "traces/a.csv"] {
        assert!(!matches("out/traces/*.csv", name), "{name}");
    }
    for (i, row) in WRITTEN.iter().enumerate() {
        assert!(
            WRITTEN[..i].iter().all(|other| (other.command, other.file) != (row.command, row.file)),
            "{}",
            row.file
        );
    }
}

/// In the crate, or the attack file, that its first word names.
fn exists(test: &str) -> bool {
    let (first, name) =
        (test.split("::").next().unwrap_or_default(), test.rsplit("::").next().unwrap_or_default());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is among the crates");
    let start = format!("fn {name}(");
    let has = |text: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.windows(2).any(|pair| pair[0].starts_with("#[") && pair[1].starts_with(&start))
    };
    let attacks = crates.join("schedlab/tests/it/attacks").join(first).with_extension("rs");
    if attacks.exists() {
        return has(&fs::read_to_string(attacks).expect("readable"));
    }
    let dir = crates.join(first).join("src");
    let files = files_below(&dir);
    files
        .iter()
        .filter(|file| file.ends_with(".rs"))
        .any(|file| has(&fs::read_to_string(dir.join(file)).expect("readable")))
}

#[test]
fn the_test_that_a_row_names_exists() {
    assert!(!exists("texts::no_such_attack") && !exists("lab::no_such_test"));
    for row in WRITTEN {
        if let Test(name) = row.shown_by {
            assert!(exists(name), "{} {}: {name}", row.command, row.file);
        }
    }
}
