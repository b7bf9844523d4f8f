//! The seek curve: minimum time between reads on two cylinders.
//!
//! Source: Worthington, Ganger, Patt & Wilkes, SIGMETRICS 1995: the minimum time between
//! completions over all rotational positions contains no rotational wait. Departure: the angle of
//! the target's neighbour predicts when the target passes, so the second read's submission is timed
//! and the shortest lead that still makes that turn is bisected: a dozen reads instead of hundreds.

use super::bench::{Bench, apart, turns};
use super::geometry::Geometry;
use crate::fit::drive::FitError;

/// Down to 1/8192 turn.
const HALVINGS: u32 = 13;
/// Searches per distance; the median counts.
const SEARCHES: usize = 3;
/// Attempts to find two existing tracks.
const TRIES: u32 = 200;

/// Without the unit's own passing time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Least {
    pub(super) distance: u64,
    pub(super) ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Move {
    None,
    Head,
    Seek(u64),
}

pub(super) fn least(bench: &mut Bench<'_>, map: &Geometry, of: Move) -> Result<f64, FitError> {
    let mut found = Vec::with_capacity(SEARCHES);
    for _ in 0..SEARCHES {
        found.push(search(bench, map, of)?);
    }
    found.sort_by(f64::total_cmp);
    Ok(found[SEARCHES / 2])
}

fn search(bench: &mut Bench<'_>, map: &Geometry, of: Move) -> Result<f64, FitError> {
    let longest = probe(bench, map, of, None)?;
    let (mut low, mut high) = (0.0, bench.period_ns);
    for _ in 0..HALVINGS {
        let later = (low + high) / 2.0;
        let expected = longest - later;
        let found = probe(bench, map, of, Some(expected))?;
        // Served in this turn, or a turn later.
        if found - expected < bench.period_ns / 2.0 {
            low = later;
        } else {
            high = later;
        }
    }
    Ok(longest - low)
}

/// The second latency, without its own passing, is `expected` plus whole turns; without `expected`,
/// back to back.
fn probe(
    bench: &mut Bench<'_>,
    map: &Geometry,
    of: Move,
    expected: Option<f64>,
) -> Result<f64, FitError> {
    let mut missed = 0;
    loop {
        let (from, to) = pair(bench, map, of)?;
        let turn = map.turn(to);
        let own = turn * bench.period_ns;
        // The angle of the neighbour above: read-ahead from it does not reach the target.
        let Some(angle) = bench.angle_of_random(to + 1)? else { continue };
        let zero = bench.reference_ns()?;
        let first = bench.read_one(from)?.ended;
        // When the target's end passes, as completions show it.
        let passes =
            turns(angle - turn - (first - zero) as f64 / bench.period_ns) * bench.period_ns;
        let not_before = match expected {
            None => 0.0,
            Some(expected) => turns((passes - expected - own) / bench.period_ns) * bench.period_ns,
        };
        let timed = bench.read(to, 1, first + not_before.round() as u64)?;
        let latency = timed.latency() as f64;
        // Discard hits, which have no angle, and late submissions.
        let off =
            expected.map_or(0.0, |expected| apart((latency - own - expected) / bench.period_ns));
        let hit = expected.is_none() && bench.is_hit(timed.latency());
        if !hit && off.abs() < 0.02 + 10.0 * bench.noise {
            return Ok(latency - own);
        }
        missed += 1;
        if missed > 40 {
            return Err(FitError::Unfit {
                what: "reads do not complete at their sectors' angles",
                found: format!("{off:.3} turns off at a move of {of:?}"),
                next: "measure an idle device; the drive may number its tracks in another order than this model can",
            });
        }
    }
}

/// The first begins a track, so that read-ahead stays on it for a turn.
fn pair(bench: &mut Bench<'_>, map: &Geometry, of: Move) -> Result<(u64, u64), FitError> {
    for _ in 0..TRIES {
        let distance = if let Move::Seek(distance) = of { distance } else { 0 };
        let low = bench.random.below(map.cylinders() - distance);
        let upwards = bench.random.below(2) == 0;
        let (cylinder, other) = if upwards { (low, low + distance) } else { (low + distance, low) };
        let head = bench.random.below(map.heads);
        let target_head = match of {
            Move::Head if head == 0 => continue,
            Move::Head => bench.random.below(head),
            _ => head,
        };
        let (Some((from, _)), Some((to, units))) =
            (map.track_start(cylinder, head), map.track_start(other, target_head))
        else {
            continue;
        };
        return Ok(match of {
            Move::None => (from + 3, to),
            _ => (from, to + bench.random.below(units - 1)),
        });
    }
    Err(FitError::Unfit {
        what: "no two tracks to seek between",
        found: format!("{of:?} on {} cylinders", map.cylinders()),
        next: "report this with the device's model",
    })
}

/// The first ones all, then growing by a seventh.
pub(super) fn distances(cylinders: u64) -> Vec<u64> {
    // The outermost cylinders may have no whole track.
    let longest = cylinders.saturating_sub(3).max(1);
    let mut found = Vec::new();
    let mut next = 1;
    while next < longest {
        found.push(next);
        next = (next + 1).max(next * 8 / 7);
    }
    found.push(longest);
    found
}
