//! Compares a results file with an earlier one of the same plan, to detect regressions.
//!
//! A changed kernel, file system or image affects all variants alike, so each variant is compared
//! with itself, on the log primary metric: in pairs of equal seed in virtual time, by Welch's
//! interval on a real machine. With [`Basis::Ratios`] to the baseline drift cancels, but so does a
//! common slowdown. Rounds are fixed in advance, so single-look intervals hold; Holm divides alpha.
//! The variance between repeats is not included.

pub mod edits;
mod evidence;

use serde::Serialize;

use crate::analysis::Verdict;
use crate::compare::{differs, equivalent};
use crate::metric::Direction;
use crate::outcome::Outcome;
use crate::results::Results;
use crate::stats::holm::step_down;
use crate::stats::{Interval, Moments, fixed};
pub use evidence::{Basis, Choice, Level};
use evidence::{Case, cases};

/// One variant on one workload, now against then.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateComparison {
    /// The workload's label.
    pub workload: String,
    /// The primary metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// The compared quantity.
    pub basis: Basis,
    /// now / then, if estimated.
    pub ratio: Option<f64>,
    /// Lower end of the interval; none: unbounded.
    pub low: Option<f64>,
    /// Upper end of the interval; none: unbounded.
    pub high: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Confidence, corrected for the number of comparisons.
    pub confidence: f64,
    /// Valid values and geometric mean, now.
    pub now: Level,
    /// Valid values and geometric mean, then.
    pub then: Level,
}

/// Compares two results of one plan.
pub fn compare(now: &Results, then: &Results, choice: &Choice) -> Vec<GateComparison> {
    let criteria = &now.header.plan.criteria;
    let cases = cases(now, then, choice);
    let (m, margin) = (cases.len(), criteria.margin.ln_1p());
    let differ = step_down(m, criteria.alpha, |i, level| {
        !cases[i].invalid && differs(&interval(&cases[i], level), margin)
    });
    let equal = step_down(m, criteria.alpha, |i, level| {
        !cases[i].invalid && equivalent(&interval(&cases[i], level), margin)
    });
    let shown_at = |i: usize| {
        differ.decided_at[i].or(equal.decided_at[i]).unwrap_or(differ.current.min(equal.current))
    };
    cases
        .into_iter()
        .enumerate()
        .map(|(i, case)| {
            let different = differ.decided_at[i].is_some();
            conclude(case, different, equal.decided_at[i].is_some(), shown_at(i))
        })
        .collect()
}

/// How much of a gate's evidence counts.
pub fn outcome(comparisons: &[GateComparison]) -> Outcome {
    let verdicts: Vec<Verdict> = comparisons.iter().map(|comparison| comparison.verdict).collect();
    Outcome::of(&verdicts)
}

/// Every comparison is better or equivalent, so the results may become the reference.
pub fn is_green(comparisons: &[GateComparison]) -> bool {
    let good = |comparison: &GateComparison| {
        matches!(comparison.verdict, Verdict::Better | Verdict::Equivalent)
    };
    !comparisons.is_empty() && comparisons.iter().all(good)
}

fn interval(case: &Case, alpha: f64) -> Interval {
    match case.basis {
        Basis::Rounds => fixed::paired_t(&Moments::of(&case.pairs), alpha),
        Basis::Values | Basis::Ratios => {
            fixed::welch(&Moments::of(&case.now), &Moments::of(&case.then), alpha)
        }
    }
}

fn conclude(case: Case, different: bool, same: bool, shown_at: f64) -> GateComparison {
    let shown = if case.invalid { Interval::UNBOUNDED } else { interval(&case, shown_at) };
    let verdict = match (case.invalid, different, same) {
        (true, ..) => Verdict::Invalid,
        (_, true, _) if (shown.low > 0.0) == (case.direction == Direction::HigherIsBetter) => {
            Verdict::Better
        }
        (_, true, _) => Verdict::Worse,
        (_, _, true) => Verdict::Equivalent,
        _ => Verdict::Inconclusive,
    };
    let estimate = match case.basis {
        Basis::Rounds => Moments::of(&case.pairs).mean,
        Basis::Values | Basis::Ratios => Moments::of(&case.now).mean - Moments::of(&case.then).mean,
    };
    let finite = |log: f64| {
        Some(log.exp()).filter(|ratio| !case.invalid && log.is_finite() && ratio.is_finite())
    };
    GateComparison {
        ratio: finite(estimate),
        low: finite(shown.low),
        high: finite(shown.high),
        verdict,
        confidence: 1.0 - shown_at,
        workload: case.workload,
        metric: case.metric,
        variant: case.variant,
        basis: case.basis,
        now: case.level_now,
        then: case.level_then,
    }
}

#[cfg(test)]
mod tests;
