//! The read cache from outside: hit time, number and size of segments, read-ahead.

use super::bench::{Bench, MAX_EVICTING};
use crate::fit::drive::FitError;

const TRIES: usize = 5;
const MAX_DISTANCE: u64 = 1 << 14;
/// Upper bound of a revolution.
const TURN_NS: u64 = 25_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cache {
    pub(super) segments: u64,
    pub(super) segment: u64,
    pub(super) read_ahead: u64,
    pub(super) to_track_end: bool,
    /// Latency of a hit of one unit, and of each further unit.
    pub(super) hit_ns: f64,
    pub(super) unit_ns: f64,
}

/// Also measures the reads that evict a sector. Must run first.
pub(super) fn hits(bench: &mut Bench<'_>) -> Result<(), FitError> {
    let mut latencies = Vec::new();
    for _ in 0..2 * TRIES {
        let at = bench.anywhere();
        let first = bench.read_one(at)?;
        // Without a cache the sector must come round again, and a pause shortens that wait.
        let pause = bench.random.below(2_000_000);
        latencies.push(bench.read(at, 1, first.ended + pause)?.latency());
    }
    latencies.sort_unstable();
    let [least, median, most] = [0, TRIES, 2 * TRIES - 1].map(|at| latencies[at] as f64);
    if most - least > 0.3 * median + 60_000.0 {
        return Ok(());
    }
    bench.hit_ns = Some(median);
    bench.evicting = MAX_EVICTING;
    for evicting in 1..=MAX_EVICTING {
        if !survives(bench, evicting)? {
            bench.evicting = evicting;
            break;
        }
    }
    Ok(())
}

fn survives(bench: &mut Bench<'_>, reads: usize) -> Result<bool, FitError> {
    for _ in 0..3 {
        let at = bench.anywhere();
        bench.read_one(at)?;
        bench.evict(reads)?;
        let latency = bench.read_one(at)?.latency();
        if bench.is_hit(latency) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<Cache, FitError> {
    let Some(hit_ns) = bench.hit_ns else { return Ok(Cache::default()) };
    let segments = bench.evicting as u64;
    let mut limits = Vec::new();
    for _ in 0..TRIES {
        limits.push(read_ahead(bench)?);
    }
    let (least, most) = (*limits.iter().min().unwrap_or(&0), *limits.iter().max().unwrap_or(&0));
    let read_ahead = most;
    let segment = segment(bench, read_ahead)?;
    let unit_ns = per_unit(bench, read_ahead.min(segment), hit_ns)?;
    Ok(Cache {
        segments,
        segment,
        read_ahead,
        to_track_end: most > least + least / 10 + 1,
        hit_ns,
        unit_ns,
    })
}

/// Units cached beyond a read, some time later.
fn read_ahead(bench: &mut Bench<'_>) -> Result<u64, FitError> {
    let mut held = |units: u64| -> Result<bool, FitError> {
        let at = bench.random.below(bench.units.saturating_sub(MAX_DISTANCE + 2).max(1));
        let first = bench.read_one(at)?;
        let wait = 4 * TURN_NS + units * TURN_NS / 32;
        let latency = bench.read(at + units, 1, first.ended + wait)?.latency();
        Ok(bench.is_hit(latency))
    };
    longest(MAX_DISTANCE, &mut held)
}

/// Assumes monotone `holds`; 0 if never.
fn longest(
    most: u64,
    holds: &mut dyn FnMut(u64) -> Result<bool, FitError>,
) -> Result<u64, FitError> {
    let (mut low, mut high) = (0, 1);
    while high <= most && holds(high)? {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Returns the size of a segment in units: the longest run, with its read-ahead, whose first unit
/// stays cached.
fn segment(bench: &mut Bench<'_>, read_ahead: u64) -> Result<u64, FitError> {
    let most = u64::from(bench.drive.facts().largest) / u64::from(bench.unit);
    let mut held = |units: u64| -> Result<bool, FitError> {
        let at = bench.random.below(bench.units.saturating_sub(units + MAX_DISTANCE).max(1));
        let first = bench.read(at, units, 0)?;
        let wait = 4 * TURN_NS + read_ahead * TURN_NS / 32;
        let latency = bench.read(at, 1, first.ended + wait)?.latency();
        Ok(bench.is_hit(latency))
    };
    Ok(longest(most, &mut held)? + read_ahead)
}

fn per_unit(bench: &mut Bench<'_>, held: u64, hit_ns: f64) -> Result<f64, FitError> {
    let units = held.min(u64::from(bench.drive.facts().largest / bench.unit)).min(256);
    if units < 8 {
        return Ok(0.0);
    }
    let mut latencies = Vec::new();
    for _ in 0..TRIES {
        let at = bench.random.below(bench.units.saturating_sub(MAX_DISTANCE).max(1));
        let first = bench.read_one(at)?;
        let wait = 4 * TURN_NS + units * TURN_NS / 32;
        latencies.push(bench.read(at + 1, units - 1, first.ended + wait)?.latency());
    }
    latencies.sort_unstable();
    Ok(((latencies[TRIES / 2] as f64 - hit_ns) / (units - 2) as f64).max(0.0))
}
