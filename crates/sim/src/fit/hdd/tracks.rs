//! Track boundaries and lengths, from the angles of units.
//!
//! The angle grows by a constant step along a track and jumps by the skew at its end. The search
//! goes down from any unit in doubling steps while the angle is as predicted, then bisects. It goes
//! down because drives read ahead upwards.

use super::bench::{Bench, apart, turns};
use crate::fit::drive::FitError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) first: u64,
    pub(super) units: u64,
}

impl Track {
    pub(super) fn end(self) -> u64 {
        self.first + self.units
    }
}

/// Units on one track, examined downwards from `top`.
struct Run {
    top: u64,
    angle: f64,
    /// Turns per unit, estimated over `seen` units.
    step: f64,
    seen: u64,
}

impl Run {
    /// Whether its angle is as predicted; if so, refines the step.
    fn holds(&mut self, bench: &mut Bench<'_>, down: u64) -> Result<bool, FitError> {
        let found = turns(self.angle - bench.angle(self.top - down)?);
        let expected = self.step * down as f64;
        if expected > 1.5 {
            return Ok(false);
        }
        let off = apart(found - expected);
        let one = 5.0 * bench.noise + 5e-6;
        let tolerance = one * (1.0 + down as f64 / self.seen as f64);
        if off.abs() > tolerance.min(0.05) {
            return Ok(false);
        }
        if down > self.seen {
            (self.step, self.seen) = ((expected + off) / down as f64, down);
        }
        Ok(true)
    }
}

/// The track's first unit, and its length estimated from the rate.
fn track_start(bench: &mut Bench<'_>, top: u64) -> Result<(u64, f64), FitError> {
    let mut top = top;
    // If the first steps cross a track boundary, start one unit lower.
    for _ in 0..6 {
        if top < 4 {
            return Ok((0, 0.0));
        }
        let angle = bench.angle(top)?;
        let step = apart(angle - bench.angle(top - 1)?);
        let mut run = Run { top, angle, step, seen: 1 };
        if !(-10.0 * bench.noise..0.2).contains(&step)
            || !run.holds(bench, 2)?
            || !run.holds(bench, 3)?
        {
            top -= 1;
            continue;
        }
        let (mut low, mut high) = (3, 6);
        loop {
            high = high.min(top);
            if !run.holds(bench, high)? {
                break;
            }
            low = high;
            if low == top {
                return Ok((0, 1.0 / run.step));
            }
            high *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if run.holds(bench, middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        return Ok((top - low, 1.0 / run.step));
    }
    Err(unfit(format!("no even steps below unit {top}")))
}

fn unfit(found: String) -> FitError {
    FitError::Unfit {
        what: "the drive's tracks do not show in the times of its reads",
        found,
        next: "measure an idle device without a volume or a virtual machine in between",
    }
}

/// The complete track below; near the start of the disk the first one.
pub(super) fn track_below(bench: &mut Bench<'_>, at: u64) -> Result<Track, FitError> {
    let (end, rate) = track_start(bench, at)?;
    if end == 0 {
        return first(bench, rate);
    }
    let (mut end, mut found) = (end, String::new());
    // The last track of a cylinder or zone may be shorter.
    for _ in 0..3 {
        let (first, rate) = track_start(bench, end - 1)?;
        let units = end - first;
        if first == 0 || (rate / units as f64 - 1.0).abs() < 0.02 {
            return Ok(Track { first, units });
        }
        found =
            format!("{units} units from {first} on, which pass at a rate of {rate:.1} to a turn");
        end = first;
    }
    Err(unfit(found))
}

/// `rate` may be known.
fn first(bench: &mut Bench<'_>, rate: f64) -> Result<Track, FitError> {
    let mut above = if rate > 1.0 { (rate * 1.5) as u64 } else { 48 };
    while above < bench.units {
        let (begins, _) = track_start(bench, above)?;
        if begins > 0 {
            // The track below is the first one, or one between.
            let (first, _) = track_start(bench, begins - 1)?;
            if first == 0 {
                return Ok(Track { first: 0, units: begins });
            }
            above = first;
        } else {
            above = above * 3 / 2;
        }
    }
    Err(unfit("one track for all of the disk".to_owned()))
}

/// Returns the next track and its skew in units. A cylinder's last track may be shorter.
pub(super) fn next(bench: &mut Bench<'_>, track: Track) -> Result<Option<(Track, u64)>, FitError> {
    let Track { units, .. } = track;
    let end = track.end();
    if end + units > bench.units {
        return Ok(None);
    }
    let skew = skew_at(bench, end, units)?;
    if skew > tolerance(bench, units) {
        return Ok(Some((Track { first: end, units }, skew)));
    }
    // No jump where expected: it may have come earlier.
    let (begins, _) = track_start(bench, end + units / 2)?;
    let begins = if begins > track.first && begins <= end { begins } else { end };
    let skew = if begins == end { skew % units } else { skew_at(bench, begins, units)? };
    Ok(Some((Track { first: begins, units }, skew)))
}

pub(super) fn tolerance(bench: &Bench<'_>, units: u64) -> u64 {
    ((5.0 * bench.noise * units as f64).ceil() as u64).max(1)
}

fn skew_at(bench: &mut Bench<'_>, at: u64, units: u64) -> Result<u64, FitError> {
    let (after, before) = (bench.angle(at)?, bench.angle(at - 1)?);
    let jump = turns(after - before - 1.0 / units as f64 + 1e-6) * units as f64;
    Ok((jump.round() as u64) % units)
}
