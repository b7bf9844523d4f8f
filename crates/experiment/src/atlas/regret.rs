//! The regret of choosing one scheduler for everything: over an arena's cells, how many times
//! better each cell's best is.

use serde::{Deserialize, Serialize};

use super::best::finite;
use super::cell::{Aspect, Cell, Entry, Factor, Key};
use crate::stats::describe::median;

/// One scheduler in one arena.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegretRow {
    /// `sim`, `kernel`, or the latter with the kernel's name.
    pub arena: String,
    /// The scheduler.
    pub variant: String,
    /// Cells with evidence, and all of the arena.
    pub cells: (u32, u32),
    /// Cells in which it starved, with unbounded regret.
    pub starved: u32,
    /// Cells in which no scheduler is certainly better.
    pub among_best: u32,
    /// Cells in which it is the only best one.
    pub alone_best: u32,
    /// The median, with the medians of the ends, which bound it if every cell's interval holds;
    /// `None` if unbounded.
    pub median: Option<Factor>,
    /// `None` if it starved anywhere.
    pub worst: Option<Factor>,
    /// The first one in which it starved, if any.
    pub worst_in: Key,
    /// Median and worst; each `None` if unbounded.
    pub tail: Option<(Option<f64>, Option<f64>)>,
}

/// Every general-purpose scheduler, smallest worst case first, then those that starve by number of
/// cells. Schedulers without evidence in some cell come last, since their worst case is unknown.
pub(super) fn table(cells: &[Cell], arenas: &[&str]) -> Vec<RegretRow> {
    let mut rows = Vec::new();
    for arena in arenas {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.key.arena == *arena).collect();
        let mut variants: Vec<&str> = Vec::new();
        for variant in cells.iter().flat_map(|cell| cell.deciding.variants()) {
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        variants.retain(|variant| {
            !cells.iter().any(|cell| cell.special.iter().any(|name| name == variant))
        });
        let mut of_arena: Vec<RegretRow> =
            variants.iter().filter_map(|variant| row(arena, variant, &cells)).collect();
        of_arena.sort_by(|a, b| {
            let incomplete = |row: &RegretRow| row.cells.0 < row.cells.1;
            let most = |of: Option<Factor>| of.map_or(f64::INFINITY, |of| of.factor);
            incomplete(a)
                .cmp(&incomplete(b))
                .then(a.starved.cmp(&b.starved))
                .then(most(a.worst).total_cmp(&most(b.worst)))
                .then(most(a.median).total_cmp(&most(b.median)))
        });
        rows.extend(of_arena);
    }
    rows
}

/// The regret of starvation.
const UNBOUNDED: Factor = Factor { factor: f64::INFINITY, low: Some(f64::INFINITY), high: None };

fn row(arena: &str, variant: &str, cells: &[&Cell]) -> Option<RegretRow> {
    let of = |cell: &&Cell| {
        let alone = cell.best().count() == 1;
        match cell.deciding.standing(variant)? {
            Some(entry) => Some((cell.key.clone(), entry.regret, entry.among_best, alone)),
            None => Some((cell.key.clone(), UNBOUNDED, false, false)),
        }
    };
    let all: Vec<(Key, Factor, bool, bool)> = cells.iter().filter_map(of).collect();
    // The first of several unbounded ones.
    let (worst_in, worst, ..) =
        all.iter().rev().max_by(|a, b| a.1.factor.total_cmp(&b.1.factor))?.clone();
    let ends = |of: fn(&Factor) -> f64| {
        median(&all.iter().map(|(_, regret, ..)| of(regret)).collect::<Vec<_>>())
            .unwrap_or(f64::NAN)
    };
    let median_of = Factor {
        factor: ends(|regret| regret.factor),
        low: finite(ends(|regret| regret.low.unwrap_or(1.0))),
        high: finite(ends(|regret| regret.high.unwrap_or(f64::INFINITY))),
    };
    let tail = |cell: &&Cell| {
        cell.tail
            .as_ref()?
            .standing(variant)
            .map(|entry| entry.map_or(f64::INFINITY, |entry| entry.regret.factor))
    };
    let tails: Vec<f64> = cells.iter().filter_map(tail).collect();
    let tail = tails
        .iter()
        .copied()
        .max_by(f64::total_cmp)
        .map(|worst| (median(&tails).and_then(finite), finite(worst)));
    let bounded = |of: Factor| Some(of).filter(|of| of.factor.is_finite());
    Some(RegretRow {
        arena: arena.to_owned(),
        variant: variant.to_owned(),
        cells: (all.len() as u32, cells.len() as u32),
        starved: all.iter().filter(|(_, regret, ..)| regret.factor.is_infinite()).count() as u32,
        among_best: all.iter().filter(|(.., best, _)| *best).count() as u32,
        alone_best: all.iter().filter(|(.., best, alone)| *best && *alone).count() as u32,
        median: bounded(median_of),
        worst: bounded(worst),
        worst_in,
        tail,
    })
}

impl Aspect {
    /// Variants with evidence, starved ones last.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .map(|entry| entry.variant.as_str())
            .chain(self.starved.iter().map(|one| one.variant.as_str()))
    }

    /// A variant's entry, `Some(None)` if it starved; `None` without evidence.
    fn standing(&self, variant: &str) -> Option<Option<&Entry>> {
        match self.entries.iter().find(|entry| entry.variant == variant) {
            None => self.starved.iter().any(|one| one.variant == variant).then_some(None),
            found => Some(found),
        }
    }
}
