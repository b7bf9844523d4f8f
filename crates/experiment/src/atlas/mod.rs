//! An atlas: schedulers × workloads × devices, each cell an experiment; the best per cell, and the
//! cost of one choice for all.
//!
//! A variant's *regret* is the largest factor by which any rival is better (comparison with the
//! best, Hsu, Annals of Statistics 9(5), 1981), from paired t intervals at alpha / (variants − 1);
//! a variant that no rival certainly beats is *among the best*. Rounds are fixed in advance. A
//! *starved* variant, without a value in an undisturbed trial, is worse than all others without
//! bound. Factors are oriented: larger is better.

mod arenas;
mod best;
mod cell;
mod regret;
mod releases;

use serde::{Deserialize, Serialize};

use crate::results::Results;
use cell::Values;

pub use arenas::{Difference, OneSided, Reversal};
pub use cell::{ALPHA, Aspect, Cell, Described, Entry, Factor, Key, Starved};
pub use regret::RegretRow;
pub use releases::Change;

/// Schema version of atlas.json written by this build.
pub const SCHEMA: u32 = 3;

/// Starts the arena of simulator cells with the settings of the kernel arena's guest.
pub const MATCHED: &str = "matched-sim";

/// A cell without evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Its place in the atlas.
    #[serde(flatten)]
    pub key: Key,
    /// The reason, one sentence.
    pub why: String,
}

/// Information about a cell in addition to its results file.
#[derive(Debug, Clone, PartialEq)]
pub struct About<'a> {
    /// The cell's place in the atlas.
    pub key: Key,
    /// The fairness metric.
    pub fairness: &'a str,
    /// Special-purpose schedulers.
    pub special: &'a [&'a str],
    /// Known differences between simulator and kernel, by variant, as shares.
    pub known: &'a [(String, f64)],
}

/// The whole atlas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atlas {
    /// Format version.
    pub schema: u32,
    /// The build of schedlab.
    pub schedlab: String,
    /// Error of the intervals.
    pub alpha: f64,
    /// Cells in design order.
    pub cells: Vec<Cell>,
    /// Cells without evidence.
    pub holes: Vec<Hole>,
    /// Regret by arena, smallest worst case first.
    pub regret: Vec<RegretRow>,
    /// Differences between matched simulation and kernel, the largest first.
    pub differences: Vec<Difference>,
    /// Number of effects present in both.
    pub compared: u32,
    /// Pairs of schedulers with reversed order in the kernel.
    pub reversals: Vec<Reversal>,
    /// Schedulers that starve in only one of the two arenas.
    pub one_sided: Vec<OneSided>,
    /// What each of several kernels changed against the previous one.
    pub changes: Vec<Change>,
    /// Notes on the design, such as omitted schedulers.
    pub notes: Vec<String>,
}

impl Atlas {
    /// The atlas of these cells.
    pub fn of(cells: Vec<Cell>, holes: Vec<Hole>, notes: Vec<String>) -> Atlas {
        let arenas = arenas_of(&cells, &holes);
        let regret = regret::table(&cells, &arenas);
        let changes = releases::changes(&cells, &arenas);
        let (differences, compared) = arenas::differences(&cells);
        let reversals = arenas::reversals(&cells);
        let one_sided = arenas::one_sided(&cells);
        let schedlab = text::build::identity().to_owned();
        Atlas {
            schema: SCHEMA,
            schedlab,
            alpha: ALPHA,
            cells,
            holes,
            regret,
            differences,
            compared,
            reversals,
            one_sided,
            changes,
            notes,
        }
    }

    /// The arenas to choose in, in design order.
    pub fn arenas(&self) -> Vec<&str> {
        arenas_of(&self.cells, &self.holes)
    }

    /// Devices or workloads of an arena's cells and holes, in order.
    pub fn names<'a>(&'a self, arena: &str, of: impl Fn(&'a Key) -> &'a str) -> Vec<&'a str> {
        let mut names = Vec::new();
        let keys =
            self.cells.iter().map(|cell| &cell.key).chain(self.holes.iter().map(|hole| &hole.key));
        for name in keys.filter(|key| key.arena == arena).map(of) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A cell.
    pub fn cell(&self, arena: &str, device: &str, workload: &str) -> Option<&Cell> {
        let is_it =
            |key: &Key| key.arena == arena && key.device == device && key.workload == workload;
        self.cells.iter().find(|cell| is_it(&cell.key))
    }
}

fn arenas_of<'a>(cells: &'a [Cell], holes: &'a [Hole]) -> Vec<&'a str> {
    let mut arenas: Vec<&str> = Vec::new();
    let keys = cells.iter().map(|cell| &cell.key).chain(holes.iter().map(|hole| &hole.key));
    for arena in keys.map(|key| key.arena.as_str()).filter(|arena| !arena.starts_with(MATCHED)) {
        if !arenas.contains(&arena) {
            arenas.push(arena);
        }
    }
    arenas
}

impl Cell {
    /// The cell of a results file with one workload; `None` without workload or primary metric.
    pub fn of(about: &About<'_>, results: &Results) -> Option<Cell> {
        let plan = &results.header.plan;
        let spec = plan.workloads.first()?;
        let primary = spec.primary.as_deref()?;
        let variants: Vec<&str> =
            plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        let (named, tail) = (spec.name.as_str(), tail_of(primary));
        let deciding = Values::of(results, named, primary, &variants);
        let fairness = Values::of(results, named, about.fairness, &variants);
        let tail = best::aspect(&Values::of(results, named, &tail, &variants), plan.baseline());
        let special = about
            .special
            .iter()
            .filter(|name| variants.contains(name))
            .map(|name| (*name).to_owned());
        Some(Cell {
            key: about.key.clone(),
            baseline: plan.baseline().to_owned(),
            fairness: (about.fairness.to_owned(), best::described(&fairness)),
            deciding: best::aspect(&deciding, plan.baseline()),
            tail: Some(tail).filter(|tail| !tail.entries.is_empty()),
            special: special.collect(),
            margin: plan.criteria.margin.ln_1p(),
            logs: deciding.logs(),
            known: about.known.to_vec(),
        })
    }

    /// Variants that no rival certainly beats on the primary metric.
    pub fn best(&self) -> impl Iterator<Item = &Entry> {
        self.deciding.entries.iter().filter(|entry| entry.among_best)
    }
}

/// The corresponding tail percentile, of the same flow if any.
fn tail_of(primary: &str) -> String {
    const TAIL: &str = "latency_p99_us";
    match primary.split_once('.') {
        Some((flow, _)) => format!("{flow}.{TAIL}"),
        None => TAIL.to_owned(),
    }
}

#[cfg(test)]
mod tests;
