//! Response curves: the effect on a metric over the values of one tunable.
//!
//! The x axis, with a ring at the default, is logarithmic if the values differ by ratios; 0 then
//! has a separate position. The y axis is that of the forest plot, common to a workload to reveal
//! the tunable that matters.

use std::ops::Range;

use experiment::analysis::Comparison;
use experiment::sweep::number;
use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, CHARACTER, FINE, INK, room_for, svg, verdict_colour};
use super::forest;
use crate::number::count;
use crate::words;

const SIZE: (i32, i32) = (490, 300);
/// Above this ratio of values the axis is logarithmic.
const RATIOS: f64 = 8.0;

pub(crate) struct Curve<'a> {
    /// Text alternative.
    pub(crate) label: &'a str,
    pub(crate) tunable: &'a str,
    pub(crate) unit: &'a str,
    /// The baseline's value, if known.
    pub(crate) default: Option<&'a str>,
    pub(crate) points: Vec<(&'a str, &'a Comparison)>,
    /// In words, with its direction.
    pub(crate) metric: String,
    pub(crate) margin: f64,
}

pub(crate) fn span(comparisons: &[&Comparison], margin: f64) -> Range<f64> {
    let bare: Vec<Comparison> = comparisons
        .iter()
        .map(|comparison| Comparison { log_ratios: Vec::new(), ..(*comparison).clone() })
        .collect();
    forest::span(&bare.iter().collect::<Vec<_>>(), margin)
}

/// `None` if no value is a number.
pub(crate) fn plot(curve: &Curve<'_>, range: &Range<f64>) -> crate::Result<Option<String>> {
    let points: Vec<(f64, &Comparison)> = curve
        .points
        .iter()
        .filter_map(|(value, comparison)| Some((number(value)?, *comparison)))
        .collect();
    if points.is_empty() {
        return Ok(None);
    }
    let default = curve.default.and_then(number);
    let places = Places::of(points.iter().map(|(value, _)| *value).chain(default));
    let x = places.axis(default);
    let y = Axis::of_changes(range.clone());
    let drawn = svg(curve.label, SIZE, |canvas| {
        let log = if places.log { ", log scale" } else { "" };
        let inside = [curve.unit, log].concat();
        let inside = inside.trim_start_matches(", ");
        let name = words::shortened(&words::clean(curve.tunable), 32);
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: if inside.is_empty() { name } else { format!("{name} ({inside})") },
            y_title: curve.metric.clone(),
            left: room_for(&y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        let band = [
            (x.range.start, forest::band(curve.margin).start.max(range.start)),
            (x.range.end, forest::band(curve.margin).end.min(range.end)),
        ];
        chart.draw_series([Rectangle::new(band, RGBColor(0x56, 0xb4, 0xe9).mix(0.22).filled())])?;
        let zero = vec![(x.range.start, 0.0), (x.range.end, 0.0)];
        chart.draw_series([PathElement::new(zero, INK.stroke_width(FINE as u32))])?;
        let estimate = |comparison: &Comparison| {
            comparison.ratio.map(|ratio| log_of(ratio).clamp(range.start, range.end))
        };
        let known = points
            .iter()
            .filter_map(|(value, comparison)| Some((places.at(*value), estimate(comparison)?)));
        let mut path: Vec<(f64, f64)> =
            known.chain(default.map(|value| (places.at(value), 0.0))).collect();
        path.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart.draw_series([PathElement::new(path, INK.mix(0.45).stroke_width(2 * FINE as u32))])?;
        if let Some(value) = default {
            let at = EmptyElement::at((places.at(value), 0.0));
            chart.draw_series([at + Circle::new((0, 0), 6 * FINE, WHITE.filled())])?;
            let at = EmptyElement::at((places.at(value), 0.0));
            chart.draw_series([
                at + Circle::new((0, 0), 6 * FINE, INK.stroke_width(2 * FINE as u32))
            ])?;
        }
        points.iter().try_for_each(|(value, comparison)| {
            mark(&mut chart, comparison, places.at(*value), range)
        })
    })?;
    Ok(Some(drawn))
}

fn log_of(ratio: f64) -> f64 {
    ratio.max(f64::MIN_POSITIVE).ln()
}

/// Caps end an interval, arrows mark open ends; without evidence a cross at the bottom.
fn mark(
    chart: &mut canvas::Chart<'_, '_>,
    comparison: &Comparison,
    x: f64,
    range: &Range<f64>,
) -> crate::Result<()> {
    let colour = verdict_colour(comparison.verdict);
    let Some(ratio) = comparison.ratio.filter(|ratio| ratio.is_finite()) else {
        let at = range.start + (range.end - range.start) * 0.03;
        let cross = Cross::new((0, 0), 5 * FINE, colour.stroke_width(2 * FINE as u32));
        chart.draw_series([EmptyElement::at((x, at)) + cross])?;
        return Ok(());
    };
    if comparison.low.is_some() || comparison.high.is_some() {
        let low = comparison.low.map_or(f64::NEG_INFINITY, log_of);
        let high = comparison.high.map_or(f64::INFINITY, log_of);
        let ends = [
            (low.clamp(range.start, range.end), low < range.start, 1),
            (high.clamp(range.start, range.end), high > range.end, -1),
        ];
        let line = ends.iter().map(|(at, ..)| (x, *at)).collect::<Vec<_>>();
        chart.draw_series([PathElement::new(line, colour.stroke_width(3 * FINE as u32))])?;
        for (at, open, up) in ends {
            let here = EmptyElement::at((x, at));
            let s = 5 * FINE;
            if open {
                // Pixel rows increase downwards.
                let back = -8 * FINE * up;
                chart.draw_series([
                    here + Polygon::new(vec![(0, 0), (-s, back), (s, back)], colour.filled())
                ])?;
            } else {
                let cap =
                    PathElement::new(vec![(-s, 0), (s, 0)], colour.stroke_width(2 * FINE as u32));
                chart.draw_series([here + cap])?;
            }
        }
    }
    let s = 6 * FINE;
    let diamond = Polygon::new(vec![(0, -s), (s, 0), (0, s), (-s, 0)], colour.filled());
    chart.draw_series([
        EmptyElement::at((x, log_of(ratio).clamp(range.start, range.end))) + diamond
    ])?;
    Ok(())
}

#[derive(Debug, Clone)]
struct Places {
    values: Vec<f64>,
    log: bool,
    /// The position of 0 on a logarithmic axis.
    zero: f64,
}

impl Places {
    fn of(values: impl IntoIterator<Item = f64>) -> Places {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
        let (least, most) =
            (positive.first().copied().unwrap_or(1.0), positive.last().copied().unwrap_or(1.0));
        let log = values.iter().all(|value| *value >= 0.0) && most / least > RATIOS;
        // As far below the smallest value as the values are apart.
        let step = (most / least).log10() / (positive.len().max(2) - 1) as f64;
        Places { log, zero: least.log10() - step.max(0.3), values }
    }

    fn at(&self, value: f64) -> f64 {
        match (self.log, value > 0.0) {
            (false, _) => value,
            (true, true) => value.log10(),
            (true, false) => self.zero,
        }
    }

    /// As many ticks as fit; the default has priority.
    fn axis(&self, default: Option<f64>) -> Axis {
        let ends = self
            .values
            .first()
            .zip(self.values.last())
            .map_or((0.0, 1.0), |(a, b)| (self.at(*a), self.at(*b)));
        let width = if ends.1 > ends.0 { ends.1 - ends.0 } else { ends.0.abs().max(1.0) };
        let range = ends.0 - 0.12 * width..ends.1 + 0.12 * width;
        let pixels = f64::from(SIZE.0 - 100) / (range.end - range.start);
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let others = self.values.iter().copied().filter(|value| Some(*value) != default);
        for value in default.into_iter().chain(others) {
            let (at, text) = (self.at(value), written(value));
            let room = |other: &(f64, String)| {
                let both = (other.1.chars().count() + text.chars().count()) as f64 / 2.0;
                (other.0 - at).abs() * pixels > both * CHARACTER + 6.0
            };
            if ticks.iter().all(room) {
                ticks.push((at, text));
            }
        }
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        Axis { range, ticks, log: false, names: false }
    }
}

/// The shortest exact form: `64`, `10,000`, `2 M`.
fn written(value: f64) -> String {
    if value < 0.0 || value.fract() != 0.0 || value >= 1e18 {
        return super::axis::plain(value);
    }
    let whole = value as u64;
    for (size, letter) in [(1_000_000_000, "G"), (1_000_000, "M")] {
        if whole >= size && whole.is_multiple_of(size / 1000) {
            return format!("{} {letter}", super::axis::plain(value / size as f64));
        }
    }
    count(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use experiment::analysis::Verdict;
    use proptest::prelude::*;

    fn drawn(points: &[(&str, Comparison)], default: Option<&str>) -> Option<String> {
        let curve = Curve {
            label: "curve",
            tunable: "fifo_batch",
            unit: "requests",
            default,
            points: points.iter().map(|(value, comparison)| (*value, comparison)).collect(),
            metric: "change of IOPS".into(),
            margin: 0.01,
        };
        let comparisons: Vec<&Comparison> =
            points.iter().map(|(_, comparison)| comparison).collect();
        plot(&curve, &span(&comparisons, 0.01)).expect("it is drawn")
    }

    fn ticks(values: &[f64], default: Option<f64>) -> Vec<(f64, String)> {
        Places::of(values.iter().copied().chain(default)).axis(default).ticks
    }

    #[test]
    fn ratios_are_evenly_spaced_and_0_is_set_apart_by_one_step() {
        let at: Vec<f64> =
            ticks(&[0.0, 8.0, 128.0], Some(32.0)).iter().map(|(at, _)| *at).collect();
        assert_eq!(at.len(), 4);
        for pair in at.windows(2) {
            assert!((pair[1] - pair[0] - 4f64.log10()).abs() < 1e-9, "{at:?}");
        }
    }

    #[test]
    fn a_switch_and_short_ranges_are_not_logarithmic() {
        assert!(!Places::of([0.0, 1.0]).log && !Places::of([1.0, 2.0, 8.0]).log);
        assert!(Places::of([1.0, 2.0, 16.0]).log && !Places::of([-1.0, 100.0, 10_000.0]).log);
    }

    #[test]
    fn labels_that_would_touch_are_left_out_and_the_default_has_its_own() {
        let crowded: Vec<f64> = (100_000..100_040).map(f64::from).collect();
        let found = ticks(&crowded, Some(100_020.0));
        assert!(found.len() < 12 && found.iter().any(|(_, text)| text == "100,020"), "{found:?}");
    }

    #[test]
    fn values_are_written_exactly() {
        let all = [0.0, 64.0, 10_000.0, 125_000.0, 2_000_000.0, 1_500_000.0, 1_000_001.0, 3e9, 0.5];
        let words = ["0", "64", "10,000", "125,000", "2 M", "1.5 M", "1,000,001", "3 G", "0.5"];
        assert_eq!(all.map(written), words.map(String::from));
    }

    #[test]
    fn every_value_has_its_diamond_the_default_a_ring_and_invalid_ones_a_cross() {
        let comparison = fixture::comparison("x");
        let invalid = Comparison {
            ratio: None,
            low: None,
            high: None,
            verdict: Verdict::Invalid,
            ..comparison.clone()
        };
        let svg = drawn(
            &[("1", comparison.clone()), ("64", comparison.clone()), ("256", invalid)],
            Some("16"),
        )
        .expect("numbers");
        assert_eq!(svg.matches("<polygon").count(), 2, "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("fifo_batch (requests, log scale)"));
        let unknown = drawn(&[("1", comparison.clone())], None).expect("a number");
        assert_eq!(
            unknown.matches("<circle").count(),
            0,
            "without a known default there is no ring"
        );
        assert!(drawn(&[("ext4", comparison)], None).is_none(), "words have no place on an axis");
    }

    #[test]
    fn an_open_interval_ends_in_an_arrow() {
        let comparison = Comparison { high: None, ..fixture::comparison("x") };
        assert_eq!(
            drawn(&[("1", comparison)], None).expect("a number").matches("<polygon").count(),
            2
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_points_can_be_drawn(
            rows in prop::collection::vec(
                ("[0-9]{1,20}|true|.{0,8}", prop::option::of(0.0f64..1e9), prop::option::of(prop::num::f64::ANY), prop::option::of(prop::num::f64::ANY)),
                1..8,
            ),
            default in prop::option::of("[0-9]{1,20}"),
        ) {
            let points: Vec<(&str, Comparison)> = rows.iter().map(|(value, ratio, low, high)| {
                (value.as_str(), Comparison { ratio: *ratio, low: *low, high: *high, ..fixture::comparison("x") })
            }).collect();
            if let Some(svg) = drawn(&points, default.as_deref()) {
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            }
        }
    }
}
