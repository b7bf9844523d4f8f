//! A disk's actuator position over time, one plot per variant with common axes. Dots are requests
//! in the colour of their client.

use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{self, FINE, INK, colour, svg};
use crate::actuator::{Excerpt, Visit};

const SIZE: (i32, i32) = (490, 190);
/// Requests closer than this many pixels are drawn as one.
const CLOSE: f64 = 0.75;

pub(crate) fn span(excerpts: &[Excerpt<'_>]) -> (u64, u64) {
    let ends = |visit: &Visit| (visit.sector, visit.sector + u64::from(visit.nr_sectors));
    let all = excerpts.iter().flat_map(|excerpt| excerpt.visits).map(ends);
    all.fold((u64::MAX, 0), |(low, high), (from, to)| (low.min(from), high.max(to)))
}

/// `None` without requests.
pub(crate) fn plot(
    label: &str,
    excerpt: &Excerpt<'_>,
    span: (u64, u64),
) -> crate::Result<Option<String>> {
    if excerpt.visits.is_empty() {
        return Ok(None);
    }
    let Some(y) = Axis::linear(span.0 as f64 / 1e6, span.1 as f64 / 1e6) else { return Ok(None) };
    let x = Axis::from_zero(excerpt.length_ns as f64 / 1e6);
    let drawn = svg(label, SIZE, |area| {
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: "time (ms)".into(),
            y_title: "sector (millions)".into(),
            left: canvas::room_for(&y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(area, &frame)?;
        let points = thinned(excerpt, &x, &y);
        let path: Vec<_> = points.iter().map(|(at, _)| *at).collect();
        chart.draw_series([PathElement::new(path, INK.mix(0.35).stroke_width(FINE as u32))])?;
        for (at, client) in points {
            let style = colour(1 + client.unwrap_or(0) as usize).filled();
            chart.draw_series([Circle::new(at, 2 * FINE, style)])?;
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

/// Of a client's consecutive overlapping requests, keeps the first.
fn thinned(excerpt: &Excerpt<'_>, x: &Axis, y: &Axis) -> Vec<((f64, f64), Option<u32>)> {
    let pixel =
        |axis: &Axis, pixels: i32| (axis.range.end - axis.range.start) / f64::from(pixels) * CLOSE;
    let (near_x, near_y) = (pixel(x, SIZE.0), pixel(y, SIZE.1));
    let mut points: Vec<((f64, f64), Option<u32>)> = Vec::new();
    for visit in excerpt.visits {
        let at = ((visit.at_ns - excerpt.from_ns) as f64 / 1e6, visit.sector as f64 / 1e6);
        let is_close = |((then, there), client): &((f64, f64), Option<u32>)| {
            *client == visit.client && at.0 - then < near_x && (at.1 - there).abs() < near_y
        };
        if !points.last().is_some_and(is_close) {
            points.push((at, visit.client));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actuator::excerpts;
    use crate::actuator::tests::two_readers;
    use proptest::prelude::*;

    #[test]
    fn each_visible_request_is_a_dot_in_the_colour_of_its_client() {
        let paths = [two_readers("deadline", 1), two_readers("anticipatory", 1000)];
        let found = excerpts(&paths, "oltp", 0);
        let drawn =
            |at: usize| plot("x", &found[at], span(&found)).unwrap().expect("there are requests");
        let deadline = drawn(0);
        assert_eq!(deadline.matches("<circle").count(), found[0].visits.len());
        for client in [1, 2] {
            let RGBColor(r, g, b) = colour(client);
            assert!(deadline.contains(&format!("#{r:02X}{g:02X}{b:02X}")), "{client}");
        }
        assert!(
            drawn(1).matches("<circle").count() < found[1].visits.len() / 2,
            "what is not visible is left out"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_path_can_be_drawn(sectors in prop::collection::vec((0..u64::MAX / 2, any::<u32>(), prop::option::of(any::<u32>())), 0..20)) {
            let mut path = two_readers("x", 1);
            path.visits = (0..).zip(&sectors).map(|(at, (sector, nr_sectors, client))| Visit { at_ns: at * 1000, sector: *sector, nr_sectors: *nr_sectors, client: *client }).collect();
            let paths = [path];
            let found = excerpts(&paths, "oltp", 0);
            for excerpt in &found {
                plot("x", excerpt, span(&found)).unwrap();
            }
        }
    }
}
