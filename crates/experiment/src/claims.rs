//! Verdicts over repeats or machines: variants with an interval pooled from several independent
//! measurements. The decision is the same for both.

use crate::compare;
use crate::comparison::Verdict;
use crate::metric::Direction;
use crate::plan::Criteria;
use crate::stats::Interval;
use crate::stats::holm::step_down;
use crate::stats::repeats::Pooled;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) verdict: Verdict,
    /// Level of the decision, or of the next test.
    pub(crate) level: f64,
    /// Interval of the log ratio, at that level.
    pub(crate) interval: Interval,
}

/// Decides by step-down; each variant comes with whether it is invalid. Also returns the next
/// levels for difference and equivalence.
pub(crate) fn claims(
    variants: &[(&Pooled, bool)],
    direction: Direction,
    criteria: &Criteria,
) -> (Vec<Claim>, [f64; 2]) {
    let margin = criteria.margin.ln_1p();
    let (m, alpha) = (variants.len(), criteria.alpha);
    let at = |i: usize, level: f64| variants[i].0.interval(level);
    let differ =
        step_down(m, alpha, |i, level| !variants[i].1 && compare::differs(&at(i, level), margin));
    let equal = step_down(m, alpha, |i, level| {
        !variants[i].1 && compare::equivalent(&at(i, level), margin)
    });
    let one = |i: usize| {
        let level = differ.decided_at[i]
            .or(equal.decided_at[i])
            .unwrap_or(differ.current.min(equal.current));
        let interval = at(i, level);
        let verdict = match (variants[i].1, differ.decided_at[i], equal.decided_at[i]) {
            (true, ..) => Verdict::Invalid,
            (_, Some(_), _) if (interval.low > 0.0) == (direction == Direction::HigherIsBetter) => {
                Verdict::Better
            }
            (_, Some(_), _) => Verdict::Worse,
            (_, None, Some(_)) => Verdict::Equivalent,
            (_, None, None) => Verdict::Inconclusive,
        };
        Claim { verdict, level, interval }
    };
    ((0..m).map(one).collect(), [differ.current, equal.current])
}
