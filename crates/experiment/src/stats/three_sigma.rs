//! The three-sigma rule of older studies, for comparison only.
//!
//! Those studies say that results "differ by more than three standard deviations" without a formula. Our reading, and only
//! that: an arm differs when the mean of its values lies outside the baseline's mean ± 3 standard deviations of the
//! baseline's single values (n − 1 in the denominator), all on logarithms. The rule knows no margin, no number of
//! repetitions, no other arms and no second look. With three repetitions the standard deviation itself is uncertain by half,
//! so that its false alarms are far more than the 0.3 % that "three sigma" suggests, and an effect has to exceed three times
//! the noise of one trial however many trials there are.

use super::{Interval, Moments};

/// What the rule calls its confidence: the share of a normal distribution within three standard deviations.
pub const NOMINAL_CONFIDENCE: f64 = 0.9973;

/// The range arm − baseline ± 3 standard deviations of the baseline, on logarithms: the rule sees a difference when it
/// excludes 0. Unbounded when the baseline has fewer than two values or the arm none.
pub fn interval(arm: &Moments, baseline: &Moments) -> Interval {
    if arm.n == 0 || baseline.n < 2 {
        return Interval::UNBOUNDED;
    }
    Interval::around(arm.mean - baseline.mean, 3.0 * baseline.sd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_differs_when_its_mean_lies_outside_three_deviations_of_the_baselines_values() {
        let baseline = Moments::of(&[9.0, 10.0, 11.0]);
        assert_eq!(baseline.sd, 1.0);
        assert!(interval(&Moments::of(&[12.9, 12.9]), &baseline).contains(0.0));
        assert!(!interval(&Moments::of(&[13.1]), &baseline).contains(0.0));
        assert_eq!(interval(&Moments::of(&[50.0]), &Moments::of(&[1.0])), Interval::UNBOUNDED);
    }
}
