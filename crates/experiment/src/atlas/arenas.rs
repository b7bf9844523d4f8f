//! Where the simulator and the kernel disagree.
//!
//! A cell of the kernel is compared with its matched simulation: the simulator with the settings
//! that the kernel arena's guest has. Both measure the same rounds with the same seeds. A
//! scheduler's effect against the baseline is compared round by round; over all cells the
//! differences are selected by [`crate::stats::discovery`], so that at most the share alpha of
//! those reported is expected to be none, and each has the interval that belongs to what was
//! selected. Differences within what the arenas are known to differ by are left out.

use serde::{Deserialize, Serialize};

use super::best::{differences as paired, factor};
use super::cell::{ALPHA, Cell, Factor, Key};
use crate::stats::fixed::{critical, paired_p, paired_t};
use crate::stats::{Interval, Moments, discovery};

/// An effect that is another in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The kernel's cell.
    pub key: Key,
    /// The scheduler.
    pub variant: String,
    /// How many times better than the baseline it is in the simulator.
    pub sim: f64,
    /// The same in the kernel.
    pub kernel: f64,
    /// `kernel` by `sim`.
    pub factor: Factor,
    /// By how much figures of the arenas are known to differ here, as a share.
    pub known: f64,
}

/// Two schedulers whose order is another in the kernel, both for certain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reversal {
    /// The kernel's cell.
    pub key: Key,
    /// The better one in the simulator.
    pub first: String,
    /// The better one in the kernel.
    pub second: String,
    /// How many times better `first` is in the simulator.
    pub sim: Factor,
    /// How many times better `second` is in the kernel.
    pub kernel: Factor,
}

/// A scheduler that starves in one arena and not in the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSided {
    /// The kernel's cell.
    pub key: Key,
    /// The scheduler.
    pub variant: String,
    /// Where it starves: `sim` or `kernel`.
    pub starves_in: String,
    /// What it lacked there.
    pub why: String,
}

/// By how much the arenas are known to differ on a variant; without a word about it, not at all.
fn known(cell: &Cell, variant: &str) -> f64 {
    cell.known.iter().find(|(name, _)| name == variant).map_or(0.0, |(_, share)| *share)
}

/// Each cell of the kernel with that of the simulator which has the same settings.
fn pairs(cells: &[Cell]) -> impl Iterator<Item = (&Cell, &Cell)> {
    let same = |a: &Key, b: &Key| a.device == b.device && a.workload == b.workload;
    let kernels = cells.iter().filter(|cell| cell.key.arena == "kernel");
    kernels.filter_map(move |kernel| {
        let sim = cells
            .iter()
            .find(|sim| sim.key.arena == "matched-sim" && same(&sim.key, &kernel.key))?;
        (sim.baseline == kernel.baseline).then_some((sim, kernel))
    })
}

/// Schedulers that have a figure in one arena and starve in the other.
pub(super) fn one_sided(cells: &[Cell]) -> Vec<OneSided> {
    let mut found = Vec::new();
    for (sim, kernel) in pairs(cells) {
        for (starves_in, here, there) in [("sim", sim, kernel), ("kernel", kernel, sim)] {
            let has =
                |variant: &str| there.deciding.entries.iter().any(|entry| entry.variant == variant);
            found.extend(here.deciding.starved.iter().filter(|one| has(&one.variant)).map(|one| {
                OneSided {
                    key: kernel.key.clone(),
                    variant: one.variant.clone(),
                    starves_in: starves_in.to_owned(),
                    why: one.why.clone(),
                }
            }));
        }
    }
    found
}

/// One scheduler against another in a cell, round by round.
fn effect(cell: &Cell, variant: &str, base: &str) -> Option<Vec<(u32, f64)>> {
    let of = |variant: &str| {
        cell.logs.iter().find(|(name, _)| name == variant).map(|(_, rounds)| rounds)
    };
    let (variant, base) = (of(variant)?, of(base)?);
    let both = variant.iter().filter_map(|(round, value)| {
        let at = base.binary_search_by_key(round, |(round, _)| *round).ok()?;
        Some((*round, value - base[at].1))
    });
    Some(both.collect())
}

/// An effect in both arenas: the kernel's cell, the variant, the means of the simulator's and the
/// kernel's, and their differences.
type Compared<'a> = (&'a Cell, String, (f64, f64), Moments);

/// The differences to report, and how many were compared.
pub(super) fn differences(cells: &[Cell]) -> (Vec<Difference>, u32) {
    let mut found = Vec::new();
    for (sim, kernel) in pairs(cells) {
        for (variant, _) in kernel.logs.iter().filter(|(variant, _)| *variant != kernel.baseline) {
            let (Some(of_sim), Some(of_kernel)) =
                (effect(sim, variant, &sim.baseline), effect(kernel, variant, &kernel.baseline))
            else {
                continue;
            };
            let moments = Moments::of(&paired(&of_kernel, &of_sim));
            if moments.n >= 2 {
                let means = (super::best::mean(&of_sim), super::best::mean(&of_kernel));
                found.push((kernel, variant.clone(), means, moments));
            }
        }
    }
    let p: Vec<f64> = found.iter().map(|(.., moments)| paired_p(moments)).collect();
    let selected = discovery::select(&p, ALPHA);
    let report = |(cell, variant, (sim, kernel), moments): Compared<'_>| {
        let interval = paired_t(&moments, selected.level);
        let known = known(cell, &variant);
        (moments.mean.abs() > known.ln_1p()).then(|| Difference {
            key: cell.key.clone(),
            variant,
            sim: sim.exp(),
            kernel: kernel.exp(),
            factor: factor(moments.mean, &interval),
            known,
        })
    };
    let compared = found.len() as u32;
    let rejected = found.into_iter().zip(&selected.rejected).filter(|(_, rejected)| **rejected);
    let mut differences: Vec<Difference> = rejected.filter_map(|(one, _)| report(one)).collect();
    differences.sort_by(|a, b| b.factor.factor.ln().abs().total_cmp(&a.factor.factor.ln().abs()));
    (differences, compared)
}

/// Pairs whose order is reversed, each order at a level at which those of all pairs of its cell
/// hold together.
pub(super) fn reversals(cells: &[Cell]) -> Vec<Reversal> {
    let mut reversals = Vec::new();
    for (sim, kernel) in pairs(cells) {
        let variants: Vec<&str> = kernel.logs.iter().map(|(variant, _)| variant.as_str()).collect();
        let nr_pairs = variants.len() * variants.len().saturating_sub(1) / 2;
        let level = ALPHA / (2 * nr_pairs.max(1)) as f64;
        for (at, a) in variants.iter().enumerate() {
            for b in &variants[at + 1..] {
                let of = |cell: &Cell| effect(cell, a, b).map(|effect| order(&effect, level));
                let (Some(of_sim), Some(of_kernel)) = (of(sim), of(kernel)) else { continue };
                let least = known(kernel, a).max(known(kernel, b)).ln_1p();
                let (first, second, sign) =
                    match (sign(&of_sim.1, least), sign(&of_kernel.1, least)) {
                        (1, -1) => (*a, *b, 1.0),
                        (-1, 1) => (*b, *a, -1.0),
                        _ => continue,
                    };
                let oriented = |(mean, interval): (f64, Interval), sign: f64| {
                    let (x, y) = (sign * interval.low, sign * interval.high);
                    factor(sign * mean, &Interval { low: x.min(y), high: x.max(y) })
                };
                reversals.push(Reversal {
                    key: kernel.key.clone(),
                    first: first.to_owned(),
                    second: second.to_owned(),
                    sim: oriented(of_sim, sign),
                    kernel: oriented(of_kernel, -sign),
                });
            }
        }
    }
    reversals.sort_by(|a, b| b.kernel.factor.total_cmp(&a.kernel.factor));
    reversals
}

fn order(effect: &[(u32, f64)], level: f64) -> (f64, Interval) {
    let moments = Moments::of(&effect.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    if moments.n < 2 {
        return (moments.mean, Interval::UNBOUNDED);
    }
    let n = moments.n as f64;
    (moments.mean, Interval::around(moments.mean, critical(n - 1.0, level) * moments.sd / n.sqrt()))
}

/// Which side of 0 an interval lies on, by more than the arenas may differ: 0 for neither.
fn sign(interval: &Interval, least: f64) -> i32 {
    if interval.low > least {
        1
    } else if interval.high < -least {
        -1
    } else {
        0
    }
}
