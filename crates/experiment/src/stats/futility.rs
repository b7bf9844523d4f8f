//! Gives up variants that will not be decided within their budget.
//!
//! After n of N values the final mean is predicted by Student's t with n − 1 degrees of freedom and
//! variance sd² (1/n − 1/N). From half of the budget on, a predicted probability of a verdict below
//! [`MIN_CHANCE`] ends the variant. This costs power but no error. The undivided alpha makes the
//! decision final. Source: predictive power (Spiegelhalter, Freedman & Blackburn 1986) for a known
//! deviation; the use of t is ours.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Moments;
use super::spending::{Design, FIRST_LOOK, Sides, critical_t};

/// Minimum chance of a verdict.
pub const MIN_CHANCE: f64 = 0.05;

/// The chance of a verdict if below [`MIN_CHANCE`] at a look; `margin` is a log ratio, `alpha` the
/// family's level.
pub fn hopeless(moments: &Moments, design: Design, margin: f64, alpha: f64) -> Option<f64> {
    let late = FIRST_LOOK.max(design.planned.div_ceil(2))..design.planned;
    (late.contains(&moments.n) && design.latest(moments.n) == moments.n && moments.sd > 0.0)
        .then(|| chance(moments, design, margin, alpha))?
        .filter(|chance| *chance < MIN_CHANCE)
}

/// The chance of a verdict after all values; `None` without bounds or spread.
pub fn chance(moments: &Moments, design: Design, margin: f64, alpha: f64) -> Option<f64> {
    let (n, end) = (moments.n as f64, design.planned as f64);
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let half =
        |sides| Some(critical_t(design, design.planned, alpha, sides)? * moments.sd / end.sqrt());
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
            hopeless(&at(11, 0.01, 0.02), Design::of(24), margin, 0.05),
            None,
            "before half of the budget"
        );
        assert!(hopeless(&at(22, 0.01, 0.02), Design::of(24), margin, 0.05).is_some());
        assert_eq!(
            hopeless(&at(24, 0.01, 0.02), Design::of(24), margin, 0.05),
            None,
            "at the end there is nothing to save"
        );
        assert_eq!(hopeless(&at(20, 0.025, 0.02), Design::of(24), margin, 0.05), None);
        assert_eq!(
            hopeless(&at(20, 0.0, 0.002), Design::of(24), margin, 0.05),
            None,
            "it will be equivalent"
        );
    }

    #[test]
    fn what_is_certain_has_chance_one() {
        assert!(chance(&at(20, 0.5, 0.02), Design::of(24), 0.01, 0.05).unwrap() > 0.999);
        assert!(chance(&at(20, 0.0, 0.001), Design::of(24), 0.01, 0.05).unwrap() > 0.999);
    }
}
