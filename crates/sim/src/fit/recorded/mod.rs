//! Fits a device's latencies by kind, size and depth to a trace, which includes CPUs, caches, the
//! host and concurrent writes.
//!
//! Latency is from issue to completion. Requests fall into cells of size and depth; sparse ones are
//! extrapolated ([`cells`]). Slow phases raise depth, so latencies are calibrated per kind until a
//! replay of the fitted slices has the recorded mean. Every third of [`SLICES`] slices is held out
//! for the error; the halves of the rest give the device's own variation. Unknown: sizes and depths
//! absent from the trace, location, correlation.

mod cells;
mod replayed;

use serde::Serialize;
use trace::{Kind, Trace};

use crate::fit::demerit::Error;
use crate::fit::drive::FitError;
use crate::fit::inside::{Served, busiest, serve_times};
use crate::fit::latency::{WriteKeys, keys};
use cells::Cells;

const MIN_REQUESTS: usize = 200;
/// Slices of the trace; every third is held out.
const SLICES: u128 = 30;
/// The minimum: a trace's requests may have come one by one.
const MIN_DEPTH: u32 = 32;
/// Share of requests at the maximum depth that makes it the device's limit.
const FULL: f64 = 0.05;
/// Steps, damping, and requests required.
const STEPS: u32 = 8;
const DAMPED: f64 = 0.6;
const CALIBRATING: usize = 200_000;

#[derive(Debug)]
pub struct Recorded {
    pub name: String,
    pub rotational: Option<bool>,
    sectors: u64,
    queue_depth: u32,
    reads: Option<Cells>,
    writes: Option<Cells>,
    beside_percent: Vec<u64>,
    flush_ns: u64,
    factors: [f64; 2],
    fitted: Vec<Vec<Served>>,
    held_out: Vec<Vec<Served>>,
}

/// A model's error on one kind of held-out requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindError {
    pub kind: Kind,
    #[serde(flatten)]
    pub error: Error,
    /// Relative difference between two halves of the fitted slices.
    pub own_mean: Option<f64>,
    pub own_median: Option<f64>,
    pub own_p99: Option<f64>,
}

impl Recorded {
    /// # Errors
    /// [`FitError::Unfit`] if too few requests have times of issue and completion.
    pub fn from_trace(trace: &Trace) -> Result<Recorded, FitError> {
        let index = busiest(&trace.ios).unwrap_or(0);
        let all = serve_times(&trace.ios, index);
        let transfers = all.iter().filter(|served| served.kind != Kind::Flush).count();
        if transfers < MIN_REQUESTS {
            return Err(FitError::Unfit {
                what: "too few reads and writes with times of issue and completion",
                found: format!("{transfers}, expected {MIN_REQUESTS}"),
                next: "record the busy disk for longer with schedlab trace record",
            });
        }
        let device = trace.devices.get(usize::from(index)).cloned().unwrap_or_default();
        let end =
            all.iter().map(|served| served.sector + u64::from(served.sectors)).max().unwrap_or(1);
        let (fitted, held_out) = slices(&all);
        let seen = || fitted.iter().flatten();
        let beside_percent = cells::beside_percent(seen());
        let mut flushes: Vec<u64> =
            seen().filter(|of| of.kind == Kind::Flush).map(|of| of.took).collect();
        flushes.sort_unstable();
        let mut found = Recorded {
            name: device.name,
            rotational: device.rotational,
            sectors: device.sectors.clamp(end, u64::MAX >> 16),
            queue_depth: queue_depth(&all),
            reads: Cells::from_requests(seen().filter(|of| of.kind == Kind::Read), &beside_percent),
            writes: Cells::from_requests(seen().filter(|of| of.kind == Kind::Write), &[100]),
            beside_percent,
            flush_ns: flushes.get(flushes.len() / 2).copied().unwrap_or(0),
            factors: [1.0; 2],
            fitted,
            held_out,
        };
        found.calibrate()?;
        Ok(found)
    }

    /// Scales latencies until replaying the fitted slices gives their mean.
    fn calibrate(&mut self) -> Result<(), FitError> {
        let enough = self.fitted.iter().scan(0, |sum, slice| {
            let before = *sum;
            *sum += slice.len();
            Some(before)
        });
        let nr_slices = enough.take_while(|before| *before < CALIBRATING).count();
        for _ in 0..STEPS {
            let slices = &self.fitted[..nr_slices];
            let modelled = replayed::latencies(&self.keys(), 1, slices)?;
            for (number, kind) in [Kind::Read, Kind::Write].into_iter().enumerate() {
                let recorded =
                    mean(slices.iter().flatten().filter(|of| of.kind == kind).map(|of| of.took));
                let made =
                    mean(modelled.iter().filter(|(of, _)| *of == kind).map(|(_, took)| *took));
                let (Some(recorded), Some(made)) = (recorded, made) else { continue };
                let factor = (self.factors[number] * (recorded / made.max(1.0)).powf(DAMPED))
                    .clamp(0.1, 10.0);
                self.factors[number] = factor;
            }
        }
        Ok(())
    }

    /// Reads and writes.
    pub fn seen(&self) -> (usize, usize) {
        let count = |cells: &Option<Cells>| cells.as_ref().map_or(0, Cells::requests);
        (count(&self.reads), count(&self.writes))
    }

    /// A read's latency with several writes inside, relative to none.
    pub fn beside_percent(&self) -> u64 {
        self.beside_percent.last().copied().unwrap_or(100)
    }

    pub fn keys(&self) -> String {
        let seen = || self.fitted.iter().flatten().filter(|of| of.kind != Kind::Flush);
        let (sizes, depths) = (cells::sizes(seen()), cells::depths(seen()));
        let rows = |cells: &Option<Cells>, factor: f64| {
            cells.as_ref().map(|cells| cells.rows(&sizes, &depths, factor))
        };
        let writes = WriteKeys {
            rows: rows(&self.writes, self.factors[1]),
            flush_ns: self.flush_ns,
            beside_percent: self.beside_percent.clone(),
        };
        // A description has reads: without any in the trace they are as fast as the writes.
        let reads = rows(&self.reads, self.factors[0]).or_else(|| writes.rows.clone());
        let reads = reads.unwrap_or_default();
        keys(self.sectors, self.queue_depth, &sizes, &depths, &reads, Some(&writes))
    }

    pub fn errors(&self, description: &str, seed: u64) -> Result<Vec<KindError>, FitError> {
        let modelled = replayed::latencies(description, seed, &self.held_out)?;
        let took = |slices: &[Vec<Served>], kind: Kind| -> Vec<u64> {
            slices.iter().flatten().filter(|of| of.kind == kind).map(|of| of.took).collect()
        };
        let errors = [Kind::Read, Kind::Write].into_iter().filter_map(|kind| {
            let model: Vec<u64> =
                modelled.iter().filter(|(of, _)| *of == kind).map(|(_, took)| *took).collect();
            let error = Error::compare(&took(&self.held_out, kind), &model)?;
            let half = |which: usize| -> Vec<Vec<Served>> {
                self.fitted.iter().skip(which).step_by(2).cloned().collect()
            };
            let own = Error::compare(&took(&half(0), kind), &took(&half(1), kind));
            Some(KindError {
                kind,
                error,
                own_mean: own.as_ref().map(Error::mean),
                own_median: own.as_ref().map(Error::median),
                own_p99: own.as_ref().map(Error::p99),
            })
        });
        Ok(errors.collect())
    }
}

fn mean(all: impl Iterator<Item = u64>) -> Option<f64> {
    let (sum, count) =
        all.fold((0.0, 0_u64), |(sum, count), value| (sum + value as f64, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The maximum if a share of [`FULL`] was issued at it; otherwise twice that.
fn queue_depth(all: &[Served]) -> u32 {
    let depths =
        || all.iter().filter(|served| served.kind != Kind::Flush).map(|served| served.depth);
    let most = depths().max().unwrap_or(1);
    let full = depths().filter(|depth| *depth == most).count() as f64;
    let is_limit = most > 1 && full >= FULL * depths().count() as f64;
    if is_limit { most.min(4096) } else { (2 * most.min(2048)).next_power_of_two().max(MIN_DEPTH) }
}

fn slices(all: &[Served]) -> (Vec<Vec<Served>>, Vec<Vec<Served>>) {
    let first = all.first().map_or(0, |served| served.at);
    let span = u128::from(all.last().map_or(0, |served| served.at) - first) + 1;
    let (mut fitted, mut held_out) = (Vec::new(), Vec::new());
    let number = |served: &Served| u128::from(served.at - first) * SLICES / span;
    for slice in all.chunk_by(|a, b| number(a) == number(b)) {
        let is_held_out = number(&slice[0]) % 3 == 2;
        if is_held_out { &mut held_out } else { &mut fitted }.push(slice.to_vec());
    }
    (fitted, held_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_time_is_held_out_and_no_request_is_on_both_sides() {
        let at = |at| Served {
            kind: Kind::Read,
            sector: 0,
            sectors: 8,
            at,
            took: 1,
            depth: 1,
            writes: 0,
        };
        let all: Vec<Served> = (0..3000).map(|n| at(1_000_000 + n * 7)).collect();
        let (fitted, held_out) = slices(&all);
        let times =
            |slices: &[Vec<Served>]| slices.iter().flatten().map(|of| of.at).collect::<Vec<u64>>();
        let (fitted_at, held_out_at) = (times(&fitted), times(&held_out));
        assert_eq!((fitted.len(), held_out.len(), held_out_at.len()), (20, 10, 1000));
        let mut both = [fitted_at, held_out_at].concat();
        both.sort_unstable();
        assert_eq!(both, all.iter().map(|of| of.at).collect::<Vec<u64>>());
        assert_eq!(slices(&[]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_depth_at_which_the_device_often_was_is_its_limit_and_a_single_burst_is_none() {
        let at = |depth| Served {
            kind: Kind::Read,
            sector: 0,
            sectors: 8,
            at: 0,
            took: 1,
            depth,
            writes: 0,
        };
        let of = |full: usize| -> Vec<Served> {
            (0..1000).map(|n| at(if n < full { 31 } else { 1 + n as u32 % 9 })).collect()
        };
        assert_eq!([of(100), of(3), Vec::new()].map(|all| queue_depth(&all)), [31, 64, 32]);
    }
}
