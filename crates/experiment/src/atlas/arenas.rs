//! Where the simulator and the kernel disagree.
//!
//! A kernel cell is compared with its matched simulation: same rounds, seeds and guest settings.
//! Effects against the baseline are compared round by round, and [`crate::stats::discovery`] bounds
//! the expected share of false differences by alpha. Differences within the known deviation of the
//! arenas are omitted.

use serde::{Deserialize, Serialize};

use super::best::{differences as paired, factor};
use super::cell::{ALPHA, Cell, Factor, Key};
use crate::stats::fixed::{critical, paired_p, paired_t};
use crate::stats::{Interval, Moments, discovery};

/// An effect that differs in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The kernel's cell.
    pub key: Key,
    /// The scheduler.
    pub variant: String,
    /// Times better than the baseline in the simulator.
    pub sim: f64,
    /// Times better than the baseline in the kernel.
    pub kernel: f64,
    /// `kernel` divided by `sim`.
    pub factor: Factor,
    /// Known deviation of the arenas here, as a share.
    pub known: f64,
}

/// Two schedulers whose order is certainly reversed in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reversal {
    /// The kernel's cell.
    pub key: Key,
    /// The better one in the simulator.
    pub first: String,
    /// The better one in the kernel.
    pub second: String,
    /// Times better in the simulator.
    pub sim: Factor,
    /// Times better in the kernel.
    pub kernel: Factor,
}

/// A scheduler that starves in only one arena.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSided {
    /// The kernel's cell.
    pub key: Key,
    /// The scheduler.
    pub variant: String,
    /// Where it starves: `sim` or `kernel`.
    pub starves_in: String,
    /// The missing quantity.
    pub why: String,
}

/// The known deviation of the arenas on a variant; 0 by default.
fn known(cell: &Cell, variant: &str) -> f64 {
    cell.known.iter().find(|(name, _)| name == variant).map_or(0.0, |(_, share)| *share)
}

fn pairs(cells: &[Cell]) -> impl Iterator<Item = (&Cell, &Cell)> {
    cells.iter().filter_map(move |kernel| {
        let release = kernel.key.arena.strip_prefix("kernel")?;
        let matched = |key: &Key| key.arena.strip_prefix(super::MATCHED) == Some(release);
        let sim =
            cells.iter().find(|sim| matched(&sim.key) && sim.key.is_same_work(&kernel.key))?;
        (sim.baseline == kernel.baseline).then_some((sim, kernel))
    })
}

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

/// The kernel's cell, the variant, the means in simulator and kernel, and their differences.
type Compared<'a> = (&'a Cell, String, (f64, f64), Moments);

/// Returns the differences, and the number compared.
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

/// Finds reversals at a level that holds for all pairs of a cell together.
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

/// The sign beyond the arenas' deviation: 0 for neither.
fn sign(interval: &Interval, least: f64) -> i32 {
    if interval.low > least {
        1
    } else if interval.high < -least {
        -1
    } else {
        0
    }
}
