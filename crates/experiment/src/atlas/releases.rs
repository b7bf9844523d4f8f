//! What each kernel changed against the one named before it.
//!
//! Cells of two kernels have the same rounds and seeds, so every scheduler's primary metric is
//! compared round by round. The verdicts of one kernel are those of one experiment: the margin of
//! the plans, and Holm's levels over all its comparisons together.

use serde::{Deserialize, Serialize};

use super::best::{differences, factor};
use super::cell::{ALPHA, Cell, Entry, Factor, Key};
use crate::compare::{differs, equivalent};
use crate::comparison::Verdict;
use crate::stats::fixed::paired_t;
use crate::stats::holm::step_down;
use crate::stats::{Interval, Moments};

/// One scheduler on one device and workload: a kernel against the previous one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The later kernel's cell.
    pub key: Key,
    /// The arena with the previous kernel.
    pub since: String,
    /// The scheduler.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// Means under the previous kernel and this one; `None` without a completion or evidence.
    pub means: (Option<f64>, Option<f64>),
    /// How many times better; `None` if it starved under one of them, or without evidence.
    pub factor: Option<Factor>,
    /// Whether that is beyond the margin, inside it, or neither.
    pub verdict: Verdict,
}

/// The arenas to compare, as (previous, later).
pub(super) fn pairs(arenas: &[&str]) -> Vec<(String, String)> {
    let kernels: Vec<&&str> = arenas.iter().filter(|arena| arena.starts_with("kernel ")).collect();
    kernels.windows(2).map(|pair| ((*pair[0]).to_owned(), (*pair[1]).to_owned())).collect()
}

/// A scheduler's cells and the round-by-round effect.
struct Case<'a> {
    cells: [&'a Cell; 2],
    variant: &'a str,
    effect: Moments,
}

impl<'a> Case<'a> {
    fn of(before: &'a Cell, after: &'a Cell, variant: &'a str) -> Case<'a> {
        let rounds = |cell: &'a Cell| {
            cell.logs.iter().find(|(name, _)| name == variant).map(|(_, rounds)| rounds)
        };
        let effect = match (rounds(after), rounds(before)) {
            (Some(after), Some(before)) => differences(after, before),
            _ => Vec::new(),
        };
        Case { cells: [before, after], variant, effect: Moments::of(&effect) }
    }

    /// Whether no trial under one kernel has a completion and every one under the other has, and
    /// whether that is the later one; unlikelier than `level` if both were alike (Fisher's test).
    fn starves(&self, level: f64) -> Option<bool> {
        let all = |cell: &Cell| {
            let one = cell.deciding.starved.iter().find(|one| one.variant == self.variant)?;
            (one.trials.0 == one.trials.1).then_some(one.trials.0)
        };
        let none = |cell| self.entry(cell).map(|entry| entry.rounds);
        let [before, after] = self.cells;
        let (starved, fed, is_later) = match (all(before), none(after), none(before), all(after)) {
            (Some(starved), Some(fed), ..) => (starved, fed, false),
            (.., Some(fed), Some(starved)) => (starved, fed, true),
            _ => return None,
        };
        let ways: f64 = (1..=starved).map(|i| f64::from(fed + i) / f64::from(i)).product();
        (2.0 / ways <= level).then_some(is_later)
    }

    fn differs(&self, level: f64) -> bool {
        let figures = self.effect.n >= 2 && differs(&self.interval(level), self.cells[1].margin);
        figures || self.starves(level).is_some()
    }

    fn equals(&self, level: f64) -> bool {
        self.effect.n >= 2 && equivalent(&self.interval(level), self.cells[1].margin)
    }

    fn has_evidence(&self, cell: &Cell) -> bool {
        cell.deciding.variants().any(|variant| variant == self.variant)
    }

    fn interval(&self, level: f64) -> Interval {
        paired_t(&self.effect, level)
    }

    fn entry(&self, cell: &'a Cell) -> Option<&'a Entry> {
        cell.deciding.entries.iter().find(|entry| entry.variant == self.variant)
    }

    /// Without completions it is worse than with any figure.
    fn verdict(&self, differs_at: Option<f64>, equals: bool) -> Verdict {
        let is_worse =
            differs_at.map(|level| self.starves(level).unwrap_or(self.effect.mean < 0.0));
        match is_worse {
            _ if !self.cells.iter().all(|cell| self.has_evidence(cell)) => Verdict::Invalid,
            Some(true) => Verdict::Worse,
            Some(false) => Verdict::Better,
            None if equals => Verdict::Equivalent,
            None => Verdict::Inconclusive,
        }
    }
}

/// Every scheduler under both of two kernels that follow each other, by kernel and cell.
pub(super) fn changes(cells: &[Cell], arenas: &[&str]) -> Vec<Change> {
    pairs(arenas).iter().flat_map(|(since, arena)| between(cells, since, arena)).collect()
}

fn between(cells: &[Cell], since: &str, arena: &str) -> Vec<Change> {
    let mut cases = Vec::new();
    for after in cells.iter().filter(|cell| cell.key.arena == arena) {
        let is_before = |key: &Key| key.arena == since && key.is_same_work(&after.key);
        let Some(before) = cells.iter().find(|cell| is_before(&cell.key)) else { continue };
        let of = &after.deciding;
        let invalid = of.invalid.iter().map(|(variant, _)| variant.as_str());
        let variants = of.variants().chain(invalid);
        cases.extend(variants.map(|variant| Case::of(before, after, variant)));
    }
    let differ = step_down(cases.len(), ALPHA, |i, level| cases[i].differs(level));
    let equal = step_down(cases.len(), ALPHA, |i, level| cases[i].equals(level));
    let undecided = differ.current.min(equal.current);
    let report = |(i, case): (usize, &Case<'_>)| {
        let level = differ.decided_at[i].or(equal.decided_at[i]).unwrap_or(undecided);
        let [before, after] = case.cells.map(|cell| case.entry(cell).map(|entry| entry.mean));
        Change {
            key: case.cells[1].key.clone(),
            since: since.to_owned(),
            variant: case.variant.to_owned(),
            metric: case.cells[1].deciding.metric.clone(),
            means: (before, after),
            factor: (case.effect.n >= 2).then(|| factor(case.effect.mean, &case.interval(level))),
            verdict: case.verdict(differ.decided_at[i], equal.decided_at[i].is_some()),
        }
    };
    cases.iter().enumerate().map(report).collect()
}
