//! A results file against an earlier results file of the same plan: has anything become worse?
//!
//! **Problem.** A change of the kernel, of a file system or of a database image acts on all
//! variants alike, so the comparison of variants inside one results file cannot see it. Two results
//! files of one plan can: what is compared is each variant now with the same variant then.
//!
//! **Approach.** For each variant and workload the logarithms of the deciding metric, now and then,
//! by one of three [`Basis`]. In virtual time round i has the same seed in both results files, so
//! rounds are pairs and Student's paired interval applies. On a real machine the two results files
//! are of two repeats and nothing pairs their rounds: Welch's interval of the two means.
//! [`Basis::Ratios`] compares the log ratios to the baseline instead: what drifts on the machine
//! hits both variants of a round and cancels, and so does a change that slows down every variant,
//! which is why it is not the default. Number of rounds and time of comparing are fixed beforehand
//! (a gate does not stop early), so intervals for one look hold. Holm's rule divides alpha over all
//! comparisons of the gate; the margin is the plan's.
//!
//! **Source.** `stats::fixed` (Student 1908; Welch 1947), `stats::holm`.
//!
//! **Departures.** Of two repeats the variance between repeats cannot be estimated: it is not
//! in the interval, and a report says so. A reference that was measured with early stopping ended
//! where its own verdicts were reached, which biases its means by little; it is remarked on.

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
    /// The metric that decides for it.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// What is compared.
    pub basis: Basis,
    /// Estimate of now / then; none without evidence.
    pub ratio: Option<f64>,
    /// Lower end of the interval; none: unbounded.
    pub low: Option<f64>,
    /// Upper end of the interval; none: unbounded.
    pub high: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Confidence of the interval after the correction for all comparisons.
    pub confidence: f64,
    /// Values that count and geometric mean, now.
    pub now: Level,
    /// Values that count and geometric mean, then.
    pub then: Level,
}

/// Compares every variant, or the chosen one, of `now` against `then`, which must be results files
/// of one plan.
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

/// Whether nothing is open: every comparison is better or equivalent, so that the results file may
/// become the reference.
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
