//! An atlas: many schedulers on many workloads and devices, each cell an experiment; who is best
//! where, and what one choice for all costs.
//!
//! **Problem.** A cell has some forty variants, and which of them leads is itself drawn from the
//! noise: an interval around the difference to the observed leader is too narrow. **Approach.**
//! Comparison with the best, whichever that is (after Hsu, Annals of Statistics 9(5), 1981): a
//! variant's *regret* is the largest factor by which any rival is better. Each rival is compared by
//! Student's paired interval over the rounds that both have, at the level alpha / (variants − 1),
//! so that all rivals' intervals hold together; the largest of their ends bound the regret. A
//! variant that no rival beats for certain is *among the best*.
//!
//! **Properties.** For each variant, the interval of its regret holds with 1 − alpha, whichever
//! variant leads; the true best is among the best with 1 − alpha in each cell. Over the atlas that
//! is a rate: at most the share alpha of its intervals, and of its sets, is expected to err. The
//! number of rounds is fixed beforehand, and no variant ends early: nothing else than t is needed.
//!
//! A variant that served too little to have a value, in a trial that nothing disturbed, *starved*:
//! to leave it out would favour the variant that does the least of what is measured. It is worse
//! than every variant that has one, by a factor without bound. What was disturbed is invalid, and
//! no evidence.
//!
//! All figures are oriented: a factor is how many times *better*, for a latency the reciprocal of
//! its ratio.

mod arenas;
mod best;
mod cell;
mod regret;

use serde::{Deserialize, Serialize};

use crate::results::Results;
use cell::Values;

pub use arenas::{Difference, OneSided, Reversal};
pub use cell::{ALPHA, Aspect, Cell, Described, Entry, Factor, Key, Starved};
pub use regret::RegretRow;

/// The version of atlas.json that this build writes.
pub const SCHEMA: u32 = 2;

/// A cell that has no evidence, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// Why, in one sentence.
    pub why: String,
}

/// What is found of a cell besides its results file.
#[derive(Debug, Clone, PartialEq)]
pub struct About<'a> {
    /// Which.
    pub key: Key,
    /// The metric that stands for fairness.
    pub fairness: &'a str,
    /// Schedulers that are only for some workloads.
    pub special: &'a [&'a str],
    /// By what share the figures of simulator and kernel are known to differ: of each variant.
    pub known: &'a [(String, f64)],
}

/// The whole atlas: what the renderers show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atlas {
    /// Version of this format.
    pub schema: u32,
    /// The build of schedlab.
    pub schedlab: String,
    /// The share of intervals that may err.
    pub alpha: f64,
    /// Every cell, in the order of the design.
    pub cells: Vec<Cell>,
    /// Cells without evidence.
    pub holes: Vec<Hole>,
    /// The regret of choosing one scheduler for everything, arena by arena, the smallest worst case
    /// first.
    pub regret: Vec<RegretRow>,
    /// Effects against the baseline that differ between the simulator with the guest's settings and
    /// the kernel, the largest first.
    pub differences: Vec<Difference>,
    /// How many effects both arenas have.
    pub compared: u32,
    /// Pairs of schedulers whose order is another in the kernel.
    pub reversals: Vec<Reversal>,
    /// Schedulers that starve in one of the two arenas only.
    pub one_sided: Vec<OneSided>,
    /// Notes about the design: schedulers that are left out, and why.
    pub notes: Vec<String>,
}

impl Atlas {
    /// The atlas of these cells.
    pub fn of(cells: Vec<Cell>, holes: Vec<Hole>, notes: Vec<String>) -> Atlas {
        let regret = regret::table(&cells);
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
            notes,
        }
    }

    /// The devices or workloads of the cells and holes of an arena, in their order.
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

impl Cell {
    /// The cell of a results file of one workload; none where its plan has none, or no metric that
    /// decides.
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
            logs: deciding.logs(),
            known: about.known.to_vec(),
        })
    }

    /// The variants that no rival beats for certain on the metric that decides.
    pub fn best(&self) -> impl Iterator<Item = &Entry> {
        self.deciding.entries.iter().filter(|entry| entry.among_best)
    }
}

/// The percentile that belongs to a metric: of the same flow, if it is one of a flow.
fn tail_of(primary: &str) -> String {
    const TAIL: &str = "latency_p99_us";
    match primary.split_once('.') {
        Some((flow, _)) => format!("{flow}.{TAIL}"),
        None => TAIL.to_owned(),
    }
}

#[cfg(test)]
mod tests;
