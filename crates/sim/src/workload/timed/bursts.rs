//! `bursts`: clients that follow an arrival curve, or exceed it by a factor: a burst, then a steady
//! rate.
//!
//! Latency guarantees are tested by flows that use the whole curve, `burst + rate · t`, isolation
//! by one that exceeds its own. Arrivals are the greediest possible, at random places. `over`
//! multiplies burst and rate; with `burst_every` the client pauses until its bucket is full and
//! starts again. Source: (σ, ρ) arrival curves as in pClock (SIGMETRICS'07) [C abstract];
//! parameters ours [P].

use elevator::Request;

use super::{Arrival, OpenLoop, Schedule};
use crate::workload::client::Client;
use crate::workload::paced::Pattern;
use crate::workload::random::Scatter;
use crate::workload::row::{Params, Seat};
use crate::workload::timed::setup::OVER_ONE;
use text::{format_duration, format_size};

const MAX_OVER: u32 = 1000 * OVER_ONE;
const MAX_BURST: u64 = 1 << 40;
const MAX_RATE: u64 = 1 << 44;
const MAX_INTERVAL_NS: u64 = 86_400_000_000_000;
const SECOND: u128 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Curve {
    burst_milli: u128,
    rate_milli: u128,
}

impl Curve {
    fn from_params(params: &Params) -> Curve {
        let timed = &params.timed;
        let over = u128::from(timed.over_milli);
        let rate_milli = u128::from(timed.rate.unwrap_or(0)) * over;
        Curve { burst_milli: u128::from(timed.burst) * over, rate_milli }
    }

    /// Returns when the curve reaches this many bytes, rounded up.
    fn reaches_ns(&self, bytes: u64) -> u64 {
        let beyond = (u128::from(bytes) * u128::from(OVER_ONE)).saturating_sub(self.burst_milli);
        u64::try_from((beyond * SECOND).div_ceil(self.rate_milli.max(1))).unwrap_or(u64::MAX / 4)
    }

    /// Nanoseconds to refill an empty bucket: `over` cancels out.
    fn refill_ns(&self) -> u64 {
        u64::try_from((self.burst_milli * SECOND).div_ceil(self.rate_milli.max(1)))
            .unwrap_or(u64::MAX)
    }
}

struct Bursts {
    scatter: Scatter,
    curve: Curve,
    deadline_ns: Option<u64>,
    every_ns: Option<u64>,
    since_ns: u64,
    bytes: u64,
}

impl Schedule for Bursts {
    fn draw(&mut self) -> Option<Arrival> {
        let request: Request = self.scatter.pick()?;
        let mut after_ns = self.curve.reaches_ns(self.bytes + u64::from(request.len));
        if let Some(every_ns) = self.every_ns
            && after_ns > every_ns - self.curve.refill_ns().min(every_ns)
        {
            self.since_ns += every_ns;
            self.bytes = 0;
            after_ns = self.curve.reaches_ns(request.len.into());
        }
        self.bytes += u64::from(request.len);
        let at_ns = self.since_ns.saturating_add(after_ns);
        let deadline_ns = self.deadline_ns.map(|deadline_ns| at_ns.saturating_add(deadline_ns));
        Some(Arrival { at_ns, release_ns: at_ns, deadline_ns, request })
    }
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    let timed = &params.timed;
    let Some(rate) = timed.rate else {
        return Err("rate = unlimited: an arrival curve needs a rate, e.g. rate = 1M".into());
    };
    if rate > MAX_RATE {
        return Err(format!(
            "rate: too large (expected at most {} a second)",
            format_size(MAX_RATE)
        ));
    }
    if !(u64::from(params.block_size)..=MAX_BURST).contains(&timed.burst) {
        let (burst, block) = (format_size(timed.burst), format_size(params.block_size.into()));
        return Err(format!(
            "burst = {burst}: out of range (expected a request of block_size = {block} to {})",
            format_size(MAX_BURST)
        ));
    }
    if !(1..=MAX_OVER).contains(&timed.over_milli) {
        return Err("over: out of range (expected a factor from 0.001 to 1000)".into());
    }
    let refill_ns = Curve::from_params(params).refill_ns();
    match timed.burst_every_ns {
        Some(every_ns) if every_ns < refill_ns || every_ns > MAX_INTERVAL_NS => Err(format!(
            "burst_every = {}: a burst of {} needs {} to fill up again at rate = {} a second; give that to 1 day",
            format_duration(every_ns),
            format_size(timed.burst),
            format_duration(refill_ns),
            format_size(rate)
        )),
        _ => Ok(()),
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let timed = &params.timed;
    Box::new(OpenLoop::new(Bursts {
        scatter: Scatter::new(seat.rng(), params.block_size, seat.len, params.read_share),
        curve: Curve::from_params(params),
        deadline_ns: timed.deadline_ns,
        every_ns: timed.burst_every_ns,
        since_ns: 0,
        bytes: 0,
    }))
}

pub(crate) fn writing(params: &Params) -> bool {
    params.read_share < 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::find;

    fn arrivals(pairs: &[(&str, &str)], n: usize) -> Vec<u64> {
        let params = find("bursts").unwrap().params(pairs.iter().copied()).unwrap();
        let scatter = Scatter::new(
            Seat { index: 0, count: 1, len: 1 << 20, seed: 1 }.rng(),
            params.block_size,
            1 << 20,
            100,
        );
        let timed = &params.timed;
        let (every_ns, deadline_ns) = (timed.burst_every_ns, timed.deadline_ns);
        let mut bursts = Bursts {
            scatter,
            curve: Curve::from_params(&params),
            deadline_ns,
            every_ns,
            since_ns: 0,
            bytes: 0,
        };
        (0..n).map(|_| bursts.draw().unwrap().at_ns).collect()
    }

    /// Returns the maximum excess over the curve in any interval, in bytes of 4 KiB requests.
    fn excess(arrivals: &[u64], burst: f64, rate: f64) -> f64 {
        let mut largest = f64::MIN;
        for (i, from) in arrivals.iter().enumerate() {
            for (j, to) in arrivals.iter().enumerate().skip(i) {
                let bytes = (j - i + 1) as f64 * 4096.0;
                largest = largest.max(bytes - burst - rate * (to - from) as f64 / 1e9);
            }
        }
        largest
    }

    #[test]
    fn arrivals_use_the_whole_curve_and_no_interval_exceeds_it() {
        let once = arrivals(&[("burst", "16k"), ("rate", "4096k")], 200);
        assert_eq!(once[..6], [0, 0, 0, 0, 976_563, 1_953_125]);
        assert!(excess(&once, 16384.0, 4_194_304.0) < 1.0);
        let again = arrivals(&[("burst", "16k"), ("rate", "4096k"), ("burst_every", "20ms")], 200);
        assert!(again[16..].contains(&20_000_000), "{again:?}");
        assert!(excess(&again, 16384.0, 4_194_304.0) < 1.0);
    }

    #[test]
    fn a_factor_above_one_exceeds_the_curve_by_as_much() {
        let twice = arrivals(&[("burst", "16k"), ("rate", "4096k"), ("over", "2")], 200);
        assert_eq!(twice.iter().filter(|at| **at == 0).count(), 8, "a burst twice as large");
        let found = excess(&twice, 16384.0, 4_194_304.0);
        assert!(found > 150.0 * 4096.0 / 2.0, "{found} bytes over the curve");
        assert!(excess(&twice, 2.0 * 16384.0, 2.0 * 4_194_304.0) < 1.0);
    }

    #[test]
    fn bursts_that_come_faster_than_the_bucket_fills_are_refused_with_the_time_that_it_takes() {
        let row = find("bursts").unwrap();
        let error = row
            .params([("burst", "1M"), ("rate", "1M"), ("burst_every", "10ms")])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("burst_every = 10ms") && error.contains("needs 1s to fill up"),
            "{error}"
        );
        let error = row.params([("burst", "1k")]).unwrap_err().to_string();
        assert!(error.contains("a request of block_size = 4k"), "{error}");
        let error = row.params([("rate", "unlimited")]).unwrap_err().to_string();
        assert!(error.contains("rate = 1M"), "{error}");
    }
}
