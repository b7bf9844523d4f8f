//! Turns the trials of a format into samples: selects the labels of variant, workload and round,
//! and collects cautions.
//!
//! Variant: the pattern, else the named label, else the first label listed by the format that
//! differs between trials, else any label that differs. Workload: the named label, else all other
//! labels that differ. Round: the pattern or the named label, else none.

use std::collections::{BTreeMap, BTreeSet};

use experiment::metric::Direction;
use experiment::results::InvalidReason;
use experiment::samples::Sample;
use regex::Regex;
use text::limits::{COMPARISONS, SAMPLES, TABLE_ROWS, VARIANTS, WORKLOADS};

use crate::error::Error;
use crate::importer::Importer;
use crate::names;
use crate::rows::{Entry, File, Rows};

#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    pub variant: Option<&'a str>,
    pub variant_pattern: Option<&'a str>,
    pub round: Option<&'a str>,
    pub round_pattern: Option<&'a str>,
    pub workload: Option<&'a str>,
    /// All if empty.
    pub metrics: &'a [String],
}

#[derive(Debug)]
pub struct Import {
    pub samples: Vec<Sample>,
    /// The primary metric, by workload.
    pub primary: BTreeMap<String, String>,
    /// The better direction of metrics, if the format states it.
    pub directions: BTreeMap<String, Direction>,
    pub cautions: Vec<String>,
}

/// Reads the files of a format and applies the options.
pub fn import(row: &Importer, files: &[File], choice: &Choice<'_>) -> Result<Import, Error> {
    let mut rows = (row.read)(files)?;
    TABLE_ROWS.check(rows.entries.len())?;
    names::add(&mut rows.entries);
    let entries = &rows.entries;
    let patterns =
        [("--variant-pattern", choice.variant_pattern), ("--round-pattern", choice.round_pattern)];
    let [variant_pattern, round_pattern] =
        patterns.map(|(flag, pattern)| pattern.map(|text| Pattern::new(flag, text)).transpose());
    let (variant_pattern, round_pattern) = (variant_pattern?, round_pattern?);
    let mut used: BTreeSet<String> = ["path", "run"].map(str::to_owned).into();
    let variants = match (&variant_pattern, choice.variant) {
        (Some(pattern), _) => pattern.of_all(entries, &mut used)?,
        (None, Some(label)) => named("--variant", label, entries, &mut used)?,
        (None, None) => {
            let label = variant_label(row, entries, choice);
            named("--variant", &label, entries, &mut used)?
        }
    };
    let rounds = match (&round_pattern, choice.round) {
        (Some(pattern), _) => Some(pattern.of_all(entries, &mut used)?),
        (None, Some(label)) => Some(named("--round", label, entries, &mut used)?),
        (None, None) => None,
    };
    let workloads = match choice.workload {
        Some(label) => named("--workload", label, entries, &mut used)?,
        None => others(entries, &used, &variants),
    };
    let metrics = Metrics::of(row, &rows, choice)?;
    let samples = samples(entries, &[&variants, &workloads], rounds.as_deref(), &metrics)?;
    let primary = metrics.primary(entries, &workloads);
    let cautions = cautions(row, &rows, &variants, &workloads, &samples);
    Ok(Import { samples, primary, directions: rows.directions, cautions })
}

/// The default label of the variant.
fn variant_label(row: &Importer, entries: &[Entry], choice: &Choice<'_>) -> String {
    let taken = [choice.round, choice.workload, Some("path"), Some("run")];
    let own = entries.iter().flat_map(|entry| entry.labels.iter().map(|(name, _)| name.as_str()));
    let candidates =
        row.variants.iter().copied().chain(own).filter(|name| !taken.contains(&Some(*name)));
    let mut seen = BTreeSet::new();
    let mut differing =
        candidates.filter(|name| seen.insert(*name)).filter(|name| differs(entries, name));
    differing.next().unwrap_or(row.variants.first().copied().unwrap_or("file")).to_owned()
}

fn differs(entries: &[Entry], label: &str) -> bool {
    entries.iter().any(|entry| entry.of(label) != entries[0].of(label))
}

/// The values of a label that every trial must have.
fn named(
    flag: &str,
    label: &str,
    entries: &[Entry],
    used: &mut BTreeSet<String>,
) -> Result<Vec<String>, Error> {
    used.insert(label.to_owned());
    let value = |entry: &Entry| {
        entry.of(label).map(str::to_owned).ok_or_else(|| {
            let known: Vec<&str> = entry.labels.iter().map(|(name, _)| name.as_str()).collect();
            let problem = format!(
                "{} has no such label (found {})",
                entry.of("path").unwrap_or_default(),
                known.join(", ")
            );
            Error::new(format!("{flag} {label}"), problem, "name one of them, or give a pattern")
        })
    };
    entries.iter().map(value).collect()
}

/// All unused labels that differ, joined. A label that is constant within every variant is an alias
/// of the variant.
fn others(entries: &[Entry], used: &BTreeSet<String>, variants: &[String]) -> Vec<String> {
    let all: BTreeSet<&str> = entries
        .iter()
        .flat_map(|entry| entry.labels.iter().map(|(name, _)| name.as_str()))
        .collect();
    let names_the_variant = |label: &str| {
        let mut of_variant: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        entries.iter().zip(variants).all(|(entry, variant)| {
            *of_variant.entry(variant).or_insert(entry.of(label)) == entry.of(label)
        })
    };
    let is_free =
        |name: &&str| !used.contains(*name) && differs(entries, name) && !names_the_variant(name);
    let free: Vec<&str> = all.into_iter().filter(is_free).collect();
    let join = |entry: &Entry| {
        let parts: Vec<&str> = entry
            .labels
            .iter()
            .filter(|(name, _)| free.contains(&name.as_str()))
            .map(|(_, value)| value.as_str())
            .collect();
        if parts.is_empty() { "all".to_owned() } else { parts.join(" ") }
    };
    entries.iter().map(join).collect()
}

/// A regular expression: its first group is the name, else the whole match.
struct Pattern {
    flag: &'static str,
    regex: Regex,
}

impl Pattern {
    fn new(flag: &'static str, text: &str) -> Result<Pattern, Error> {
        let regex = Regex::new(text).map_err(|error| {
            let cause = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            Error::new(
                format!("{flag} {text:?}"),
                cause,
                "write a regular expression, e.g. '([a-z-]+)-[0-9]+'",
            )
        })?;
        Ok(Pattern { flag, regex })
    }

    /// The name in every trial, from its path or else its labels. Labels used here are excluded
    /// from the workload.
    fn of_all(&self, entries: &[Entry], used: &mut BTreeSet<String>) -> Result<Vec<String>, Error> {
        let of = |entry: &Entry| {
            let found = entry.labels.iter().find_map(|(label, value)| {
                let groups = self.regex.captures(value)?;
                Some((label.clone(), groups.get(1).or(groups.get(0))?.as_str().to_owned()))
            });
            found.ok_or_else(|| {
                let values: Vec<&str> =
                    entry.labels.iter().map(|(_, value)| value.as_str()).collect();
                let problem = format!("matches none of {}", values.join(", "));
                Error::new(
                    format!("{} {:?}", self.flag, self.regex.as_str()),
                    problem,
                    "widen it, or omit the file",
                )
            })
        };
        let found: Vec<(String, String)> = entries.iter().map(of).collect::<Result<_, _>>()?;
        for (label, _) in &found {
            let along: &[&str] = if label == "path" { &["path", "file", "dir"] } else { &[] };
            used.extend(along.iter().map(|name| (*name).to_owned()).chain([label.clone()]));
        }
        Ok(found.into_iter().map(|(_, name)| name).collect())
    }
}

struct Metrics(Vec<String>);

impl Metrics {
    fn of(row: &Importer, rows: &Rows, choice: &Choice<'_>) -> Result<Metrics, Error> {
        let mut there: Vec<&str> = Vec::new();
        let mut known = BTreeSet::new();
        for (name, _) in rows.entries.iter().flat_map(|entry| &entry.values) {
            if known.insert(name.as_str()) {
                there.push(name);
            }
        }
        for name in choice.metrics {
            if !known.contains(name.as_str()) {
                let nearest = text::did_you_mean(name, there.iter().copied());
                let some = there.iter().take(20).copied().collect::<Vec<_>>().join(", ");
                return Err(Error::new(
                    format!("--metric {name:?}"),
                    format!("not in the files (found {some})"),
                    format!("name another{nearest}"),
                ));
            }
        }
        if !choice.metrics.is_empty() {
            return Ok(Metrics(choice.metrics.to_vec()));
        }
        let place = |name: &str| {
            row.metrics.iter().position(|(own, ..)| *own == name).unwrap_or(row.metrics.len())
        };
        there.retain(|name| !rows.aside.contains(*name));
        if there.is_empty() {
            let some = known.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            return Err(Error::new(
                "metrics",
                format!("none is known to decide (found {some})"),
                "name one with --metric",
            ));
        }
        there.sort_by_key(|name| place(name));
        Ok(Metrics(there.into_iter().map(str::to_owned).collect()))
    }

    /// The first available metric of each workload.
    fn primary(&self, entries: &[Entry], workloads: &[String]) -> BTreeMap<String, String> {
        let mut has: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (entry, workload) in entries.iter().zip(workloads) {
            has.entry(workload)
                .or_default()
                .extend(entry.values.iter().map(|(name, _)| name.as_str()));
        }
        let first = |names: &BTreeSet<&str>| {
            self.0.iter().find(|name| names.contains(name.as_str())).cloned()
        };
        has.iter()
            .filter_map(|(workload, names)| Some(((*workload).to_owned(), first(names)?)))
            .collect()
    }
}

fn samples(
    entries: &[Entry],
    [variants, workloads]: &[&Vec<String>; 2],
    rounds: Option<&[String]>,
    metrics: &Metrics,
) -> Result<Vec<Sample>, Error> {
    let count = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    VARIANTS.check(count(variants))?;
    WORKLOADS.check(count(workloads))?;
    COMPARISONS
        .check(count(variants).saturating_mul(count(workloads)).saturating_mul(metrics.0.len()))?;
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    // An invalid trial has no values. It counts as an invalid sample of each metric of its
    // workload.
    let mut expected: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (entry, workload) in entries.iter().zip(*workloads) {
        expected
            .entry(workload)
            .or_default()
            .extend(entry.values.iter().map(|(name, _)| name.as_str()));
    }
    let mut samples = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let next = u32::try_from(numbers.len()).expect("fewer rows than 2^32");
        let round = rounds.map(|rounds| *numbers.entry(&rounds[at]).or_insert(next));
        let invalid: Vec<InvalidReason> = entry
            .invalid
            .iter()
            .map(|text| InvalidReason::Foreign { text: text.clone() })
            .collect();
        for metric in metrics
            .0
            .iter()
            .filter(|metric| expected[workloads[at].as_str()].contains(metric.as_str()))
        {
            let value =
                entry.values.iter().find(|(name, _)| name == metric).map(|(_, value)| *value);
            if value.is_none() && invalid.is_empty() {
                continue;
            }
            SAMPLES.check(samples.len() + 1)?;
            samples.push(Sample {
                workload: workloads[at].clone(),
                metric: metric.clone(),
                variant: variants[at].clone(),
                round,
                sequence: at as u64,
                value: value.unwrap_or(f64::NAN),
                requests: None,
                invalid: invalid.clone(),
            });
        }
    }
    Ok(samples)
}

fn cautions(
    row: &Importer,
    rows: &Rows,
    variants: &[String],
    workloads: &[String],
    samples: &[Sample],
) -> Vec<String> {
    let mut cautions: Vec<String> = row.lacks.iter().map(|text| (*text).to_owned()).collect();
    cautions.extend(rows.remarks.iter().cloned());
    let mut cells: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (variant, workload) in variants.iter().zip(workloads) {
        *cells.entry((variant, workload)).or_default() += 1;
    }
    if !samples.is_empty() && cells.values().all(|trials| *trials == 1) {
        cautions.push(format!(
            "one trial of each variant, so no verdict can be reached; {}",
            row.repeat
        ));
    }
    cautions
}
