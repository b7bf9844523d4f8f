//! The summary of an experiment's primary verdicts for scripts: [`Outcome`] is the state of the
//! evidence, a [`Condition`] what the user considers a failure. Other metrics fail nothing.

use crate::analysis::Analysis;
use crate::comparison::{Comparison, Verdict};

/// The state of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every comparison is better, worse or equivalent.
    Conclusive,
    /// Every comparison is valid, and some are inconclusive.
    Inconclusive,
    /// Some comparisons are invalid.
    PartlyInvalid,
    /// No comparison is valid.
    Invalid,
}

impl Outcome {
    /// The outcome of these verdicts; invalid if empty.
    pub fn of(verdicts: &[Verdict]) -> Outcome {
        let invalid = verdicts.iter().filter(|verdict| **verdict == Verdict::Invalid).count();
        if invalid == verdicts.len() {
            Outcome::Invalid
        } else if invalid > 0 {
            Outcome::PartlyInvalid
        } else if verdicts.contains(&Verdict::Inconclusive) {
            Outcome::Inconclusive
        } else {
            Outcome::Conclusive
        }
    }
}

/// A condition of `--fail-if`; holds if it does for any primary comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// A variant is worse.
    Worse,
    /// A variant is anything but better, or its evidence is invalid.
    NotBetter,
    /// A variant's comparison has no verdict.
    Inconclusive,
    /// A variant's evidence is invalid.
    PartlyInvalid,
}

impl Condition {
    /// Whether it holds of a verdict.
    pub fn holds_of(self, verdict: Verdict) -> bool {
        match self {
            Condition::Worse => verdict == Verdict::Worse,
            Condition::NotBetter => verdict != Verdict::Better,
            Condition::Inconclusive => verdict == Verdict::Inconclusive,
            Condition::PartlyInvalid => verdict == Verdict::Invalid,
        }
    }

    /// The most severe that holds for any verdict.
    pub fn first_that_holds(conditions: &[Condition], verdicts: &[Verdict]) -> Option<Condition> {
        let holds =
            |condition: &&Condition| verdicts.iter().any(|verdict| condition.holds_of(*verdict));
        conditions.iter().filter(holds).min().copied()
    }
}

/// The primary comparisons.
pub fn deciding(analysis: &Analysis) -> impl Iterator<Item = &Comparison> {
    analysis.comparisons.iter().filter(|comparison| comparison.primary)
}

/// The primary verdicts.
pub fn deciding_verdicts(analysis: &Analysis) -> Vec<Verdict> {
    deciding(analysis).map(|comparison| comparison.verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Better, Equivalent, Inconclusive, Invalid, Worse};
    use super::*;

    #[test]
    fn one_invalid_variant_is_no_invalid_experiment() {
        assert_eq!(Outcome::of(&[Better, Invalid, Equivalent]), Outcome::PartlyInvalid);
        assert_eq!(Outcome::of(&[Invalid, Invalid]), Outcome::Invalid);
        assert_eq!(Outcome::of(&[]), Outcome::Invalid);
        assert_eq!(Outcome::of(&[Worse, Inconclusive]), Outcome::Inconclusive);
        assert_eq!(Outcome::of(&[Worse, Equivalent]), Outcome::Conclusive);
    }

    #[test]
    fn the_gravest_condition_that_was_asked_for_and_holds_is_named() {
        let all = [
            Condition::Inconclusive,
            Condition::PartlyInvalid,
            Condition::NotBetter,
            Condition::Worse,
        ];
        let first = |verdicts: &[Verdict]| Condition::first_that_holds(&all, verdicts);
        assert_eq!(first(&[Better, Worse, Inconclusive]), Some(Condition::Worse));
        assert_eq!(first(&[Better, Inconclusive]), Some(Condition::NotBetter));
        assert_eq!(first(&[Better]), None);
        assert_eq!(
            Condition::first_that_holds(&all[..2], &[Invalid, Inconclusive]),
            Some(Condition::Inconclusive)
        );
        assert_eq!(Condition::first_that_holds(&all[..1], &[Worse, Equivalent]), None);
    }
}
