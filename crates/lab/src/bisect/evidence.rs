//! The evidence of an experiment about a step, and the step's side in the search.
//!
//! A step is bad if it is worse than the good end by more than the plan's margin, and good if the
//! interval excludes that; unlike for `equivalent`, it may be better by any amount. Each conclusion
//! errs at most with the guaranteed probability.

use experiment::analysis::{Comparison, Verdict};
use experiment::metric::Direction;
use experiment::search::bisect::Finding;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub verdict: Verdict,
    /// Candidate / baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    pub rounds: u32,
    pub confidence: f64,
    /// Why the evidence is invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

impl Evidence {
    pub(super) fn of(comparison: &Comparison) -> Evidence {
        let invalid = comparison.verdict == Verdict::Invalid;
        Evidence {
            verdict: comparison.verdict,
            ratio: comparison.ratio,
            low: comparison.low,
            high: comparison.high,
            rounds: comparison.rounds,
            confidence: comparison.confidence,
            reasons: comparison
                .reasons
                .iter()
                .filter(|_| invalid)
                .map(ToString::to_string)
                .collect(),
        }
    }

    /// The side of the candidate; None if inconclusive.
    pub(super) fn side(&self, direction: Direction, margin: f64) -> Option<Finding> {
        let within = |bound: Option<f64>, inside: &dyn Fn(f64) -> bool| {
            bound.is_some_and(|ratio| inside(ratio.ln()))
        };
        match self.verdict {
            Verdict::Worse => Some(Finding::Bad),
            Verdict::Better | Verdict::Equivalent => Some(Finding::Good),
            Verdict::Invalid => None,
            Verdict::Inconclusive => {
                let margin = margin.ln_1p();
                let not_worse = match direction {
                    Direction::HigherIsBetter => within(self.low, &|log| log > -margin),
                    Direction::LowerIsBetter => within(self.high, &|log| log < margin),
                    Direction::Descriptive => false,
                };
                not_worse.then_some(Finding::Good)
            }
        }
    }

    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        self.ratio.map(|ratio| (ratio - 1.0) * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(verdict: Verdict, low: f64, high: f64) -> Evidence {
        let (ratio, low, high) = (Some((low * high).sqrt()), Some(low), Some(high));
        Evidence { verdict, ratio, low, high, rounds: 9, confidence: 0.99, reasons: Vec::new() }
    }

    #[test]
    fn a_step_that_cannot_be_worse_is_good_although_it_may_be_better() {
        let unclear = evidence(Verdict::Inconclusive, 0.995, 1.3);
        assert_eq!(unclear.side(Direction::HigherIsBetter, 0.01), Some(Finding::Good));
        assert_eq!(unclear.side(Direction::LowerIsBetter, 0.01), None, "it may be 30 % worse");
        assert_eq!(unclear.side(Direction::HigherIsBetter, 0.001), None);
        assert_eq!(unclear.side(Direction::LowerIsBetter, 0.31), Some(Finding::Good));
        let unbounded = Evidence { low: None, high: None, ..unclear };
        assert_eq!(unbounded.side(Direction::HigherIsBetter, 0.01), None);
    }

    #[test]
    fn verdicts_decide_and_invalid_evidence_does_not() {
        for (verdict, side) in [
            (Verdict::Worse, Some(Finding::Bad)),
            (Verdict::Better, Some(Finding::Good)),
            (Verdict::Equivalent, Some(Finding::Good)),
            (Verdict::Invalid, None),
        ] {
            assert_eq!(
                evidence(verdict, 0.999, 1.001).side(Direction::LowerIsBetter, 0.01),
                side,
                "{verdict:?}"
            );
        }
    }
}
