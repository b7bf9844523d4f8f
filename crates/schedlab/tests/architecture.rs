//! The invariants of ARCHITECTURE.md that can be read off the sources: who may depend on whom, and what pure crates do without.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A crate, and the crates of the workspace that it may use. Arrows go one way: each may use only what stands above it.
const LAYERS: [(&str, &[&str]); 12] = [
    ("elevator", &[]),
    ("workload", &["elevator"]),
    ("sim", &["elevator", "workload"]),
    // The C disk of the kernel arena, for its tests only: nothing that ships depends on it.
    ("disk-core", &["elevator", "sim"]),
    ("experiment", &[]),
    ("tuner", &["experiment"]),
    ("cpuwork", &[]),
    ("host", &["elevator", "workload"]),
    ("runner", &["workload", "host", "cpuwork"]),
    ("kernel-core", &["elevator"]),
    // Of sim it has the turnarounds of clients, which are drawn alike in both arenas.
    ("guest", &["elevator", "workload", "sim"]),
    ("schedlab", &["elevator", "workload", "sim", "experiment", "tuner", "host", "runner", "guest", "cpuwork"]),
];

const PURE: [&str; 5] = ["elevator", "workload", "sim", "experiment", "tuner"];

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

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn is_prose(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn crates_depend_on_each_other_one_way_only() {
    let names: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let mut on_disk: Vec<String> =
        fs::read_dir(crates()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    on_disk.sort();
    assert_eq!(on_disk, names.iter().map(ToString::to_string).collect::<Vec<_>>(), "every crate has its place");
    for (name, may_use) in LAYERS {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        for (dependency, _) in manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten() {
            if names.contains(dependency.as_str()) {
                assert!(may_use.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
            }
        }
    }
}

#[test]
fn pure_crates_know_no_clock_file_thread_or_chance_order() {
    for name in PURE {
        for path in sources(&crates().join(name).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for (number, line) in code.lines().enumerate().filter(|(_, line)| !is_prose(line)) {
                for word in IMPURE {
                    assert!(!line.contains(word), "{}:{}: {word} in a pure crate", path.display(), number + 1);
                }
            }
        }
        let head = fs::read_to_string(crates().join(name).join("src/lib.rs")).unwrap();
        assert!(head.contains("#![forbid(unsafe_code)]"), "{name} forbids unsafe code");
    }
}

#[test]
fn every_file_begins_by_saying_what_it_is() {
    for (name, _) in LAYERS {
        for path in sources(&crates().join(name)) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//!"), "{} begins with //!", path.display());
        }
    }
}
