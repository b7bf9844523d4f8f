//! Line charts: time series of a trace, and cumulative shares.

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, colour, room_for, svg};

const SIZE: (i32, i32) = (490, 300);

pub(crate) struct Line {
    pub(crate) colour: usize,
    pub(crate) points: Vec<(f64, f64)>,
}

/// `None` if every line has fewer than two points.
pub(crate) fn plot(
    label: &str,
    x_title: &str,
    x: &Axis,
    y_title: &str,
    y: &Axis,
    lines: &[Line],
) -> crate::Result<Option<String>> {
    if lines.iter().all(|line| line.points.len() < 2) {
        return Ok(None);
    }
    let drawn = svg(label, SIZE, |canvas| {
        let frame = canvas::Frame {
            x,
            y,
            x_title: x_title.to_owned(),
            y_title: y_title.to_owned(),
            left: room_for(y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        for line in lines {
            let points: Vec<_> = line
                .points
                .iter()
                .map(|(at, value)| (x.position(*at), y.position(*value)))
                .collect();
            chart.draw_series([PathElement::new(
                points,
                colour(line.colour).stroke_width(2 * FINE as u32),
            )])?;
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_needs_two_points_and_each_has_its_colour() {
        let axis = Axis::from_zero(10.0);
        let line = |colour, points: &[(f64, f64)]| Line { colour, points: points.to_vec() };
        let draw = |lines: &[Line]| plot("x", "time", &axis, "value", &axis, lines).unwrap();
        assert!(draw(&[line(1, &[(0.0, 1.0)])]).is_none());
        let drawn = draw(&[
            line(1, &[(0.0, 1.0), (f64::MAX, f64::NAN)]),
            line(2, &[(0.0, 1.0), (1.0, 2.0)]),
        ]);
        assert!(drawn.expect("two lines").matches("<polyline").count() >= 2);
    }
}
