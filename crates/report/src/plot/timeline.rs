//! Trials in the order in which they ran. A trend means that the machine changed, which the rounds
//! cancel; a trend of one variant only is an effect of that variant.

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, colour, invalid_mark, mark, room_for, svg};
use super::distribution::Subject;

const SIZE: (i32, i32) = (490, 340);

pub(crate) fn plot(subject: &Subject<'_>) -> crate::Result<Option<String>> {
    let points = subject.points();
    let Some(y) = Axis::of_values(points.iter().map(|(_, value, ..)| *value)) else {
        return Ok(None);
    };
    let last_ms = points.iter().map(|point| point.3.started_ms).max().unwrap_or(0) as f64;
    let (divisor, unit) = match last_ms {
        ms if ms < 300e3 => (1e3, "s"),
        ms if ms < 3.0 * 3600e3 => (60e3, "min"),
        _ => (3600e3, "h"),
    };
    let x = Axis::from_zero(last_ms / divisor);
    let drawn = svg(subject.label, SIZE, |canvas| {
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: format!("time since the start ({unit})"),
            y_title: subject.title(&y),
            left: room_for(&y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        for variant in 0..subject.variants.len() {
            let at = |(_, value, _, trial): &(usize, f64, bool, &experiment::results::Trial)| {
                (x.position(trial.started_ms as f64 / divisor), y.position(*value))
            };
            let of_variant: Vec<_> = points.iter().filter(|(a, ..)| *a == variant).collect();
            let path: Vec<_> = of_variant.iter().filter(|p| !p.2).map(|p| at(p)).collect();
            chart.draw_series([PathElement::new(
                path,
                colour(variant).mix(0.35).stroke_width(FINE as u32),
            )])?;
            for point in of_variant {
                let draw = if point.2 { invalid_mark } else { mark };
                draw(chart.plotting_area(), variant, at(point), subject.mark_size(3))?;
            }
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

#[cfg(test)]
mod tests {
    use super::super::distribution::tests::{draw, survives};
    use super::*;
    use crate::fixture::Lab;
    use proptest::prelude::*;

    #[test]
    fn time_has_a_unit_that_suits_its_length() {
        let mut lab = Lab::typical();
        let variants = ["none", "mq-deadline", "kyber", "bfq"];
        assert!(
            draw(&lab.trials, &variants, plot).expect("there are trials").contains("start (s)")
        );
        lab.trials.iter_mut().for_each(|trial| trial.started_ms *= 100);
        assert!(
            draw(&lab.trials, &variants, plot).expect("there are trials").contains("start (h)")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_trials_can_be_drawn(values in prop::collection::vec(prop::num::f64::ANY, 0..20), invalid: bool, variants in 1usize..9) {
            survives(&values, invalid, variants, plot);
        }
    }
}
