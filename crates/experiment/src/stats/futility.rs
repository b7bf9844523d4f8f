//! Variants that will not be decided within their budget: their time is worth more to others.
//!
//! **Problem.** A variant whose truth lies at the edge of the margin, or whose noise is too large
//! for the budget, is measured to the end and found inconclusive there. Half-way this can often be
//! known.
//!
//! **Approach.** Given n of N values, the mean at the end is predicted: around the mean so far,
//! with variance sd² (1/n − 1/N), by Student's t with n − 1 degrees of freedom (flat prior on the
//! true mean: what is not known of it is in the prediction). The chance of a verdict is the
//! predicted probability that the interval at N, with the deviation seen so far, lies beyond the
//! margin on either side or inside it. From half of the budget on, a variant with a chance below
//! [`LEAST_CHANCE`] is given up.
//!
//! **Properties.** Not binding: the bounds are computed as if nobody ever gave up, so that giving
//! up, or not doing so, costs no error. It costs power, which `calibration` counts. The level is
//! alpha undivided, the most that a variant can be lent, so that what is given up stays so whatever
//! becomes of the others.
//!
//! **Source.** Predictive power (Spiegelhalter, Freedman & Blackburn 1986) in the form for a known
//! deviation; that the deviation is estimated enters by t alone, which is ours.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Moments;
use super::spending::{Design, FIRST_LOOK, Look, Sides, critical_t};

/// Below this chance of a verdict a variant is given up.
pub const LEAST_CHANCE: f64 = 0.05;

/// The chance of a verdict at the end, if it is below [`LEAST_CHANCE`]; `margin` is a log ratio,
/// `alpha` the level of the family.
pub fn hopeless(moments: &Moments, planned: usize, margin: f64, alpha: f64) -> Option<f64> {
    let late = moments.n >= FIRST_LOOK.max(planned.div_ceil(2)) && moments.n < planned;
    (late && moments.sd > 0.0)
        .then(|| chance(moments, planned, margin, alpha))?
        .filter(|chance| *chance < LEAST_CHANCE)
}

/// The predicted probability of a verdict after `planned` values; none where there are no bounds or
/// no spread.
pub fn chance(moments: &Moments, planned: usize, margin: f64, alpha: f64) -> Option<f64> {
    let (n, end) = (moments.n as f64, planned as f64);
    let design = Design { planned, look: Look::Planned };
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let half = |sides| Some(critical_t(design, planned, alpha, sides)? * moments.sd / end.sqrt());
    let (beyond, inside) = (half(Sides::Two)?, half(Sides::One)?);
    let spread = moments.sd * (1.0 / n - 1.0 / end).sqrt();
    let below = |x: f64| student.cdf((x - moments.mean) / spread);
    let better = 1.0 - below(margin + beyond);
    let worse = below(-margin - beyond);
    let equivalent = (below(margin - inside) - below(inside - margin)).max(0.0);
    Some(better + worse + equivalent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: usize, mean: f64, sd: f64) -> Moments {
        Moments { n, mean, sd }
    }

    #[test]
    fn a_variant_at_the_edge_of_the_margin_is_given_up_late_and_one_with_an_effect_never() {
        let margin = 0.01;
        assert_eq!(
            hopeless(&at(11, 0.01, 0.02), 24, margin, 0.05),
            None,
            "before half of the budget"
        );
        assert!(hopeless(&at(22, 0.01, 0.02), 24, margin, 0.05).is_some());
        assert_eq!(
            hopeless(&at(24, 0.01, 0.02), 24, margin, 0.05),
            None,
            "at the end there is nothing to save"
        );
        assert_eq!(hopeless(&at(20, 0.025, 0.02), 24, margin, 0.05), None);
        assert_eq!(hopeless(&at(20, 0.0, 0.002), 24, margin, 0.05), None, "it will be equivalent");
    }

    #[test]
    fn what_is_certain_has_chance_one() {
        assert!(chance(&at(20, 0.5, 0.02), 24, 0.01, 0.05).unwrap() > 0.999);
        assert!(chance(&at(20, 0.0, 0.001), 24, 0.01, 0.05).unwrap() > 0.999);
    }
}
