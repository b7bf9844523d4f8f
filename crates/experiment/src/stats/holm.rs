//! Holm's step-down over the variants of one metric, at any look of a sequential experiment.
//!
//! **Problem.** Three variants against one baseline are three chances of a false alarm. The
//! guarantee is about the family: the probability that *any* variant is decided wrongly is at most
//! alpha.
//!
//! **Two families.** A variant can be claimed to differ beyond the margin (better or worse), or to
//! be equivalent. Holm's rule lends the level of a rejected hypothesis to the others, because once
//! a rejection is correct, one fewer hypothesis is left that could be rejected falsely. One
//! combined list of both kinds could lend nothing: every variant has exactly one true null among
//! its two, so the number of true nulls is m from the first claim to the last. Hence one step-down
//! per kind, each over all m variants other than the baseline, in which the true nulls are a fixed
//! set that correct claims do not touch: the variant decided after k others *of that kind* is
//! compared at alpha / (m − k). The guarantees, each on its own: P(any variant within the margin is
//! called better or worse) ≤ alpha, and P(any variant beyond it is called equivalent) ≤ alpha.
//!
//! **Sequential.** Let the first false claim of one kind be made when k claims of that kind, all
//! correct, stand. Then at least the variants that could be claimed falsely remain, so their number
//! is at most m − k, and the level is at most alpha divided by that number. The event lies in the
//! union, over those variants, of "its confidence sequence at that level ever misses the truth",
//! which has probability at most alpha. It does not matter when each claim was made. m therefore
//! counts all variants other than the baseline, also those that stopped or are invalid. (Holm 1979;
//! for sequential tests Bartroff & Song 2014.)
//!
//! **Direction.** A variant truly beyond the margin on the bad side can be called better only if
//! its interval misses the truth by more than twice the margin. That is no false alarm in the above
//! sense and not part of the step-down's proof; each variant's probability of it is below its own
//! level, and `calibration` counts it.
//!
//! **Shown intervals.** A decided variant is shown at the level at which it was decided, an
//! undecided one at the stricter of the two current levels. So the interval that is shown always
//! agrees with the verdict. Each single interval has at least the confidence 1 − alpha; that all
//! intervals together have it is not guaranteed once variants are decided.

/// What became of the variants of one kind of claim.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDown {
    /// For each variant, in the order given: the level at which it was decided; none if it is not.
    pub decided_at: Vec<Option<f64>>,
    /// The level at which the next claim would be tested.
    pub current: f64,
}

/// Steps down over `m` variants with family-wise error `alpha`; `passes(variant, level)` says
/// whether the claim about the variant stands at that level, and must stay true for every larger
/// level. In one pass all variants that pass at the current level are decided at that level, which
/// is stricter than their turn would ask for and does not depend on their order.
pub fn step_down(m: usize, alpha: f64, mut passes: impl FnMut(usize, f64) -> bool) -> StepDown {
    let mut decided_at = vec![None; m];
    loop {
        let decided = decided_at.iter().flatten().count();
        let current = level(alpha, m, decided);
        let mut found = false;
        for (variant, at) in decided_at.iter_mut().enumerate() {
            if at.is_none() && passes(variant, current) {
                *at = Some(current);
                found = true;
            }
        }
        if !found {
            return StepDown { decided_at, current };
        }
    }
}

/// The level of the next claim when `decided` of `m` variants are decided: alpha / (m − decided),
/// and that of the last variant once all are.
pub fn level(alpha: f64, m: usize, decided: usize) -> f64 {
    alpha / m.saturating_sub(decided).max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Holm's rule as it is printed: sort, compare the k-th smallest p with alpha/(m-k), stop at
    /// the first failure.
    fn as_printed(p: &[f64], alpha: f64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
        let mut rejected = vec![false; p.len()];
        for (k, variant) in order.into_iter().enumerate() {
            if p[variant] > alpha / (p.len() - k) as f64 {
                break;
            }
            rejected[variant] = true;
        }
        rejected
    }

    #[test]
    fn holms_rule_rejects_what_bonferroni_cannot() {
        let p = [0.01, 0.02, 0.2];
        let down = step_down(3, 0.05, |variant, level| p[variant] <= level);
        assert_eq!(down.decided_at, [Some(0.05 / 3.0), Some(0.025), None]);
        assert_eq!(down.current, 0.05);
    }

    #[test]
    fn with_one_variant_nothing_is_divided_and_with_none_nothing_happens() {
        assert_eq!(step_down(1, 0.05, |_, level| level >= 0.05).decided_at, [Some(0.05)]);
        assert!(step_down(0, 0.05, |_, _| true).decided_at.is_empty());
    }

    proptest! {
        #[test]
        fn it_decides_exactly_what_the_printed_rule_rejects(
            p in proptest::collection::vec(0.0..0.2, 1..9), alpha in 0.001..0.3
        ) {
            let down = step_down(p.len(), alpha, |variant, level| p[variant] <= level);
            let decided: Vec<bool> = down.decided_at.iter().map(Option::is_some).collect();
            prop_assert_eq!(decided, as_printed(&p, alpha));
        }
    }
}
