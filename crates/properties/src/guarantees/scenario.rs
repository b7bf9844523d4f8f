//! The input of a flow property: the flows, their guarantees and behaviour. Each property uses its
//! part. Counter-examples shrink to few flows with few requests of 4 KiB, which can be followed by
//! hand.

use std::fmt;

use elevator::FlowSpec;

/// 64 KiB per millisecond, in bytes per microsecond × 1000.
pub(crate) const CAPACITY: u64 = 65_536;
pub const MAX_FLOWS: usize = 6;
/// Per flow.
pub const MAX_WINDOW: u32 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// 1 to 10, in hundreds.
    pub weight: u32,
    /// A multiple of 4.
    pub kib: u32,
    /// Random within its region instead of sequential.
    pub random: bool,
    pub starts_us: u64,
    pub requests: u32,
    /// Requests that it keeps in the scheduler.
    pub window: u32,
    /// In requests.
    pub burst: u32,
    /// It exceeds its arrival curve; for the property of classes: it is not real-time.
    pub greedy: bool,
    /// Excess of its latency bound over the feasible minimum, in percent.
    pub slack_percent: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub flows: Vec<Flow>,
    pub depth: u32,
    /// Percent of the device that arrival curves reserve in total.
    pub load_percent: u32,
    /// For sectors and arrivals.
    pub seed: u64,
}

impl Flow {
    pub fn bytes(&self) -> u64 {
        u64::from(self.kib) << 10
    }

    pub fn shares(&self) -> FlowSpec {
        FlowSpec { weight: Some(100 * self.weight), ..FlowSpec::default() }
    }
}

impl Scenario {
    pub(crate) fn transfer_ns(bytes: u64) -> u64 {
        bytes * 1_000_000 / CAPACITY
    }

    /// The flows' arrival curves and latency bounds: the load divided by weight, and minimal
    /// feasible bounds plus slack.
    ///
    /// In ascending order of bounds d, curves (σ, ρ) are feasible under earliest deadline first if
    /// for each i Σ_{j≤i} (σ_j + ρ_j (d_i - d_j)) + B ≤ C d_i, where B is the largest request,
    /// possibly already in service.
    pub(crate) fn reservations(&self) -> Vec<FlowSpec> {
        let weights: u64 = self.flows.iter().map(|flow| u64::from(flow.weight)).sum();
        let begun = self.flows.iter().map(Flow::bytes).max().unwrap_or(0);
        // Bytes, and bytes per second.
        let capacity = CAPACITY * 1000;
        let (mut bursts, mut rates, mut earlier) = (begun, 0u64, 0u128);
        let mut bound_ns = 0u64;
        let reservation = |flow: &Flow| {
            let rate =
                capacity / 100 * u64::from(self.load_percent) * u64::from(flow.weight) / weights;
            let burst = u64::from(flow.burst) * flow.bytes();
            bursts += burst;
            let needed = (u128::from(bursts) * 1_000_000_000).saturating_sub(earlier);
            let smallest = needed.div_ceil(u128::from(capacity - rates)) as u64;
            bound_ns = bound_ns.max(smallest);
            bound_ns += bound_ns / 100 * u64::from(flow.slack_percent);
            rates += rate;
            earlier += u128::from(rate) * u128::from(bound_ns);
            FlowSpec {
                weight: Some(100 * flow.weight),
                rate: Some(rate),
                burst,
                latency_ns: Some(bound_ns),
            }
        };
        self.flows.iter().map(reservation).collect()
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depth {}, load {} %, seed {}", self.depth, self.load_percent, self.seed)?;
        for (at, flow) in self.flows.iter().enumerate() {
            let place = if flow.random { "random" } else { "sequential" };
            let kind = if flow.greedy { "greedy" } else { "polite" };
            write!(
                f,
                "; flow {at}: weight {}, {} {place} requests of {} KiB from {} µs, window {}, burst {}, {kind}, {} % slack",
                100 * flow.weight,
                flow.requests,
                flow.kib,
                flow.starts_us,
                flow.window,
                flow.burst,
                flow.slack_percent
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(burst: u32) -> Flow {
        Flow {
            weight: 1,
            kib: 64,
            random: false,
            starts_us: 0,
            requests: 1,
            window: 1,
            burst,
            greedy: false,
            slack_percent: 0,
        }
    }

    #[test]
    fn the_smallest_bound_is_that_of_the_bursts_and_a_request_that_was_begun() {
        let scenario =
            Scenario { flows: vec![flow(2), flow(3)], depth: 1, load_percent: 50, seed: 0 };
        let specs = scenario.reservations();
        // Two requests and one in service take 3 ms; then 3 more with a quarter of the device in
        // use: (6 - 0.25 * 3) / 0.75 = 7 ms.
        let bounds: Vec<u64> = specs.iter().map(|spec| spec.latency_ns.expect("a bound")).collect();
        assert_eq!(bounds, [3_000_000, 7_000_000]);
        assert_eq!(specs[0].rate, Some(16_384_000));
    }
}
