//! Student's intervals for a fixed number of values: paired, and Welch's for two groups. For older
//! practice and foreign data without rounds; valid for one look only (see `sequence`). Sources:
//! Student (1908); Welch (1947), with Satterthwaite's (1946) degrees of freedom.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Interval, Moments};

/// The interval for paired differences at confidence 1 − `alpha`; unbounded for fewer than two.
pub fn paired_t(moments: &Moments, alpha: f64) -> Interval {
    if moments.n < 2 {
        return Interval::UNBOUNDED;
    }
    let n = moments.n as f64;
    Interval::around(moments.mean, critical(n - 1.0, alpha) * moments.sd / n.sqrt())
}

/// The two-sided p-value; 1 for fewer than two values.
pub fn paired_p(moments: &Moments) -> f64 {
    if moments.n < 2 || moments.mean == 0.0 {
        return 1.0;
    }
    if moments.sd == 0.0 {
        return 0.0;
    }
    let n = moments.n as f64;
    let student = StudentsT::new(0.0, 1.0, n - 1.0)
        .expect("degrees of freedom are positive with two values or more");
    2.0 * student.cdf(-(moments.mean.abs() / (moments.sd / n.sqrt())))
}

/// Welch's interval for mean(`a`) − mean(`b`) at confidence 1 − `alpha`; unbounded if either has
/// fewer than two values.
pub fn welch(a: &Moments, b: &Moments, alpha: f64) -> Interval {
    if a.n < 2 || b.n < 2 {
        return Interval::UNBOUNDED;
    }
    let difference = a.mean - b.mean;
    let squared = squared_error(a) + squared_error(b);
    if squared == 0.0 {
        return Interval::around(difference, 0.0);
    }
    Interval::around(difference, critical(degrees_of_freedom(a, b), alpha) * squared.sqrt())
}

/// Satterthwaite's degrees of freedom; both groups need two values, and one a spread.
pub fn degrees_of_freedom(a: &Moments, b: &Moments) -> f64 {
    let (a_error, b_error) = (squared_error(a), squared_error(b));
    (a_error + b_error).powi(2)
        / (a_error.powi(2) / (a.n as f64 - 1.0) + b_error.powi(2) / (b.n as f64 - 1.0))
}

/// The two-sided critical value of Student's t.
pub fn critical(degrees: f64, alpha: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees)
        .expect("degrees of freedom are positive with two values or more");
    student.inverse_cdf(1.0 - alpha / 2.0)
}

fn squared_error(moments: &Moments) -> f64 {
    moments.sd.powi(2) / moments.n as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn critical_values_are_those_of_the_printed_tables() {
        for (degrees, alpha, table) in [
            (1.0, 0.05, 12.706),
            (2.0, 0.05, 4.303),
            (10.0, 0.05, 2.228),
            (30.0, 0.01, 2.750),
            (4.0, 0.10, 2.132),
        ] {
            assert!((critical(degrees, alpha) - table).abs() < 6e-4, "df {degrees}, alpha {alpha}");
        }
    }

    #[test]
    fn students_own_sleep_data_give_his_paired_interval() {
        // Student 1908, hours of sleep gained by two drugs in ten patients: mean difference 1.58,
        // interval 0.70 to 2.46.
        let differences = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let interval = paired_t(&Moments::of(&differences), 0.05);
        assert!(
            (interval.low - 0.700_114_2).abs() < 1e-6 && (interval.high - 2.459_885_8).abs() < 1e-6,
            "{interval:?}"
        );
    }

    #[test]
    fn the_p_value_is_the_level_at_which_the_interval_touches_nothing() {
        let moments = Moments::of(&[1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]);
        let p = paired_p(&moments);
        assert!((p - 0.002_833).abs() < 1e-6, "as R's t.test: {p}");
        assert!(paired_t(&moments, p).low.abs() < 1e-6);
        assert_eq!(paired_p(&Moments::of(&[0.0, 0.0])), 1.0);
        assert_eq!(paired_p(&Moments::of(&[0.5, 0.5])), 0.0);
    }

    #[test]
    fn the_sleep_data_taken_as_two_groups_give_welchs_interval() {
        // The same data as two columns: t = 1.8608 on 17.776 degrees, interval -0.2055 to 3.3655
        // (R's t.test, signs changed).
        let first = Moments::of(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]);
        let second = Moments::of(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]);
        assert!((degrees_of_freedom(&second, &first) - 17.776_473_5).abs() < 1e-6);
        let interval = welch(&second, &first, 0.05);
        assert!(
            (interval.low + 0.205_483_2).abs() < 1e-6 && (interval.high - 3.365_483_2).abs() < 1e-6,
            "{interval:?}"
        );
    }

    #[test]
    fn fewer_than_two_values_bound_nothing_and_no_spread_leaves_a_point() {
        let one = Moments::of(&[1.0]);
        let flat = Moments::of(&[2.0, 2.0, 2.0]);
        assert_eq!(paired_t(&one, 0.05), Interval::UNBOUNDED);
        assert_eq!(welch(&one, &flat, 0.05), Interval::UNBOUNDED);
        assert_eq!(welch(&flat, &flat, 0.05), Interval { low: 0.0, high: 0.0 });
    }

    proptest! {
        #[test]
        fn welch_turns_its_signs_when_the_groups_change_places(
            a in proptest::collection::vec(-5.0..5.0, 2..9), b in proptest::collection::vec(-5.0..5.0, 2..9)
        ) {
            let (a, b) = (Moments::of(&a), Moments::of(&b));
            let (one, other) = (welch(&a, &b, 0.05), welch(&b, &a, 0.05));
            prop_assert!((one.low + other.high).abs() < 1e-9 && (one.high + other.low).abs() < 1e-9);
            let least = (a.n.min(b.n) - 1) as f64;
            let degrees = degrees_of_freedom(&a, &b);
            prop_assert!(degrees >= least - 1e-9 && degrees <= (a.n + b.n - 2) as f64 + 1e-9, "{}", degrees);
        }
    }
}
