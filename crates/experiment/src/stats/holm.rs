//! Holm's step-down over the variants of one metric, at any look of a sequential experiment.
//!
//! False differences and false equivalences each have family-wise error alpha, by separate
//! step-downs over all m variants other than the baseline, stopped and invalid ones included: the
//! variant decided after k others of its kind is tested at alpha / (m − k). At the first false
//! claim at most m − k true nulls remain, whose sequences err together with at most alpha, whenever
//! claims are made (Holm 1979; Bartroff & Song 2014). A decided variant is shown at its deciding
//! level, others at the stricter current one.

/// The state of one kind of claim.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDown {
    /// For each variant the level at which it was decided, if it was.
    pub decided_at: Vec<Option<f64>>,
    /// The level of the next claim.
    pub current: f64,
}

/// Runs the step-down. `passes(variant, level)` must be monotone in the level. All variants that
/// pass in one sweep are decided at the current level, which is stricter than necessary and
/// independent of their order.
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

/// The level after `decided` of `m`: alpha / (m − decided), at least that of the last variant.
pub fn level(alpha: f64, m: usize, decided: usize) -> f64 {
    alpha / m.saturating_sub(decided).max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Holm's textbook rule: sort, compare the k-th smallest p with alpha/(m-k), stop at the first
    /// failure.
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
