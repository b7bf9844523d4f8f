//! A heat map over time and another quantity; darker cells have more requests.
//!
//! Hue shows whether most requests are reads. Shade is logarithmic, so that small counts remain
//! visible. All cells of a shade form one path, which keeps large maps small.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace::profile::HeatMap;

use super::axis::Axis;
use super::canvas::{self, room_for, svg};

const SIZE: (i32, i32) = (1000, 340);
const SHADES: u32 = 8;
const ACROSS: usize = 200;

pub(crate) struct Rows<'a> {
    pub(crate) title: String,
    /// Divisor of row values on the axis.
    pub(crate) unit: f64,
    pub(crate) log: bool,
    pub(crate) write: &'a dyn Fn(f64) -> String,
}

/// `None` if the map is empty.
pub(crate) fn plot(label: &str, map: &HeatMap, rows: &Rows<'_>) -> crate::Result<Option<String>> {
    let (Some(low), Some(high)) = (map.edges.first(), map.edges.last()) else { return Ok(None) };
    if map.nr_columns() == 0 || map.nr_rows() == 0 {
        return Ok(None);
    }
    let cells = cells(map);
    let most = cells.values().map(|(reads, writes)| reads + writes).max().unwrap_or(0);
    let (divisor, unit) = unit_of(map.column_ns as f64 * map.nr_columns() as f64);
    let x = Axis::from_zero(map.column_ns as f64 * map.nr_columns() as f64 / divisor);
    let (low, high) = (*low as f64 / rows.unit, *high as f64 / rows.unit);
    let y = if rows.log { Axis::log10(low.max(0.001), high, rows.write) } else { axis(low, high) };
    let mut area = None;
    let drawn = svg(label, SIZE, |canvas| {
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: format!("time ({unit})"),
            y_title: rows.title.clone(),
            left: room_for(&y),
            grid: (false, false),
        };
        let chart = canvas::chart(canvas, &frame)?;
        area = Some(chart.plotting_area().get_pixel_range());
        Ok(())
    })?;
    let (across, down) = area.expect("the chart was drawn");
    let share = |axis: &Axis, value: f64| {
        (axis.position(value) - axis.range.start) / (axis.range.end - axis.range.start)
    };
    let pixel_x = |column: usize| {
        let at = column as f64 * map.column_ns as f64 / divisor;
        f64::from(across.start) + share(&x, at) * f64::from(across.end - across.start)
    };
    let pixel_y = |row: usize| {
        let at = (map.edges[row] as f64 / rows.unit).max(if rows.log { 0.001 } else { 0.0 });
        f64::from(down.end) - share(&y, at) * f64::from(down.end - down.start)
    };
    let step = map.nr_columns().div_ceil(ACROSS);
    let mut paths: BTreeMap<(bool, u32), String> = BTreeMap::new();
    for ((column, row), (reads, writes)) in &cells {
        let (left, right) =
            (pixel_x(column * step), pixel_x(((column + 1) * step).min(map.nr_columns())));
        let (top, bottom) = (pixel_y(row + 1), pixel_y(*row));
        let path = paths.entry((reads >= writes, shade(reads + writes, most))).or_default();
        let _ =
            write!(path, "M{left:.0} {top:.0}H{right:.0}V{:.0}H{left:.0}z", bottom.max(top + 1.0));
    }
    let mut layer = String::new();
    for ((is_read, shade), path) in paths {
        let hue = if is_read { "#0072B2" } else { "#E69F00" };
        let opacity = (f64::from(shade) + 1.0) / f64::from(SHADES);
        let _ = write!(layer, "<path d=\"{path}\" fill=\"{hue}\" fill-opacity=\"{opacity:.2}\"/>");
    }
    let (head, tail) = drawn.rsplit_once("</svg>").expect("a drawing ends with its tag");
    Ok(Some(format!("{head}{layer}</svg>{tail}")))
}

/// Nanoseconds in a suitable unit, and its name.
pub(crate) fn unit_of(ns: f64) -> (f64, &'static str) {
    match ns {
        ns if ns < 3e6 => (1e3, "µs"),
        ns if ns < 3e9 => (1e6, "ms"),
        ns if ns < 300e9 => (1e9, "s"),
        ns if ns < 3.0 * 3600e9 => (60e9, "min"),
        _ => (3600e9, "h"),
    }
}

fn axis(low: f64, high: f64) -> Axis {
    Axis::linear(low, high).unwrap_or_else(|| Axis::from_zero(high))
}

/// Merges adjacent columns if there are too many.
fn cells(map: &HeatMap) -> BTreeMap<(usize, usize), (u64, u64)> {
    let step = map.nr_columns().div_ceil(ACROSS);
    let mut cells: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for column in 0..map.nr_columns() {
        for row in 0..map.nr_rows() {
            let (reads, writes) = map.count(column, row);
            let (reads, writes) = (u64::from(reads), u64::from(writes));
            if reads + writes > 0 {
                let cell = cells.entry((column / step, row)).or_default();
                *cell = (cell.0 + reads, cell.1 + writes);
            }
        }
    }
    cells
}

fn shade(count: u64, most: u64) -> u32 {
    let share = (count as f64 + 1.0).ln() / (most as f64 + 1.0).ln().max(f64::MIN_POSITIVE);
    ((share * f64::from(SHADES)) as u32).min(SHADES - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(log: bool) -> Rows<'static> {
        Rows { title: "x".into(), unit: 1.0, log, write: &|value| value.to_string() }
    }

    #[test]
    fn each_hue_and_shade_is_one_path_and_nothing_is_nothing() {
        let map = HeatMap {
            column_ns: 1000,
            edges: vec![0, 10, 20],
            reads: vec![vec![1, 100], vec![0, 1]],
            writes: vec![vec![5], vec![]],
        };
        let drawn = plot("map", &map, &rows(false)).unwrap().expect("there are requests");
        assert_eq!(drawn.matches("<path").count(), 3, "{drawn}");
        assert_eq!((drawn.matches("#E69F00").count(), drawn.matches("</svg>").count()), (1, 1));
        assert!(plot("map", &HeatMap::default(), &rows(false)).unwrap().is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_map_can_be_drawn(columns in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..5), 0..300),
                                edges in prop::collection::vec(any::<u64>(), 0..6), column_ns: u64, log: bool) {
            let mut edges = edges;
            edges.sort_unstable();
            let map = HeatMap { column_ns, edges, reads: columns.clone(), writes: columns };
            plot("map", &map, &rows(log)).unwrap();
        }
    }
}
