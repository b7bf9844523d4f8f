//! An excerpt of a trace, request by request.
//!
//! Each process has a stripe with its requests since they were queued, pale while waiting and solid
//! while in flight. Below is the disk in the colour of the process it serves, hatched while idle,
//! and the sectors it visits.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace::Io;

use super::canvas::{FINE, attribute};
use super::heat::unit_of;
use crate::words;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 170.0;
const STRIPE: f64 = 26.0;
const PATH: f64 = 150.0;
const STRIPES: usize = 8;
pub(crate) const REQUESTS: usize = 400;

/// Maps a process to its stripe, if any.
type Stripe<'a> = dyn Fn(u32) -> Option<usize> + 'a;

/// In queueing order.
pub(crate) struct Piece<'a> {
    pub(crate) ios: &'a [Io],
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    pub(crate) names: &'a dyn Fn(u32) -> String,
}

/// `None` if no request was issued.
pub(crate) fn plot(label: &str, piece: &Piece<'_>) -> Option<String> {
    let inside = |io: &&Io| {
        io.queued < piece.until_ns && io.completed.get().is_some_and(|at| at > piece.from_ns)
    };
    let ios: Vec<&Io> = piece.ios.iter().filter(inside).take(REQUESTS).collect();
    if piece.until_ns <= piece.from_ns || !ios.iter().any(|io| io.issued.get().is_some()) {
        return None;
    }
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    ios.iter().for_each(|io| *counts.entry(io.process).or_default() += 1);
    let mut processes: Vec<u32> = counts.keys().copied().collect();
    processes.sort_by_key(|process| (std::cmp::Reverse(counts[process]), *process));
    processes.truncate(STRIPES);
    processes.sort_unstable();
    let stripe = |process: u32| processes.iter().position(|known| *known == process);
    let span = (piece.until_ns - piece.from_ns) as f64;
    let x = |ns: u64| {
        LEFT + (ns.clamp(piece.from_ns, piece.until_ns) - piece.from_ns) as f64 / span
            * (WIDTH - LEFT - 10.0)
    };
    let height = (processes.len() + 1) as f64 * STRIPE + PATH + 70.0;
    let mut body = String::new();
    for (row, process) in processes.iter().enumerate() {
        let name = words::shortened(&words::clean(&(piece.names)(*process)), 22);
        text(&mut body, 4.0, row as f64 * STRIPE + 18.0, "start", &name);
    }
    let disk = processes.len() as f64 * STRIPE;
    text(&mut body, 4.0, disk + 18.0, "start", "disk");
    bar(&mut body, LEFT, WIDTH - 10.0, disk + 9.0, 8.0, "#E4E4E4", 0.7);
    for io in &ios {
        let row = stripe(io.process);
        let (issued, completed) =
            (io.issued.get().unwrap_or(io.queued), io.completed.get().unwrap_or(io.queued));
        let hue = row.map_or("#5A5A5A", hue);
        if let Some(row) = row {
            bar(&mut body, x(io.queued), x(issued), row as f64 * STRIPE + 6.0, 14.0, hue, 0.3);
            bar(&mut body, x(issued), x(completed), row as f64 * STRIPE + 4.0, 18.0, hue, 0.95);
        }
        bar(&mut body, x(issued), x(completed), disk + 4.0, 18.0, hue, 0.75);
    }
    path(&mut body, &ios, piece.until_ns, &x, disk + STRIPE + 16.0, &stripe);
    let bottom = disk + STRIPE + PATH + 24.0;
    axis(&mut body, piece, &x, bottom);
    Some(format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\" style=\"max-width:{WIDTH}px\"><g transform=\"scale({FINE})\" \
         font-size=\"13\">{body}</g></svg>",
        attribute(label),
        WIDTH * f64::from(FINE),
        height * f64::from(FINE),
    ))
}

/// In the order in which the disk receives the requests.
fn path(
    body: &mut String,
    ios: &[&Io],
    until_ns: u64,
    x: &dyn Fn(u64) -> f64,
    top: f64,
    stripe: &Stripe<'_>,
) {
    let mut visits: Vec<&Io> =
        ios.iter().copied().filter(|io| io.issued.get().is_some() && io.sectors > 0).collect();
    visits.retain(|io| io.completed.get().is_some_and(|at| at <= until_ns));
    visits.sort_by_key(|io| io.issued.get());
    let low = visits.iter().map(|io| io.sector).min().unwrap_or(0);
    let high = visits.iter().map(|io| io.end()).max().unwrap_or(1).max(low + 1);
    let y = |sector: u64| top + PATH - (sector - low) as f64 / (high - low) as f64 * PATH;
    text(body, LEFT - 8.0, top + 10.0, "end", &format!("{high}"));
    text(body, LEFT - 8.0, top + PATH, "end", &format!("sector {low}"));
    let mut line = String::new();
    for io in &visits {
        let at = x(io.completed.get().or(io.issued.get()).unwrap_or(io.queued));
        let _ = write!(line, "{at:.1},{:.1} ", y(io.sector.min(high)));
    }
    let _ = write!(
        body,
        "<polyline points=\"{line}\" fill=\"none\" stroke=\"#333333\" stroke-opacity=\"0.4\"/>"
    );
    for io in &visits {
        let at = x(io.completed.get().or(io.issued.get()).unwrap_or(io.queued));
        let hue = stripe(io.process).map_or("#5A5A5A", hue);
        let _ = write!(
            body,
            "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{hue}\"/>",
            y(io.sector.min(high))
        );
    }
}

fn axis(body: &mut String, piece: &Piece<'_>, x: &dyn Fn(u64) -> f64, y: f64) {
    let (divisor, unit) = unit_of((piece.until_ns - piece.from_ns) as f64);
    for tick in 0..=5 {
        let at = piece.from_ns + (piece.until_ns - piece.from_ns) / 5 * tick;
        let label = crate::number::significant((at - piece.from_ns) as f64 / divisor);
        let last = if tick == 5 { format!("{label} {unit}") } else { label };
        text(body, x(at), y + 14.0, if tick == 5 { "end" } else { "middle" }, &last);
    }
}

fn bar(body: &mut String, from: f64, until: f64, y: f64, height: f64, hue: &str, opacity: f64) {
    let width = (until - from).max(0.6);
    let _ = write!(
        body,
        "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{hue}\" fill-opacity=\"{opacity}\"/>"
    );
}

fn text(body: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = attribute(words);
    let _ = write!(
        body,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#333333\">{words}</text>"
    );
}

/// A page replaces these fixed colours.
fn hue(row: usize) -> &'static str {
    ["#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#009E73", "#D55E00", "#B8A600", "#5A5A5A"]
        [row % STRIPES]
}

#[cfg(test)]
mod tests {
    use trace::{At, Kind};

    use super::*;

    #[test]
    fn a_name_from_outside_cannot_leave_its_place_and_requests_are_drawn_once() {
        let io = |at: u64, process| Io {
            issued: At::ns(at + 5),
            completed: At::ns(at + 9),
            ..Io::new(at, Kind::Read, u64::MAX - at, u32::MAX, process)
        };
        let ios = [io(0, 0), io(10, 1), io(20, 0)];
        let names = |_| "<script>\u{1b}[2J\"&".to_owned();
        let drawn = plot("x\"<", &Piece { ios: &ios, from_ns: 0, until_ns: 30, names: &names })
            .expect("requests");
        assert!(
            !drawn.contains("<script")
                && !drawn.contains('\u{1b}')
                && drawn.contains("&lt;script&gt;"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert!(
            plot("x", &Piece { ios: &ios, from_ns: 30, until_ns: 30, names: &names }).is_none()
        );
        assert!(plot("x", &Piece { ios: &[], from_ns: 0, until_ns: 30, names: &names }).is_none());
    }
}
