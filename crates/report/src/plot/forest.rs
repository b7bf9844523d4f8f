//! A forest plot: each variant's effect with its interval.
//!
//! An interval outside the shaded margin is a difference, one inside it is equivalence. Small dots
//! are rounds. The axis is logarithmic, so 2× and 0.5× have equal length. Intervals that exceed the
//! plot end in an arrow.

use std::ops::Range;

use experiment::analysis::Comparison;
use experiment::metric::Direction;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::canvas::{self, CHARACTER, FINE, GRID, INK, TEXT, anchored, svg, verdict_colour};
use crate::{number, verdict, words};

const WIDTH: i32 = 1000;
const NUMBERS: i32 = 230;
const ROW: i32 = 46;

/// Top to bottom; `None` without comparisons.
pub(crate) fn plot(
    label: &str,
    comparisons: &[&Comparison],
    direction: Direction,
    margin: f64,
) -> crate::Result<Option<String>> {
    if comparisons.is_empty() {
        return Ok(None);
    }
    let margin = if margin.is_finite() { margin.max(0.0) } else { 0.0 };
    let names: Vec<String> =
        comparisons.iter().map(|j| words::shortened(&words::clean(&j.variant), 24)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let x = Axis::of_changes(span(comparisons, margin));
    let y = Axis::of_names(names, true);
    let size = (WIDTH, 26 + ROW * comparisons.len() as i32 + 54);
    let drawn = svg(label, size, |canvas| {
        let (head, below) = canvas.split_vertically(26 * FINE);
        let (plot, numbers) = below.split_horizontally((WIDTH - NUMBERS) * FINE);
        let baseline = words::shortened(&words::clean(&comparisons[0].baseline), 24);
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: format!(
                "change against {baseline} (shaded: the margin of ±{})",
                number::percent(margin)
            ),
            y_title: String::new(),
            left: (longest as f64 * CHARACTER) as i32 + 18,
            grid: (true, false),
        };
        let mut chart = canvas::chart(&plot, &frame)?;
        let rows = y.range.clone();
        let band = [
            (band(margin).start.max(x.range.start), rows.start),
            (band(margin).end.min(x.range.end), rows.end),
        ];
        chart.draw_series([Rectangle::new(band, RGBColor(0x56, 0xb4, 0xe9).mix(0.22).filled())])?;
        let zero = vec![(0.0, rows.start), (0.0, rows.end)];
        chart.draw_series([PathElement::new(zero, INK.stroke_width(FINE as u32))])?;
        for (i, comparison) in comparisons.iter().enumerate() {
            let at = (comparisons.len() - 1 - i) as f64;
            interval(&mut chart, comparison, at, &x.range)?;
            let row = chart.backend_coord(&(0.0, at)).1 - 26 * FINE;
            numbers_of(&numbers, comparison, row)?;
        }
        let (left, right) = (
            chart.backend_coord(&(x.range.start, 0.0)).0,
            chart.backend_coord(&(x.range.end, 0.0)).0,
        );
        let (low, high) = match direction {
            Direction::HigherIsBetter => ("← worse", "better →"),
            Direction::LowerIsBetter => ("← better", "worse →"),
            Direction::Descriptive => ("← less", "more →"),
        };
        head.draw_text(low, &anchored(TEXT, INK, HPos::Left, VPos::Center), (left, 16 * FINE))?;
        head.draw_text(high, &anchored(TEXT, INK, HPos::Right, VPos::Center), (right, 16 * FINE))?;
        Ok(())
    })?;
    Ok(Some(drawn))
}

/// A forest in the rows of a table, with a common range and the axis below.
pub(crate) struct Rows {
    axis: Axis,
    margin: f64,
    width: i32,
}

impl Rows {
    pub(crate) fn of(comparisons: &[&Comparison], margin: f64, width: i32) -> Rows {
        // Keep the labels within the row.
        let text = |label: &str| label.chars().count() as f64 * CHARACTER;
        let mut axis = Axis::of_changes(span(comparisons, margin));
        let Range { start, end } = axis.range;
        let each = f64::from(width) / (end - start);
        axis.ticks.retain(|(at, label)| (at - start).min(end - at) * each >= text(label) / 2.0);
        Rows { axis: axis.thinned(width, |label| text(label) + 12.0), margin, width }
    }

    pub(crate) fn row(&self, comparison: &Comparison) -> crate::Result<String> {
        let label =
            format!("{}: {}", words::clean(&comparison.variant), number::effect(comparison));
        svg(&label, (self.width, 30), |canvas| {
            let mut chart = self.chart(canvas)?;
            let range = &self.axis.range;
            let ticks = self.axis.ticks.iter().map(|(at, _)| vec![(*at, -0.5), (*at, 0.5)]);
            let grid = |line| PathElement::new(line, GRID.stroke_width(FINE as u32));
            chart.draw_series(ticks.map(grid))?;
            let band = band(self.margin);
            let shade = [(band.start.max(range.start), -0.5), (band.end.min(range.end), 0.5)];
            chart.draw_series([Rectangle::new(
                shade,
                RGBColor(0x56, 0xb4, 0xe9).mix(0.28).filled(),
            )])?;
            chart.draw_series([PathElement::new(
                vec![(0.0, -0.5), (0.0, 0.5)],
                INK.stroke_width(FINE as u32),
            )])?;
            interval(&mut chart, comparison, 0.08, range)
        })
    }

    pub(crate) fn axis(&self) -> crate::Result<String> {
        svg("", (self.width, 18), |canvas| {
            let chart = self.chart(canvas)?;
            for (at, label) in &self.axis.ticks {
                let x = chart.backend_coord(&(*at, 0.0)).0;
                let style = anchored(TEXT, INK, HPos::Center, VPos::Center);
                canvas.draw_text(label, &style, (x, 9 * FINE))?;
            }
            Ok(())
        })
    }

    fn chart<'a, 'b>(
        &self,
        canvas: &'a canvas::Canvas<'b>,
    ) -> crate::Result<canvas::Chart<'a, 'b>> {
        let axis = |range: Range<f64>| Axis { range, ticks: Vec::new(), log: false, names: false };
        let [x, y] = [self.axis.range.clone(), -0.5..0.5].map(axis);
        Ok(ChartBuilder::on(canvas).build_cartesian_2d(x, y)?)
    }
}

/// The band, all estimates and rounds, and as much of the intervals as keeps the rest readable.
pub(crate) fn span(comparisons: &[&Comparison], margin: f64) -> Range<f64> {
    let log = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln();
    let sane = |x: &f64| x.is_finite() && x.abs() < 60.0;
    let centre = comparisons.iter().filter_map(|j| j.ratio).map(log);
    let rounds = comparisons.iter().flat_map(|j| j.log_ratios.iter().copied());
    let band = band(margin);
    let (mut low, mut high) = ((band.start * 2.0).min(-0.005), (band.end * 2.0).max(0.005));
    for x in centre.chain(rounds).filter(sane) {
        (low, high) = (low.min(x), high.max(x));
    }
    let room = (high - low).max(0.02);
    let (least, most) = (low - 1.5 * room, high + 1.5 * room);
    let ends = comparisons.iter().flat_map(|j| [j.low, j.high]).flatten().map(log).filter(sane);
    for x in ends {
        (low, high) = (low.min(x.max(least)), high.max(x.min(most)));
    }
    let pad = (high - low) * 0.06;
    low - pad..high + pad
}

/// Symmetric, as for the verdicts.
pub(super) fn band(margin: f64) -> Range<f64> {
    let margin = if margin.is_finite() { margin.clamp(0.0, 0.95) } else { 0.0 };
    -margin.ln_1p()..margin.ln_1p()
}

fn interval(
    chart: &mut canvas::Chart<'_, '_>,
    comparison: &Comparison,
    at: f64,
    range: &Range<f64>,
) -> crate::Result<()> {
    let rounds = comparison.log_ratios.iter().copied().filter(|x| range.contains(x));
    let dot = INK.mix(0.45).filled();
    chart.draw_series(rounds.map(|x| Circle::new((x, at - 0.27), 2 * FINE + 1, dot)))?;
    line(chart, comparison, at, range)
}

fn line(
    chart: &mut canvas::Chart<'_, '_>,
    comparison: &Comparison,
    at: f64,
    range: &Range<f64>,
) -> crate::Result<()> {
    let Some(ratio) = comparison.ratio.filter(|r| r.is_finite()) else { return Ok(()) };
    let colour = verdict_colour(comparison.verdict);
    let log = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln();
    let ends = [
        comparison.low.map_or(f64::NEG_INFINITY, log).max(range.start),
        comparison.high.map_or(f64::INFINITY, log).min(range.end),
    ];
    // Open on both sides, a line across the plot would look like an interval.
    let ends =
        if number::has_interval(comparison) { &[(ends[0], -1), (ends[1], 1)][..] } else { &[] };
    let stroke = colour.stroke_width(3 * FINE as u32);
    chart.draw_series([PathElement::new(
        ends.iter().map(|(end, _)| (*end, at)).collect::<Vec<_>>(),
        stroke,
    )])?;
    for &(end, outward) in ends {
        let open = if outward < 0 { end <= range.start } else { end >= range.end };
        let here = EmptyElement::at((end, at));
        let (s, back) = (5 * FINE, -8 * FINE * outward);
        if open {
            let head = Polygon::new(vec![(0, 0), (back, -s), (back, s)], colour.filled());
            chart.draw_series([here + head])?;
        } else {
            let cap = PathElement::new(vec![(0, -s), (0, s)], colour.stroke_width(2 * FINE as u32));
            chart.draw_series([here + cap])?;
        }
    }
    let (s, x) = (6 * FINE, log(ratio).clamp(range.start, range.end));
    let diamond = Polygon::new(vec![(0, -s), (s, 0), (0, s), (-s, 0)], colour.filled());
    chart.draw_series([EmptyElement::at((x, at)) + diamond])?;
    Ok(())
}

fn numbers_of(canvas: &canvas::Canvas<'_>, comparison: &Comparison, row: i32) -> crate::Result<()> {
    let colour = verdict_colour(comparison.verdict);
    let effect = number::effect(comparison).replace('-', "−");
    let verdict =
        format!("{} {}", verdict::sign(comparison.verdict), verdict::word(comparison.verdict));
    canvas.draw_text(
        &effect,
        &anchored(TEXT, INK, HPos::Left, VPos::Center),
        (4 * FINE, row - 9 * FINE),
    )?;
    canvas.draw_text(
        &verdict,
        &anchored(TEXT, colour, HPos::Left, VPos::Center),
        (4 * FINE, row + 9 * FINE),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use experiment::analysis::Verdict;
    use proptest::prelude::*;

    fn drawn(comparisons: &[Comparison]) -> String {
        let all: Vec<&Comparison> = comparisons.iter().collect();
        plot("effects", &all, Direction::HigherIsBetter, 0.01)
            .expect("the plot is drawn")
            .expect("there are comparisons")
    }

    #[test]
    fn an_open_end_is_an_arrow_and_without_any_end_there_is_no_interval() {
        let mut comparison = fixture::comparison("kyber");
        let arrows = |svg: &str| svg.matches("<polygon").count() - 1;
        assert_eq!(arrows(&drawn(&[comparison.clone()])), 0, "only the diamond of the estimate");
        comparison.high = None;
        assert_eq!(arrows(&drawn(&[comparison.clone()])), 1);
        (comparison.low, comparison.high) = (None, None);
        let svg = drawn(&[comparison]);
        assert_eq!(arrows(&svg), 0, "open on both sides it is no interval");
        assert!(svg.contains("no interval"));
    }

    #[test]
    fn a_verdict_without_evidence_still_has_its_row() {
        let mut comparison = fixture::comparison("kyber");
        (comparison.ratio, comparison.low, comparison.high, comparison.verdict) =
            (None, None, None, Verdict::Invalid);
        comparison.log_ratios.clear();
        let svg = drawn(&[comparison]);
        assert!(svg.contains("no evidence") && svg.contains("✕ invalid"));
    }

    #[test]
    fn a_name_cannot_become_markup() {
        let svg = drawn(&[fixture::comparison("<script>alert(1)")]);
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_comparisons_can_be_drawn(
            rows in prop::collection::vec(
                (prop::option::of(prop::num::f64::ANY), prop::option::of(prop::num::f64::ANY), prop::option::of(0.0f64..1e9),
                 prop::collection::vec(prop::num::f64::ANY, 0..4), ".{0,60}"),
                1..8,
            ),
            margin in prop::num::f64::ANY,
        ) {
            let comparisons: Vec<Comparison> = rows.into_iter().map(|(low, high, ratio, log_ratios, variant)| {
                Comparison { low, high, ratio, log_ratios, ..fixture::comparison(&variant) }
            }).collect();
            let all: Vec<&Comparison> = comparisons.iter().collect();
            let range = span(&all, margin);
            prop_assert!(range.start < range.end && range.contains(&0.0), "{range:?}");
            let svg = plot("any", &all, Direction::LowerIsBetter, margin).expect("drawn").expect("comparisons");
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            let rows = Rows::of(&all, margin, 200);
            let axis = rows.axis().expect("drawn");
            for svg in all.iter().map(|one| rows.row(one).expect("drawn")).chain([axis]) {
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            }
        }
    }
}
