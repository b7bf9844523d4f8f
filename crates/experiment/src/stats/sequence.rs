//! A confidence sequence for the mean, valid at all looks together.
//!
//! The interval is the θ with e < 1/α, where e exceeds 1/α ever with probability at most α (Ville).
//! Source: Wang & Ramdas, Anytime-valid t-tests (2023), after Lai 1976; with t = √n (mean − θ) / sd
//! and prior variance g, averaged over [`MIXTURE`], and unbounded until (1 + n g)^((n-1)/2) > 1/α:
//!
//! ```text
//! e = (1 + n g)^(-1/2) · [ (1 + t²/(n-1)) / (1 + t²/((n-1)(1 + n g))) ]^(n/2)
//! ```

use super::{Interval, Moments};

/// Prior variances g with weights that sum to 1: small g for small effects, large g for large ones.
///
/// Chosen by mean rounds to detect 0.3, 1, 4 and 10 round SDs at alpha = 5 % (1,500 experiments
/// each): g = 0.5 alone: 104, 13.9, 6.3, 6.0; g = 4 alone: 125, 13.7, 4.3, 4.0; this mixture: 119,
/// 14.8, 4.4, 3.3.
pub const MIXTURE: [(f64, f64); 3] = [(0.25, 1.0 / 3.0), (4.0, 1.0 / 3.0), (100.0, 1.0 / 3.0)];

/// Fewer equal values bound nothing: the measure may be coarse.
pub const MIN_WITHOUT_SPREAD: usize = 6;

/// The log e-value against the mean that gives `t` after `n` values; 0 for fewer than two. `t` is
/// infinite for equal values and another mean.
pub fn log_e_value(n: usize, t: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    log_mixture(|g| log_e_of(n, t, g))
}

/// The smallest |t| with an e-value of 1/`alpha`; `None` if no t suffices yet.
pub fn critical_t(n: usize, alpha: f64) -> Option<f64> {
    let needed = -alpha.ln();
    if log_e_value(n, f64::INFINITY) <= needed {
        return None;
    }
    let mut high = 1.0;
    while log_e_value(n, high) < needed {
        high *= 2.0;
        if high > 1e12 {
            return None;
        }
    }
    let mut low = 0.0;
    // Fifty bisections leave a relative error below 1e-12; the upper end errs on the safe side.
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if log_e_value(n, middle) < needed { low = middle } else { high = middle }
    }
    Some(high)
}

/// The interval at confidence 1 − `alpha` over all looks. Equal values give a point from
/// [`MIN_WITHOUT_SPREAD`] on.
pub fn interval(moments: &Moments, alpha: f64) -> Interval {
    if moments.sd == 0.0 && moments.n < MIN_WITHOUT_SPREAD {
        return Interval::UNBOUNDED;
    }
    match critical_t(moments.n, alpha) {
        Some(t) => Interval::around(moments.mean, t * moments.sd / (moments.n as f64).sqrt()),
        None => Interval::UNBOUNDED,
    }
}

fn log_e_of(n: usize, t: f64, g: f64) -> f64 {
    let (n, degrees) = (n as f64, n as f64 - 1.0);
    let spread = (n * g).ln_1p();
    let bracket = if t.is_finite() {
        let square = t * t / degrees;
        square.ln_1p() - (square / (1.0 + n * g)).ln_1p()
    } else {
        spread
    };
    0.5 * (n * bracket - spread)
}

fn log_mixture(log_e: impl Fn(f64) -> f64) -> f64 {
    let logs = MIXTURE.map(|(g, weight)| weight.ln() + log_e(g));
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{Continuous, StudentsT};

    use super::*;

    #[test]
    fn the_formula_gives_the_values_worked_out_by_hand() {
        // n = 4, g = 1, t = 3: 5^(-1/2) · [(1 + 9/3) / (1 + 9/15)]^2 = 6.25 / √5.
        assert!((log_e_of(4, 3.0, 1.0).exp() - 6.25 / 5.0_f64.sqrt()).abs() < 1e-12);
        // t = 0: (1 + n g)^(-1/2).
        assert!((log_e_of(4, 0.0, 2.0).exp() - 1.0 / 3.0).abs() < 1e-12);
        // t infinite: (1 + n g)^((n - 1)/2).
        assert!((log_e_of(3, f64::INFINITY, 1.0).exp() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn under_the_null_the_expected_e_value_is_one_at_every_n() {
        // The defining property of an e-value, by integration over the null distribution of t.
        for n in [2_usize, 3, 5, 20, 100] {
            let student = StudentsT::new(0.0, 1.0, n as f64 - 1.0).unwrap();
            // t = tan(u) maps the line to (-π/2, π/2).
            let steps = 400_000;
            let width = std::f64::consts::PI / f64::from(steps);
            let total: f64 = (0..steps)
                .map(|i| -std::f64::consts::FRAC_PI_2 + (f64::from(i) + 0.5) * width)
                .map(|u| {
                    let t = u.tan();
                    (log_e_value(n, t) + student.ln_pdf(t)).exp() * (1.0 + t * t) * width
                })
                .sum();
            assert!((total - 1.0).abs() < 2e-3, "n = {n}: the mean e-value is {total}");
        }
    }

    #[test]
    fn weights_sum_to_one_or_the_mixture_would_be_no_e_value() {
        assert!((MIXTURE.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn before_the_bound_passes_one_over_alpha_the_interval_is_unbounded() {
        let moments = |n| Moments { n, mean: 1.0, sd: 0.0 };
        assert_eq!(interval(&moments(0), 0.05), Interval::UNBOUNDED);
        assert_eq!(interval(&moments(1), 0.05), Interval::UNBOUNDED);
        assert_eq!(critical_t(2, 0.05), None);
        assert_eq!(
            interval(&moments(5), 0.05),
            Interval::UNBOUNDED,
            "five equal values may be equal by rounding"
        );
        assert_eq!(
            interval(&moments(6), 0.05),
            Interval { low: 1.0, high: 1.0 },
            "no spread, infinite t"
        );
    }

    #[test]
    fn the_interval_is_wider_than_students_for_one_look_and_not_by_much() {
        let moments = Moments { n: 20, mean: 0.0, sd: 1.0 };
        let (sequence, student) =
            (interval(&moments, 0.05), super::super::fixed::paired_t(&moments, 0.05));
        assert!(
            sequence.high > student.high && sequence.high < 2.0 * student.high,
            "{sequence:?} {student:?}"
        );
    }

    proptest! {
        #[test]
        fn e_grows_with_t_and_the_critical_t_is_where_it_reaches_one_over_alpha(
            n in 2_usize..2000, t in 0.0..1e6, step in 1e-6..1e3, alpha in 1e-6..0.5
        ) {
            prop_assert!(log_e_value(n, t + step) >= log_e_value(n, t));
            prop_assert_eq!(log_e_value(n, -t), log_e_value(n, t));
            match critical_t(n, alpha) {
                Some(t) => prop_assert!((log_e_value(n, t) + alpha.ln()).abs() < 1e-6, "t = {}", t),
                None => prop_assert!(log_e_value(n, 1e12) < -alpha.ln() + 1e-6),
            }
        }

        #[test]
        fn a_higher_confidence_and_a_larger_sd_never_narrow_the_interval(
            n in 2_usize..500, sd in 0.0..10.0, alpha in 1e-4..0.5
        ) {
            let at = |sd, alpha| interval(&Moments { n, mean: 0.3, sd }, alpha);
            prop_assert!(at(sd, alpha / 2.0).low <= at(sd, alpha).low);
            prop_assert!(at(sd * 2.0, alpha).high >= at(sd, alpha).high);
            prop_assert!(at(sd, alpha).contains(0.3));
        }
    }
}
