//! A store's contents for a question: facts of each result, and a summary of each variant's rounds.
//!
//! Results are summarised on reading, so memory grows with machines and variants, not with trials.
//! The rules are those of verdicts: a round counts if variant and baseline have a valid value in
//! it, and too large a share of invalid rounds makes the evidence invalid.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use bytes::Bytes;
use experiment::fleet::identity::{Checked, check};
use experiment::plan::Criteria;
use experiment::stats::Moments;
use experiment::stats::repeats::Repeat;
use serde::Serialize;
use text::build;

use crate::entry::{Entry, Listing};
use crate::file::ResultFile;
use crate::result::{Header, Series, Value};
use crate::select::{Selection, provenance};
use crate::store::Store;

#[derive(Debug, Clone, PartialEq)]
pub struct VariantSummary {
    pub series: Series,
    /// `None` if the result has no baseline.
    pub baseline: Option<String>,
    /// Mean log ratio to the baseline; `None` for the baseline and for invalid evidence.
    pub effect: Option<Repeat>,
    /// Mean logarithm of the valid values.
    pub level: Option<f64>,
    /// Rounds that count.
    pub rounds: usize,
    pub invalid_rounds: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub object: String,
    /// The header without the table of series.
    pub header: Header,
    pub variants: Vec<VariantSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    pub object: String,
    pub problem: String,
}

#[derive(Debug, Default)]
pub struct Loaded {
    /// Results with the machine for which each counts, if any.
    pub results: Vec<(Summary, Option<String>)>,
    /// Findings about identities.
    pub checked: Checked,
    pub damaged: Vec<Damaged>,
    pub foreign_files: usize,
    /// Results excluded by the filters.
    pub filtered: usize,
}

/// Reads a store.
///
/// # Errors
/// It cannot be listed, or has results of several builds. An unreadable file is in
/// [`Loaded::damaged`].
pub fn load(
    store: &Store,
    selection: &Selection,
    criteria: &Criteria,
    now_unix_ms: u64,
) -> Result<Loaded> {
    let Listing { entries, foreign_files } = store.list()?;
    let summed = store.read(&entries, |entry, bytes| sum_up(entry, bytes, selection, criteria));
    let mut loaded = Loaded { foreign_files, ..Loaded::default() };
    let mut found = Vec::new();
    for (entry, summary) in entries.iter().zip(summed) {
        match summary {
            Ok(Some(summary)) => found.push(summary),
            Ok(None) => loaded.filtered += 1,
            Err(error) => {
                loaded
                    .damaged
                    .push(Damaged { object: entry.name.clone(), problem: format!("{error:#}") });
            }
        }
    }
    check_build(&found)?;
    Ok(loaded.with(found, now_unix_ms))
}

/// Rejects several builds: another one may measure differently, which would look like a difference
/// between machines.
fn check_build(found: &[Summary]) -> Result<()> {
    let mut builds: BTreeMap<&str, usize> = BTreeMap::new();
    found.iter().for_each(|of| *builds.entry(&of.header.schedlab).or_default() += 1);
    let most = builds.iter().max_by_key(|(_, results)| **results).map_or("", |(build, _)| *build);
    match builds.keys().find_map(|build| build::difference(build, most)) {
        Some(why) => bail!("fleet: {why}; select one with --build"),
        None => Ok(()),
    }
}

impl Loaded {
    /// Adds results and checks their identities.
    pub(crate) fn with(mut self, found: Vec<Summary>, now_unix_ms: u64) -> Loaded {
        let known: Vec<_> = found.iter().map(|of| provenance(&of.object, &of.header)).collect();
        self.checked = check(&known, now_unix_ms);
        self.results = found.into_iter().zip(self.checked.machines.clone()).collect();
        self
    }
}

fn sum_up(
    entry: &Entry,
    bytes: Result<Bytes>,
    selection: &Selection,
    criteria: &Criteria,
) -> Result<Option<Summary>> {
    let mut file = ResultFile::open(&entry.name, bytes?)?;
    if !selection.matches(&file.header) {
        return Ok(None);
    }
    let mut rows = file.rows(0)?;
    if selection.metric.is_some() {
        rows.extend(file.rows(1)?);
    }
    let mut header = std::mem::take(&mut file.header);
    let series = std::mem::take(&mut header.series);
    let variants = variants_of(&series, &rows, selection, criteria);
    Ok(Some(Summary { object: entry.name.clone(), header, variants }))
}

#[derive(Default)]
struct Rounds {
    /// Logarithms by round; empty if all values of the round are invalid.
    logs: BTreeMap<u32, Vec<f64>>,
}

impl Rounds {
    fn mean(&self, round: u32) -> Option<f64> {
        self.logs.get(&round).filter(|logs| !logs.is_empty()).map(|logs| Moments::of(logs).mean)
    }
}

pub(crate) fn variants_of(
    series: &[Series],
    rows: &[Value],
    selection: &Selection,
    criteria: &Criteria,
) -> Vec<VariantSummary> {
    let mut rounds: Vec<Rounds> = series.iter().map(|_| Rounds::default()).collect();
    for row in rows {
        let logs = rounds[row.series as usize].logs.entry(row.round).or_default();
        logs.extend(
            row.value
                .filter(|value| row.invalid.is_none() && *value > 0.0 && value.is_finite())
                .map(f64::ln),
        );
    }
    let key = |of: &Series| (of.question.clone(), of.metric.clone(), of.unit.clone());
    let bases: BTreeMap<_, usize> = series
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_baseline)
        .map(|(at, row)| (key(row), at))
        .rev()
        .collect();
    let of = |(at, row): (usize, &Series)| {
        let base = bases.get(&key(row)).copied();
        let mut found = VariantSummary {
            series: row.clone(),
            baseline: base.map(|base| series[base].variant.clone()),
            effect: None,
            level: None,
            rounds: 0,
            invalid_rounds: 0,
        };
        let means: Vec<f64> =
            rounds[at].logs.keys().filter_map(|round| rounds[at].mean(*round)).collect();
        found.level = (!means.is_empty()).then(|| Moments::of(&means).mean);
        found.rounds = means.len();
        let Some(base) = base.filter(|base| *base != at) else { return found };
        let both = rounds[at].logs.keys().filter(|round| rounds[base].logs.contains_key(round));
        let ratios: Vec<Option<f64>> =
            both.map(|round| Some(rounds[at].mean(*round)? - rounds[base].mean(*round)?)).collect();
        let counted: Vec<f64> = ratios.iter().flatten().copied().collect();
        found.rounds = counted.len();
        found.invalid_rounds = ratios.len() - counted.len();
        let invalid_share = found.invalid_rounds as f64 / ratios.len().max(1) as f64;
        found.effect =
            Repeat::of_rounds(&counted).filter(|_| invalid_share <= criteria.max_invalid_share);
        found
    };
    let selected = series.iter().enumerate().filter(|(_, row)| selection.matches_series(row));
    selected.map(of).collect()
}
