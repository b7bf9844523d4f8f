//! Selects the differences to report with a bounded false discovery rate.
//!
//! Sources: Benjamini and Hochberg, JRSS B 57(1), 1995; intervals of selected parameters: Benjamini
//! and Yekutieli, JASA 100(469), 2005. At most the share `q` of reported differences is expected to
//! be false, and of their intervals at `level` to miss. Valid for independent and positively
//! dependent tests, such as those against one baseline.

/// A selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// Whether each hypothesis is rejected, in their order.
    pub rejected: Vec<bool>,
    /// Level of the selected intervals: q times their share of all.
    pub level: f64,
}

/// Selects by p-value; NaN is never selected, but counts.
pub fn select(p: &[f64], q: f64) -> Selected {
    let mut sorted: Vec<f64> = p.iter().map(|p| if p.is_nan() { 1.0 } else { *p }).collect();
    sorted.sort_by(f64::total_cmp);
    let m = p.len().max(1) as f64;
    let last = sorted.iter().enumerate().rev().find(|(at, p)| **p <= q * (at + 1) as f64 / m);
    let (number, bound) = last.map_or((0, f64::NEG_INFINITY), |(at, p)| (at + 1, *p));
    Selected { rejected: p.iter().map(|p| *p <= bound).collect(), level: q * number as f64 / m }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper_rejects_its_first_four_of_fifteen() {
        // Benjamini and Hochberg 1995, section 3.2: thrombolysis, fifteen p-values, q = 0.05.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let selected = select(&p, 0.05);
        assert_eq!(selected.rejected.iter().filter(|rejected| **rejected).count(), 4);
        assert!((selected.level - 0.05 * 4.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn a_p_value_above_its_own_step_is_rejected_with_a_later_one_that_is_below() {
        assert_eq!(select(&[0.04, 0.03, 0.05], 0.05).rejected, [true, true, true]);
        assert_eq!(select(&[0.04, 0.03, 0.06], 0.05).rejected, [false, false, false]);
    }

    #[test]
    fn what_is_no_number_is_never_selected_and_nothing_gives_nothing() {
        assert_eq!(select(&[f64::NAN, 0.001], 0.05).rejected, [false, true]);
        assert_eq!(select(&[], 0.05), Selected { rejected: Vec::new(), level: 0.0 });
    }
}
