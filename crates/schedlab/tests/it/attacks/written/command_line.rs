//! The table against the command line: every command, and every option that names a file.

use std::collections::{BTreeMap, BTreeSet};

use super::WRITTEN;

/// Commands without result files. Only schedlab reads the journal entries and caches that they
/// write.
const WRITE_NOTHING: &[&str] = &[
    "devices",
    "list",
    "show",
    "set",
    "unpersist",
    "fleet report",
    "fleet verdict",
    "fleet compare",
    "fleet query",
    "watch list",
    "watch remove",
    "status",
    "restore",
    "kernel build",
    "kernel list",
    "kernel exec",
    "kernel clean",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Reads,
    Writes,
}

const OPTIONS: &[(&str, Use)] = &[
    ("--cache-dir", Use::Writes),
    ("--figures", Use::Writes),
    ("--fleet", Use::Writes),
    ("--from", Use::Reads),
    ("--html", Use::Writes),
    ("--junit", Use::Writes),
    ("--loop-dir", Use::Writes),
    ("--merge", Use::Reads),
    ("--metrics-file", Use::Writes),
    ("--model", Use::Reads),
    ("--out", Use::Writes),
    ("--patch", Use::Reads),
    ("--plan", Use::Reads),
    ("--state", Use::Writes),
    ("--state-dir", Use::Writes),
    ("--textfile", Use::Writes),
    ("--to", Use::Writes),
    ("--writes-from", Use::Reads),
    ("--device", Use::Reads),
    ("--against", Use::Reads),
];

/// Its own test keeps it current.
const PAGE: &str = include_str!("../../../../../../docs/src/reference/cli.md");

fn commands() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut command = String::new();
    for line in PAGE.lines() {
        if let Some(name) = line.strip_prefix("## schedlab ") {
            name.clone_into(&mut command);
            found.entry(command.clone()).or_default();
        }
        let Some((option, value)) =
            line.strip_prefix("| `--").and_then(|rest| rest.split_once(" <"))
        else {
            continue;
        };
        let value = value.split('`').next().unwrap_or_default();
        if ["FILE", "DIR", "TRACE", "RESULTS"].iter().any(|kind| value.contains(kind)) {
            found.entry(command.clone()).or_default().insert(format!("--{option}"));
        }
    }
    found
}

#[test]
fn every_command_is_in_the_table_or_writes_nothing() {
    let all = commands();
    let groups: BTreeSet<&str> =
        all.keys().filter_map(|name| name.split_once(' ')).map(|(group, _)| group).collect();
    let table: BTreeSet<&str> = WRITTEN.iter().map(|row| row.command).collect();
    for name in all.keys().filter(|name| !name.is_empty() && !groups.contains(name.as_str())) {
        let (writes, nothing) =
            (table.contains(name.as_str()), WRITE_NOTHING.contains(&name.as_str()));
        assert!(writes != nothing, "{name}: give it rows in WRITTEN, or name it in WRITE_NOTHING");
    }
    for name in table.iter().chain(WRITE_NOTHING) {
        assert!(all.contains_key(*name), "{name}: no such command");
    }
}

#[test]
fn every_option_that_names_a_file_is_known() {
    let all = commands();
    let found: BTreeSet<&str> = all.values().flatten().map(String::as_str).collect();
    let known: BTreeSet<&str> = OPTIONS.iter().map(|(option, _)| *option).collect();
    let new: Vec<&&str> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "{new:?}: if it writes, a writer of `writers.rs` must give it and WRITTEN have its file; name it in OPTIONS"
    );
    // Options that write results need a writer.
    let writers = include_str!("writers.rs");
    let elsewhere = ["--cache-dir", "--loop-dir", "--state-dir", "--textfile"];
    for (option, _) in
        OPTIONS.iter().filter(|(option, of)| *of == Use::Writes && !elsewhere.contains(option))
    {
        assert!(
            writers.contains(&format!("{option} ")),
            "{option}: no writer of `writers.rs` gives it"
        );
    }
}
