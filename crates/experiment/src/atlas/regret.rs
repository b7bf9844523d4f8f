//! The regret of choosing one scheduler for everything: over the cells of an arena, how many times better each cell's best is.

use serde::{Deserialize, Serialize};

use super::cell::{Cell, Factor, Key};

/// One scheduler in one arena.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegretRow {
    /// `sim` or `kernel`.
    pub arena: String,
    /// The scheduler.
    pub arm: String,
    /// Cells in which it has evidence, and all cells of the arena.
    pub cells: (u32, u32),
    /// Cells in which no scheduler is better for certain.
    pub among_best: u32,
    /// Cells in which it alone is.
    pub alone_best: u32,
    /// The median over the cells, with the medians of the ends: it lies between them if every cell's interval holds.
    pub median: Factor,
    /// The worst cell's.
    pub worst: Factor,
    /// Which that is.
    pub worst_in: Key,
    /// Median and worst of the tail's regret, where there are tails.
    pub tail: Option<(f64, f64)>,
}

/// Every scheduler that is for every workload, the smallest worst case first; a scheduler without evidence in some cell comes after those
/// that have all, since what it was not tried on cannot be its worst.
pub(super) fn table(cells: &[Cell]) -> Vec<RegretRow> {
    let mut rows = Vec::new();
    for arena in ["sim", "kernel"] {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.key.arena == arena).collect();
        let mut arms: Vec<&str> = Vec::new();
        for entry in cells.iter().flat_map(|cell| &cell.deciding.entries) {
            if !arms.contains(&entry.arm.as_str()) {
                arms.push(&entry.arm);
            }
        }
        arms.retain(|arm| !cells.iter().any(|cell| cell.special.iter().any(|name| name == arm)));
        let mut of_arena: Vec<RegretRow> = arms.iter().filter_map(|arm| row(arena, arm, &cells)).collect();
        of_arena.sort_by(|a, b| {
            let incomplete = |row: &RegretRow| row.cells.0 < row.cells.1;
            incomplete(a).cmp(&incomplete(b)).then(a.worst.factor.total_cmp(&b.worst.factor))
        });
        rows.extend(of_arena);
    }
    rows
}

fn row(arena: &str, arm: &str, cells: &[&Cell]) -> Option<RegretRow> {
    let of = |cell: &&Cell| {
        let entry = cell.deciding.entries.iter().find(|entry| entry.arm == arm)?;
        Some((cell.key.clone(), entry.regret, entry.among_best, cell.best().count() == 1))
    };
    let all: Vec<(Key, Factor, bool, bool)> = cells.iter().filter_map(of).collect();
    let (worst_in, worst, ..) = all.iter().max_by(|a, b| a.1.factor.total_cmp(&b.1.factor))?.clone();
    let ends = |of: fn(&Factor) -> f64| median(all.iter().map(|(_, regret, ..)| of(regret)).collect());
    let high = ends(|regret| regret.high.unwrap_or(f64::INFINITY));
    let median_of = Factor {
        factor: ends(|regret| regret.factor),
        low: Some(ends(|regret| regret.low.unwrap_or(1.0))),
        high: Some(high).filter(|high| high.is_finite()),
    };
    let tails: Vec<f64> = cells
        .iter()
        .filter_map(|cell| cell.tail.as_ref()?.entries.iter().find(|entry| entry.arm == arm))
        .map(|entry| entry.regret.factor)
        .collect();
    let tail = tails.iter().copied().max_by(f64::total_cmp).map(|worst| (median(tails.clone()), worst));
    Some(RegretRow {
        arena: arena.to_owned(),
        arm: arm.to_owned(),
        cells: (all.len() as u32, cells.len() as u32),
        among_best: all.iter().filter(|(.., best, _)| *best).count() as u32,
        alone_best: all.iter().filter(|(.., best, alone)| *best && *alone).count() as u32,
        median: median_of,
        worst,
        worst_in,
        tail,
    })
}

/// The middle value; of an even number the mean of the two.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
