//! What the sources say about layers: which crate may use which, what pure crates do without, and that every file says what it is.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::finding::Finding;
use crate::workspace::{Krate, Workspace, files, is_rust, read};

/// What the two programs may use, each beside the other and not over it.
const OF_A_PROGRAM: &[&str] = &[
    "text",
    "confine",
    "elevator",
    "trace",
    "recorder",
    "workload",
    "sim",
    "experiment",
    "tuner",
    "foreign",
    "files",
    "fit",
    "fleet",
    "host",
    "loadgen",
    "cpu",
    "runner",
    "guest",
    "lab",
    "report",
    "cpu-workloads",
];

/// What selfbench may use: the same, and what replays scripts on schedulers.
const OF_THE_BENCH: &[&str] = &[
    "text",
    "confine",
    "elevator",
    "trace",
    "recorder",
    "elevator-laws",
    "workload",
    "sim",
    "experiment",
    "tuner",
    "foreign",
    "files",
    "fit",
    "fleet",
    "host",
    "loadgen",
    "cpu",
    "runner",
    "guest",
    "lab",
    "report",
    "cpu-workloads",
];

/// A crate, and the crates of the workspace that it may use: only such as stand above it in this table.
pub const LAYERS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("elevator", &[]),
    // The laws of schedulers and scripts for them, for tests, selfbench and teaching in Python: no program that ships depends on them.
    ("elevator-laws", &["elevator"]),
    ("trace", &["text", "elevator"]),
    ("workload", &["text", "elevator", "trace"]),
    ("sim", &["text", "elevator", "trace", "workload"]),
    ("fit", &["text", "elevator", "trace", "sim"]),
    // The C disk of the kernel arena and the elevators' C cores, for their tests only: nothing that ships depends on them.
    ("disk-core", &["elevator", "sim"]),
    ("kernel-core", &["elevator"]),
    ("experiment", &["text"]),
    ("tuner", &["text", "experiment"]),
    ("report", &["text", "trace", "experiment"]),
    ("foreign", &["text", "experiment"]),
    ("cpu-workloads", &[]),
    ("files", &["text"]),
    ("confine", &[]),
    ("fleet", &["text", "experiment", "files"]),
    // A kernel that dies at a chosen step, for tests only: nothing that ships depends on it.
    ("crashpoints", &["files"]),
    // Devices and directories of one test: nothing that ships depends on it.
    ("testbed", &[]),
    ("loadgen", &["text", "elevator", "workload"]),
    ("host", &["text", "elevator", "files", "workload"]),
    ("recorder", &["text", "files", "trace", "host"]),
    ("cpu", &["text", "files", "host"]),
    ("runner", &["text", "workload", "files", "host", "cpu", "cpu-workloads"]),
    // Of sim it has the turnarounds of clients, which are drawn alike in both arenas.
    ("guest", &["text", "confine", "elevator", "files", "workload", "sim"]),
    (
        "lab",
        &[
            "text",
            "elevator",
            "trace",
            "recorder",
            "files",
            "fit",
            "workload",
            "sim",
            "experiment",
            "tuner",
            "foreign",
            "host",
            "loadgen",
            "cpu",
            "runner",
            "guest",
            "cpu-workloads",
        ],
    ),
    ("selfbench", OF_THE_BENCH),
    ("schedlab", OF_A_PROGRAM),
    // A library of Python, which teaches with the laws of schedulers.
    ("python", &["text", "elevator", "elevator-laws", "sim", "experiment", "files", "lab", "report"]),
    // For developers: the book's tests, and this crate.
    ("docs", &[]),
    ("lint", &[]),
];

/// Crates whose result depends on their arguments alone.
pub const PURE: &[&str] =
    &["text", "elevator", "trace", "workload", "sim", "fit", "experiment", "tuner", "report", "foreign"];

/// What a pure crate does without: clocks, files, threads, the process's surroundings, and an order that changes from run to run.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::thread",
    "std::env",
    "std::net",
    "std::process",
    "std::io",
    "Instant::",
    "SystemTime",
    "HashMap",
    "HashSet",
    "println!",
    "unsafe ",
];

pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let crates = workspace.crates()?;
    let mut found = Vec::new();
    for krate in &crates {
        found.extend(arrows(workspace, krate)?);
        if PURE.contains(&krate.name.as_str()) {
            found.extend(impurities(workspace, krate)?);
        }
        found.extend(heads(workspace, krate)?);
    }
    Ok(found)
}

/// Dependencies that the table does not allow, and crates that it does not have.
fn arrows(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let manifest = krate.dir.join("Cargo.toml");
    let finding = |line: usize, text: String| Finding { path: workspace.relative(&manifest), line, text };
    let Some(row) = LAYERS.iter().position(|(name, _)| *name == krate.name) else {
        return Ok(vec![finding(1, format!("{}: has no row in crates/lint/src/layers.rs; add one", krate.name))]);
    };
    let text = read(&manifest)?;
    let table: toml::Table = text.parse().with_context(|| format!("{}: does not parse", manifest.display()))?;
    let names: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let dependencies = table.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
    let ours = dependencies.map(|(name, _)| name.as_str()).filter(|name| names.contains(name));
    let line = |name: &str| text.lines().position(|line| line.starts_with(name)).map_or(1, |at| at + 1);
    Ok(ours
        .filter(|name| !LAYERS[row].1.contains(name))
        .map(|name| finding(line(name), format!("{}: must not depend on {name}", krate.name)))
        .collect())
}

fn impurities(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for path in files(&krate.dir.join("src"), &is_rust)? {
        let text = read(&path)?;
        let code = text.split("#[cfg(test)]").next().expect("split gives at least one part");
        for (at, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                let text = format!("{word} in a pure crate");
                found.push(Finding { path: workspace.relative(&path), line: at + 1, text });
            }
        }
    }
    Ok(found)
}

fn heads(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for path in files(&krate.dir, &is_rust)? {
        if !read(&path)?.starts_with("//!") {
            let text = "does not begin with //! and what the file is".to_string();
            found.push(Finding { path: workspace.relative(&path), line: 1, text });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_one_way() {
        for (row, (name, may_use)) in LAYERS.iter().enumerate() {
            for used in *may_use {
                let at = LAYERS.iter().position(|(other, _)| other == used).expect("a row that exists");
                assert!(at < row, "{name} uses {used}, which must stand above it");
            }
        }
    }
}
