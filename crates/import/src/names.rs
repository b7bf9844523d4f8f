//! Derives variants from file names: `none-1.json` and `none-2.json` are two trials of `none`.
//!
//! A trailing number is a trial's only if the numbers of a name count from 0 or 1 without gaps:
//! `nr_requests-64` and `nr_requests-128` are two variants.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::Entry;

/// Adds the labels `file` and `dir` without trial numbers, and `run`, the number if there is one.
pub(crate) fn add(entries: &mut [Entry]) {
    let place = |name: &'static str, of: fn(&str) -> String| {
        move |entry: &Entry| match entry.of(name) {
            Some(given) => given.to_owned(),
            None => of(entry.of("path").unwrap_or_default()),
        }
    };
    let files: Vec<String> = entries.iter().map(place("file", stem)).collect();
    let dirs: Vec<String> = entries.iter().map(place("dir", parent)).collect();
    let (file_bases, dir_bases) = (numbered(&files), numbered(&dirs));
    for (at, entry) in entries.iter_mut().enumerate() {
        let mut run = None;
        for (name, whole, bases) in
            [("dir", &dirs[at], &dir_bases), ("file", &files[at], &file_bases)]
        {
            let short = match split(whole).filter(|(base, _)| bases.contains(*base)) {
                Some((base, number)) => {
                    run = Some(number);
                    base
                }
                None => whole,
            };
            set(entry, name, short);
        }
        if let Some(run) = run.filter(|_| entry.of("run").is_none()) {
            set(entry, "run", &run.to_string());
        }
    }
}

fn set(entry: &mut Entry, name: &str, value: &str) {
    match entry.labels.iter_mut().find(|(label, _)| label == name) {
        Some(label) => label.1 = value.to_owned(),
        None => entry.labels.push((name.to_owned(), value.to_owned())),
    }
}

/// The names whose numbers count trials.
fn numbered(names: &[String]) -> BTreeSet<String> {
    let mut numbers: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for (base, number) in names.iter().filter_map(|name| split(name)) {
        numbers.entry(base).or_default().insert(number);
    }
    let counts = |numbers: &BTreeSet<u64>| {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
        *first <= 1 && last - first + 1 == numbers.len() as u64
    };
    numbers
        .into_iter()
        .filter(|(_, numbers)| counts(numbers))
        .map(|(base, _)| base.to_owned())
        .collect()
}

/// Splits a trailing number off: `none-1`, `none.run3`, `2`.
fn split(name: &str) -> Option<(&str, u64)> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[base.len()..].parse().ok()?;
    let short = base.trim_end_matches(['-', '_', '.']);
    let separated = short.len() < base.len() || short.is_empty();
    let words = ["run", "r", "rep", "trial", "iter", "iteration"];
    let without = words.iter().find_map(|word| {
        let before = short.strip_suffix(word)?;
        let shorter = before.trim_end_matches(['-', '_', '.']);
        (shorter.len() < before.len() || before.is_empty()).then_some(shorter)
    });
    match without {
        Some(base) => Some((base, number)),
        None if separated => Some((short, number)),
        None => None,
    }
}

/// The file name without its directory and last extension.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

fn parent(path: &str) -> String {
    path.rsplit('/').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(paths: &[&str]) -> Vec<(String, String)> {
        let entry = |path: &&str| Entry {
            labels: vec![("path".into(), (*path).into())],
            ..Entry::default()
        };
        let mut entries: Vec<Entry> = paths.iter().map(entry).collect();
        add(&mut entries);
        let of = |entry: &Entry, name: &str| entry.of(name).unwrap_or("-").to_owned();
        entries.iter().map(|entry| (of(entry, "file"), of(entry, "run"))).collect()
    }

    #[test]
    fn the_number_of_a_trial_is_no_part_of_the_variant() {
        for names in [
            ["none-1.json", "none-2.json"],
            ["a/none_0.txt", "a/none_1.txt"],
            ["none.run1.json", "none.run2.json"],
        ] {
            let labels = labels(&names);
            assert!(labels.iter().all(|(file, run)| file == "none" && run != "-"), "{labels:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_count_trials_are_values_of_a_variant() {
        for (names, files) in [
            (["nr-64.json", "nr-128.json"], ["nr-64", "nr-128"]),
            (["bfq.json", "kyber2.json"], ["bfq", "kyber2"]),
            (["depth-2.json", "depth-4.json"], ["depth-2", "depth-4"]),
        ] {
            assert_eq!(
                labels(&names).iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(),
                files
            );
        }
    }
}
