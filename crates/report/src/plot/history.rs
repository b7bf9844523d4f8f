//! A watch's effects from test to test, relative to the baseline. If the intervals of two tests do
//! not overlap, the machine, disk or workload has changed.

use std::ops::Range;

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, INK, colour, mark, room_for, svg};

const SIZE: (i32, i32) = (1000, 340);
/// Intervals are cut at these natural log ratios.
const WIDEST: f64 = 7.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) day: f64,
    /// An open end is infinite or 0.
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The first element of `variants`, the baseline's, is empty. `days` lists the labelled ticks.
pub(crate) fn plot(
    label: &str,
    baseline: &str,
    days: &[(f64, String)],
    variants: &[Vec<Point>],
) -> crate::Result<Option<String>> {
    let Some(span) = span(variants.iter().flatten()) else { return Ok(None) };
    let last = days.iter().map(|(day, _)| *day).fold(0.0, f64::max).max(1e-3);
    let x =
        Axis { range: -0.03 * last..last * 1.03, ticks: days.to_vec(), log: false, names: false };
    let y = Axis::of_changes(span);
    let drawn = svg(label, SIZE, |canvas| {
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: "day of the test (UTC)".to_owned(),
            y_title: format!("change against {baseline}"),
            left: room_for(&y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        let zero = vec![(x.range.start, 0.0), (x.range.end, 0.0)];
        chart.draw_series([PathElement::new(zero, INK.stroke_width(FINE as u32))])?;
        for (variant, points) in variants.iter().enumerate() {
            // Intervals of one test must not hide each other.
            let aside = (variant as f64 - variants.len() as f64 / 2.0) * last * 0.004;
            let at = |point: &Point| (point.day + aside, inside(point.ratio.ln(), &y.range));
            let path: Vec<_> = points.iter().map(at).collect();
            chart.draw_series([PathElement::new(
                path,
                colour(variant).mix(0.35).stroke_width(FINE as u32),
            )])?;
            for point in points {
                let (day, _) = at(point);
                let bar = [point.low.ln(), point.high.ln()].map(|end| (day, inside(end, &y.range)));
                chart.draw_series([PathElement::new(
                    bar.to_vec(),
                    colour(variant).stroke_width(FINE as u32),
                )])?;
                mark(chart.plotting_area(), variant, at(point), 4)?;
            }
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

fn inside(log: f64, range: &Range<f64>) -> f64 {
    if log.is_nan() { 0.0 } else { log.clamp(range.start, range.end) }
}

/// Always includes 0, no change.
fn span<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Range<f64>> {
    let mut span: Option<(f64, f64)> = None;
    for point in points {
        for log in [point.ratio.ln(), point.low.ln(), point.high.ln()] {
            if log.is_finite() {
                let (low, high) = span.unwrap_or((0.0, 0.0));
                span = Some((low.min(log.max(-WIDEST)), high.max(log.min(WIDEST))));
            }
        }
    }
    let (low, high) = span?;
    let pad = ((high - low) * 0.08).max(0.01);
    Some(low - pad..high + pad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_measured_gives_no_plot_and_open_intervals_end_at_the_edge() {
        assert!(plot("x", "none", &[], &[Vec::new()]).unwrap().is_none());
        let open = Point { day: 0.0, ratio: 1.2, low: 0.0, high: f64::INFINITY };
        let days = [(0.0, "2026-11-22".to_owned())];
        let drawn =
            plot("x", "none", &days, &[Vec::new(), vec![open]]).unwrap().expect("there is a point");
        assert!(drawn.contains("2026-11-22") && drawn.contains("change against none"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_history_can_be_drawn(values in prop::collection::vec((0.0f64..4000.0, prop::num::f64::ANY, prop::num::f64::ANY, prop::num::f64::ANY), 0..20)) {
            let points = values.iter().map(|(day, ratio, low, high)| Point { day: *day, ratio: *ratio, low: *low, high: *high }).collect();
            let days: Vec<_> = values.iter().map(|(day, ..)| (*day, format!("{day:.0}"))).collect();
            plot("x", "none", &days, &[Vec::new(), points]).unwrap();
        }
    }
}
