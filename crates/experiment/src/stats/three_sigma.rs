//! The three-sigma rule of older studies, for comparison with them only.
//!
//! Our reading of "differ by more than three standard deviations": a variant's mean lies outside
//! the baseline's mean ± 3 standard deviations of single values (n − 1), on logarithms. There is no
//! margin, number of repetitions, other variants or repeated looks. With three repetitions false
//! alarms far exceed the nominal 0.3 %, and an effect must exceed three times the noise of a single
//! trial.

use super::{Interval, Moments};

/// The normal probability within three standard deviations.
pub const NOMINAL_CONFIDENCE: f64 = 0.9973;

/// The interval on logarithms; unbounded if the baseline has fewer than two values or the variant
/// none.
pub fn interval(variant: &Moments, baseline: &Moments) -> Interval {
    if variant.n == 0 || baseline.n < 2 {
        return Interval::UNBOUNDED;
    }
    Interval::around(variant.mean - baseline.mean, 3.0 * baseline.sd)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, StudentsT};

    use super::*;

    /// Two identical variants of `n` normal values each; 1 for `n` below 2. The difference of the
    /// means over √(2/n) deviations is Student's t with n − 1 degrees of freedom.
    fn false_alarms(n: u32) -> f64 {
        if n < 2 {
            return 1.0;
        }
        let n = f64::from(n);
        let student = StudentsT::new(0.0, 1.0, n - 1.0)
            .expect("degrees of freedom are positive with two values or more");
        2.0 * student.sf(3.0 * (n / 2.0).sqrt())
    }

    #[test]
    fn a_variant_differs_when_its_mean_lies_outside_three_deviations_of_the_baselines_values() {
        let baseline = Moments::of(&[9.0, 10.0, 11.0]);
        assert_eq!(baseline.sd, 1.0);
        assert!(interval(&Moments::of(&[12.9, 12.9]), &baseline).contains(0.0));
        assert!(!interval(&Moments::of(&[13.1]), &baseline).contains(0.0));
        assert_eq!(interval(&Moments::of(&[50.0]), &Moments::of(&[1.0])), Interval::UNBOUNDED);
    }

    #[test]
    fn its_false_alarms_are_those_that_were_counted() {
        // docs/internals/verdicts.md counts 6.8 to 6.9 % in 10,000 experiments at three runs;
        // the closed forms are those of t with 1 and 2 degrees of freedom.
        assert!(
            (false_alarms(3) - (1.0 - 3.0 * 1.5_f64.sqrt() / (13.5_f64 + 2.0).sqrt())).abs() < 1e-9
        );
        assert!(
            (false_alarms(2) - (1.0 - 2.0 / std::f64::consts::PI * 3.0_f64.atan())).abs() < 1e-9
        );
        let percent = [2, 3, 5, 10].map(|n| (false_alarms(n) * 1e3).round() / 10.0);
        assert_eq!(percent, [20.5, 6.7, 0.9, 0.0]);
        assert_eq!(false_alarms(1), 1.0);
    }
}
