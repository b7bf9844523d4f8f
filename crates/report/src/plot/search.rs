//! Candidates as dots at their first trials, and the best so far as a step line.

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, INK, colour, svg};

const SIZE: (i32, i32) = (1000, 360);
/// Larger log ratios are drawn at the edge, so that one bad setting does not flatten the others.
const FAR: f64 = 0.5;

/// `dots` are (trials before, effect, meets constraints), `line` is (trials, best effect so far),
/// with effects as log ratios to the default.
pub(crate) fn plot(
    label: &str,
    dots: &[(f64, f64, bool)],
    line: &[(f64, f64)],
    trials: f64,
) -> crate::Result<Option<String>> {
    let finite: Vec<f64> = dots
        .iter()
        .map(|dot| dot.1)
        .chain(line.iter().map(|at| at.1))
        .filter(|e| e.is_finite())
        .collect();
    if finite.is_empty() {
        return Ok(None);
    }
    let highest = finite.iter().copied().fold(0.01, f64::max).min(60.0);
    let lowest = finite.iter().copied().fold(-0.01, f64::min).max(-(2.0 * highest).max(FAR));
    let pad = (highest - lowest) * 0.06;
    let y = Axis::of_changes(lowest - pad..highest + pad);
    let x = Axis::from_zero(trials.max(1.0));
    let drawn = svg(label, SIZE, |canvas| {
        let left = canvas::room_for(&y);
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: "trials".to_owned(),
            y_title: "change over the default".to_owned(),
            left,
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        let zero = vec![(x.range.start, 0.0), (x.range.end, 0.0)];
        chart.draw_series([PathElement::new(zero, INK.stroke_width(FINE as u32))])?;
        for &(at, effect, holds) in dots {
            let here = (at, effect.clamp(y.range.start, y.range.end));
            let style = if holds {
                colour(1).mix(0.6).filled()
            } else {
                colour(1).stroke_width(FINE as u32)
            };
            chart.draw_series([Circle::new(here, 4 * FINE, style)])?;
        }
        let mut steps = Vec::new();
        for &(at, effect) in line {
            let effect = effect.clamp(y.range.start, y.range.end);
            if let Some(&(_, before)) = steps.last() {
                steps.push((at, before));
            }
            steps.push((at, effect));
        }
        steps.extend(steps.last().map(|(_, effect)| (trials, *effect)));
        chart.draw_series([PathElement::new(steps, colour(6).stroke_width(2 * FINE as u32))])?;
        Ok(())
    })?;
    Ok(Some(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_dots_and_steps_and_nothing_without_a_value() {
        let svg = plot(
            "a search",
            &[(0.0, 0.0, true), (2.0, 0.3, true), (3.0, -9.0, false)],
            &[(1.0, 0.0), (2.0, 0.3)],
            9.0,
        );
        let svg = svg.unwrap().unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("trials") && !svg.contains("NaN"));
        assert!(plot("none", &[(0.0, f64::NAN, true)], &[], 0.0).unwrap().is_none());
    }
}
