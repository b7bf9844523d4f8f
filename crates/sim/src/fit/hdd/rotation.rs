//! The rotation period: reads of one sector from the medium complete whole revolutions apart.
//!
//! The revolution is the largest period that explains all of them; so do its fractions.

use std::f64::consts::TAU;

use super::bench::{Bench, apart};
use crate::fit::drive::FitError;

const READS: usize = 48;
/// 25,000 to 2,400 rpm.
const MIN_NS: f64 = 2.4e6;
const MAX_NS: f64 = 25e6;
const STEP: f64 = 2e-4;

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), FitError> {
    let at = bench.anywhere();
    let mut ends = Vec::with_capacity(READS);
    for _ in 0..READS {
        bench.evict(bench.evicting)?;
        let pause = bench.random.below(20_000_000);
        let not_before = bench.drive.now() + pause;
        let timed = bench.read(at, 1, not_before)?;
        if !bench.is_hit(timed.latency()) {
            ends.push(timed.ended as f64);
        }
    }
    if ends.len() < READS / 2 {
        return Err(FitError::Unfit {
            what: "the drive's cache does not evict a sector",
            found: format!(
                "{} of {READS} reads from the cache, each after {} reads elsewhere",
                READS - ends.len(),
                bench.evicting
            ),
            next: "switch its read look-ahead off (hdparm -A0), or describe it as a device without a spindle with --as ssd",
        });
    }
    let first = ends.first().copied().unwrap_or(0.0);
    ends.iter_mut().for_each(|end| *end -= first);
    let (period_ns, noise) = period(&ends).ok_or_else(|| FitError::Unfit {
        what: "no revolution: reads of one sector do not end whole turns apart",
        found: format!("{} reads of it", ends.len()),
        next: "measure an idle device; for a device without a spindle give --as ssd",
    })?;
    (bench.period_ns, bench.noise) = (period_ns, noise);
    Ok(())
}

/// Returns the period, and the deviation from it in turns.
fn period(ends: &[f64]) -> Option<(f64, f64)> {
    let steps = ((MAX_NS / MIN_NS).ln() / STEP) as usize;
    let candidates = (0..steps).map(|step| MAX_NS * (-(step as f64) * STEP).exp());
    candidates.filter(|period| agreement(ends, *period) > 0.7).find_map(|coarse| {
        let fine = (0..4).fold(coarse, |period, _| refine(ends, period));
        let within = (fine / coarse - 1.0).abs() < 5.0 * STEP;
        (within && agreement(ends, fine) > 0.97).then(|| (fine, deviation(ends, fine)))
    })
}

/// Returns 1 if all times are at one angle, about 0 if they are spread evenly.
fn agreement(ends: &[f64], period: f64) -> f64 {
    let (sin, cos) = ends.iter().fold((0.0, 0.0), |(sin, cos), end| {
        let angle = TAU * end / period;
        (sin + angle.sin(), cos + angle.cos())
    });
    f64::hypot(sin, cos) / ends.len() as f64
}

fn refine(ends: &[f64], period: f64) -> f64 {
    let n = ends.len() as f64;
    let turn = |end: &f64| (end / period).round();
    let (mean_turn, mean_end) =
        (ends.iter().map(turn).sum::<f64>() / n, ends.iter().sum::<f64>() / n);
    let (over, under) = ends.iter().fold((0.0, 0.0), |(over, under), end| {
        let off = turn(end) - mean_turn;
        (over + off * (end - mean_end), under + off * off)
    });
    if under > 0.0 { over / under } else { period }
}

fn deviation(ends: &[f64], period: f64) -> f64 {
    let off: Vec<f64> = ends.iter().map(|end| apart(end / period)).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    (off.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / off.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use crate::stream;

    use super::*;

    #[test]
    fn a_period_is_found_through_noise_and_is_no_fraction_of_itself() {
        let mut random = stream(3, "test");
        for rpm in [3600_u64, 4002, 5400, 7200, 10_000, 15_000] {
            let truth = 60e9 / rpm as f64;
            let mut turn = 0;
            let ends: Vec<f64> = (0..READS)
                .map(|_| {
                    turn += 1 + random.below(5);
                    turn as f64 * truth + random.below(60_000) as f64
                })
                .collect();
            let (found, noise) = period(&ends).expect("there is one");
            assert!((found / truth - 1.0).abs() < 1e-4, "{rpm} rpm: {found} ns, not {truth}");
            assert!(noise < 0.01, "{noise}");
        }
    }

    #[test]
    fn times_without_a_period_have_none() {
        let mut random = stream(4, "test");
        let mut at = 0.0;
        let ends: Vec<f64> = (0..READS)
            .map(|_| {
                at += 1e6 + random.below(30_000_000) as f64;
                at
            })
            .collect();
        assert_eq!(period(&ends), None);
    }
}
