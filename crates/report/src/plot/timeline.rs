//! The trials in the order in which they ran: drift, warm-up and interference by other programs.
//!
//! If a line climbs or falls, the machine changed during the experiment. The blocks cancel what
//! affects all arms alike. A rise of one arm only is an effect of that arm.

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, colour, mark, room_for, svg, void_mark};
use super::distribution::Subject;

const SIZE: (i32, i32) = (490, 340);

/// The time line; none when no trial has a value.
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
        for arm in 0..subject.arms.len() {
            let at = |(_, value, _, trial): &(usize, f64, bool, &experiment::record::Trial)| {
                (x.position(trial.started_ms as f64 / divisor), y.position(*value))
            };
            let of_arm: Vec<_> = points.iter().filter(|(a, ..)| *a == arm).collect();
            let path: Vec<_> = of_arm.iter().filter(|p| !p.2).map(|p| at(p)).collect();
            chart.draw_series([PathElement::new(
                path,
                colour(arm).mix(0.35).stroke_width(FINE as u32),
            )])?;
            for point in of_arm {
                let draw = if point.2 { void_mark } else { mark };
                draw(chart.plotting_area(), arm, at(point), subject.mark_size(3))?;
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
        let arms = ["none", "mq-deadline", "kyber", "bfq"];
        assert!(draw(&lab.trials, &arms, plot).expect("there are trials").contains("start (s)"));
        lab.trials.iter_mut().for_each(|trial| trial.started_ms *= 100);
        assert!(draw(&lab.trials, &arms, plot).expect("there are trials").contains("start (h)"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_trials_can_be_drawn(values in prop::collection::vec(prop::num::f64::ANY, 0..20), void: bool, arms in 1usize..9) {
            survives(&values, void, arms, plot);
        }
    }
}
