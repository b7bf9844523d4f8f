//! Latency by percentile, one line per variant.
//!
//! x is stretched by 1/(1-p); on a linear axis the tail would be one pixel wide. A line is the
//! median of the trials' curves and its band their interquartile range: pooled requests would show
//! the tail of the worst trial.

use experiment::results::{LatencyCurve, Trial};
use plotters::prelude::*;

use super::axis::{self, Axis};
use super::canvas::{self, FINE, colour, quantile, room_for, svg};
use crate::number;

const SIZE: (i32, i32) = (490, 340);

const GRID: [f64; 16] = [
    10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995,
    99.999, 99.9999,
];

/// Position of the percentile, and quartiles in ns.
type Line = Vec<(f64, [f64; 3])>;

/// `None` if no valid trial has a curve of `op` (`all`, `read`, `write`).
pub(crate) fn plot(
    label: &str,
    trials: &[&Trial],
    variants: &[&str],
    op: &str,
) -> crate::Result<Option<String>> {
    let lines: Vec<Line> = variants.iter().map(|variant| line(trials, variant, op)).collect();
    let values = lines.iter().flatten().flat_map(|(_, quarters)| *quarters);
    let (low, high) =
        values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let last = lines.iter().flatten().map(|(at, _)| *at).fold(0.0, f64::max);
    if high == 0.0 {
        return Ok(None);
    }
    let y = Axis::log10(low, high, tick);
    let x = percentiles(last);
    let drawn = svg(label, SIZE, |canvas| {
        let of = if op == "all" { String::new() } else { format!(" of a {op}") };
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: "percentile, stretched by 1/(1−p)".into(),
            y_title: format!("latency{of} (log scale)"),
            left: room_for(&y),
            grid: (true, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        for (variant, line) in lines.iter().enumerate() {
            let edge = |quarter: usize| {
                line.iter().map(|(at, q)| (*at, y.position(q[quarter]))).collect::<Vec<_>>()
            };
            let outline = edge(0).into_iter().chain(edge(2).into_iter().rev()).collect::<Vec<_>>();
            if line.len() > 1 {
                chart.draw_series([Polygon::new(outline, colour(variant).mix(0.15).filled())])?;
            }
            chart.draw_series([PathElement::new(
                edge(1),
                colour(variant).stroke_width(2 * FINE as u32),
            )])?;
            for at in edge(1) {
                canvas::mark(chart.plotting_area(), variant, at, 3)?;
            }
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

pub(crate) fn kinds(trials: &[&Trial]) -> Vec<&'static str> {
    let has = |op: &&str| {
        trials.iter().any(|trial| trial.observation.latency.iter().any(|curve| curve.op == **op))
    };
    ["all", "read", "write"].into_iter().filter(|op| has(op)).collect()
}

/// Includes percentiles that at least half of the valid trials reach.
fn line(trials: &[&Trial], variant: &str, op: &str) -> Line {
    let valid = trials
        .iter()
        .filter(|trial| trial.variant == variant && trial.observation.invalid.iter().all(partial));
    let curves: Vec<&LatencyCurve> = valid
        .filter_map(|trial| trial.observation.latency.iter().find(|curve| curve.op == op))
        .collect();
    let at_percentile = |percentile: f64| {
        let values: Vec<f64> =
            curves.iter().filter_map(|curve| latency_at(curve, percentile)).collect();
        let enough = !values.is_empty() && values.len() * 2 >= curves.len();
        let quarters =
            [quantile(&values, 0.25)?, quantile(&values, 0.5)?, quantile(&values, 0.75)?];
        enough.then_some((position(percentile), quarters))
    };
    GRID.into_iter().filter_map(at_percentile).collect()
}

/// Whether only one metric is invalid, so that the curve is usable.
fn partial(reason: &experiment::results::InvalidReason) -> bool {
    matches!(reason, experiment::results::InvalidReason::TooFewIos { .. })
}

/// In ns, interpolated linearly between the curve's points as drawn.
fn latency_at(curve: &LatencyCurve, percentile: f64) -> Option<f64> {
    // Less than one request lies beyond the percentile.
    if (curve.count as f64 * (1.0 - percentile / 100.0)) < 1.0 - 1e-9 {
        return None;
    }
    let points = || curve.points.iter().filter(|(p, ns)| (0.0..100.0).contains(p) && *ns > 0);
    let before = points().rfind(|(p, _)| *p <= percentile)?;
    let after = points().find(|(p, _)| *p >= percentile)?;
    let (from, to) = (position(before.0), position(after.0));
    let share = if to > from { (position(percentile) - from) / (to - from) } else { 0.0 };
    let (low, high) = ((before.1 as f64).ln(), (after.1 as f64).ln());
    Some((low + (high - low) * share).exp())
}

/// Each nine adds one.
fn position(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).max(1e-12).log10()
}

fn percentiles(last: f64) -> Axis {
    let names = ["0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"];
    let ticks =
        names.iter().map(|name| (position(name.parse().unwrap_or(0.0)), (*name).to_string()));
    let range = 0.0..last.max(1.0) + 0.1;
    Axis {
        ticks: ticks.filter(|(at, _)| *at <= range.end).collect(),
        range,
        log: false,
        names: false,
    }
}

/// The axis spans several units, so each label has its own: `100 µs`, `5 ms`.
fn tick(ns: f64) -> String {
    let text = number::latency_ns(ns);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    match number.replace(',', "").parse::<f64>() {
        Ok(value) => format!("{} {unit}", axis::plain(value)),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;
    use proptest::prelude::*;

    #[test]
    fn a_curve_is_followed_between_its_points_and_never_beyond_its_requests() {
        let curve = LatencyCurve {
            op: "all".into(),
            count: 1000,
            points: vec![(50.0, 1000), (90.0, 4000), (99.99, 9000)],
        };
        assert_eq!(latency_at(&curve, 50.0).map(f64::round), Some(1000.0));
        assert_eq!(latency_at(&curve, 25.0), None, "before its first point nothing is known");
        let between = latency_at(&curve, 75.0).expect("between two points");
        assert!(between > 1000.0 && between < 4000.0, "{between}");
        assert!(latency_at(&curve, 99.9).is_some(), "one request in a thousand");
        assert_eq!(latency_at(&curve, 99.95), None, "half a request");
    }

    #[test]
    fn an_invalid_trial_bends_no_line() {
        let mut lab = Lab::typical();
        let lines = |lab: &Lab| {
            let trials: Vec<&Trial> = lab.trials.iter().filter(|t| t.workload == "oltp").collect();
            line(&trials, "kyber", "all")
        };
        let before = lines(&lab);
        let invalid = lab
            .trials
            .iter_mut()
            .find(|t| !t.observation.invalid.is_empty())
            .expect("one trial is invalid");
        invalid.observation.latency[0].points.iter_mut().for_each(|(_, ns)| *ns *= 1000);
        assert_eq!(lines(&lab), before);
    }

    #[test]
    fn without_curves_there_is_no_plot() {
        assert!(plot("none", &[], &["none"], "all").expect("no failure").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_curves_can_be_drawn(
            points in prop::collection::vec((0.0f64..=100.0, prop::num::u64::ANY), 0..8),
            count in prop::num::u64::ANY,
        ) {
            let mut lab = Lab::typical();
            for trial in &mut lab.trials {
                trial.observation.latency = vec![LatencyCurve { op: "all".into(), count, points: points.clone() }];
            }
            let trials: Vec<&Trial> = lab.trials.iter().collect();
            let svg = plot("any", &trials, &["none", "kyber", "not measured"], "all").expect("drawn");
            prop_assert!(!svg.unwrap_or_default().contains("NaN"));
        }
    }
}
