//! Whether a device can keep the guarantees of all flows: sums of rates, and bursts within latency
//! bounds.
//!
//! A flow with rate ρ, burst σ and latency bound δ may require σ + ρ·(t − δ) bytes within any t ≥ δ
//! (its arrival curve, shifted by the bound). Under earliest deadline first, all bounds hold if the
//! sum over the flows never exceeds what the device transfers in t, less one request in service.
//! The sum is piecewise linear and jumps only at bounds, so it is checked there, and by the rates
//! in the long run. Source: schedulability condition of pClock (SIGMETRICS 2007), that of EDF under
//! arrival curves; derived.

use crate::scheduler::FlowSpec;

const SECOND: u128 = 1_000_000_000;

/// A bound that the device cannot keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Index of the flow.
    pub flow: usize,
    pub within_ns: u64,
    /// Bytes due within the bound.
    pub asked: u64,
    /// Bytes possible within the bound.
    pub done: u64,
}

/// Guarantees compared with a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurveFit {
    /// Bytes per second.
    pub capacity: u64,
    /// Sum of the rates, in bytes per second.
    pub rates: u64,
    /// The bound exceeded by the most bytes.
    pub shortfall: Option<Shortfall>,
}

impl CurveFit {
    pub fn fits(&self) -> bool {
        self.excess() == 0 && self.shortfall.is_none()
    }

    /// Bytes per second beyond the capacity.
    pub fn excess(&self) -> u64 {
        self.rates.saturating_sub(self.capacity)
    }
}

/// The device serves `capacity` bytes per second in requests of up to `largest`, without
/// preemption. A flow without a rate counts by its burst, one without a latency bound by its rate.
pub fn fit(flows: &[FlowSpec], capacity: u64, largest: u64) -> CurveFit {
    let rates = flows.iter().fold(0_u64, |sum, flow| sum.saturating_add(flow.rate.unwrap_or(0)));
    let bounds = flows.iter().enumerate().filter_map(|(at, flow)| Some((at, flow.latency_ns?)));
    let lacking = bounds.filter_map(|(flow, within_ns)| {
        let asked = asked_within(flows, within_ns).saturating_add(largest);
        let done = clamp(u128::from(capacity) * u128::from(within_ns) / SECOND);
        (asked > done).then_some(Shortfall { flow, within_ns, asked, done })
    });
    CurveFit { capacity, rates, shortfall: lacking.max_by_key(|lack| lack.asked - lack.done) }
}

/// Bytes due if all flows send as early as they may.
fn asked_within(flows: &[FlowSpec], within_ns: u64) -> u64 {
    let of = |flow: &FlowSpec| {
        let rest = within_ns.checked_sub(flow.latency_ns?)?;
        Some(
            u128::from(flow.burst) + u128::from(flow.rate.unwrap_or(0)) * u128::from(rest) / SECOND,
        )
    };
    clamp(flows.iter().filter_map(of).sum())
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn flow(rate: u64, burst: u64, latency_ms: u64) -> FlowSpec {
        FlowSpec {
            rate: Some(rate),
            burst,
            latency_ns: (latency_ms > 0).then_some(latency_ms * 1_000_000),
            ..FlowSpec::default()
        }
    }

    #[test]
    fn rates_beyond_the_capacity_are_reported_by_how_much() {
        let over = fit(&[flow(60 * MB, 0, 0), flow(50 * MB, 0, 0)], 100 * MB, 0);
        assert_eq!((over.rates, over.excess(), over.fits()), (110 * MB, 10 * MB, false));
        assert!(fit(&[flow(60 * MB, 0, 0), flow(40 * MB, 0, 0)], 100 * MB, 0).fits());
    }

    #[test]
    fn a_burst_has_to_fit_its_bound_with_the_bursts_of_shorter_bounds_and_their_rates_since() {
        // In 20 ms the device transfers 2 MB: 1 MB of the second flow, 0.5 MB burst of the first,
        // and 0.5 MB for 10 ms of its rate.
        let flows = [flow(50 * MB, MB / 2, 10), flow(10 * MB, MB, 20)];
        assert!(fit(&flows, 100 * MB, 0).fits());
        let lack = fit(&flows, 100 * MB, 4096).shortfall.expect("one request more is too much");
        assert_eq!(
            lack,
            Shortfall { flow: 1, within_ns: 20_000_000, asked: 2 * MB + 4096, done: 2 * MB }
        );
        let tight = fit(&[flow(MB, 3 * MB, 10)], 100 * MB, 0).shortfall.expect("3 MB in 10 ms");
        assert_eq!((tight.flow, tight.asked - tight.done), (0, 2 * MB));
    }

    #[test]
    fn flows_that_are_guaranteed_nothing_ask_for_nothing() {
        assert!(fit(&[FlowSpec::default(); 3], 1, 0).fits());
        assert!(
            !fit(
                &[flow(u64::MAX, u64::MAX, 1), flow(u64::MAX, u64::MAX, 2)],
                u64::MAX - 1,
                u64::MAX
            )
            .fits()
        );
    }
}
