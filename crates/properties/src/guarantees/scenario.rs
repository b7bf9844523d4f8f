//! The input of a property of flows: who shares the device, what each flow is guaranteed and how it
//! behaves.
//!
//! One type serves all of these properties, and each uses the part that its guarantee is about.
//! Counter-examples shrink to few flows with few requests of 4 KiB, so that they can be followed by
//! hand.

use std::fmt;

use elevator::FlowSpec;

/// Bytes that the device transfers in a microsecond, times 1000: 64 KiB in a millisecond.
pub(crate) const CAPACITY: u64 = 65_536;
/// Most flows of a scenario.
pub const MAX_FLOWS: usize = 6;
/// Most requests that a flow keeps in the scheduler.
pub const MAX_WINDOW: u32 = 8;

/// A flow, which is one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// 1 to 10, in hundreds.
    pub weight: u32,
    /// Size of its requests in KiB, a multiple of 4.
    pub kib: u32,
    /// Its requests begin anywhere in its region instead of one after the other.
    pub random: bool,
    /// When it begins.
    pub starts_us: u64,
    /// Its requests.
    pub requests: u32,
    /// Requests that it keeps in the scheduler.
    pub window: u32,
    /// Requests of the burst of its arrival curve.
    pub burst: u32,
    /// It does not keep to its arrival curve; for the property of classes: it is not of the
    /// real-time class.
    pub greedy: bool,
    /// Percent by which its latency bound exceeds the smallest that is feasible.
    pub slack_percent: u32,
}

/// Flows in front of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub flows: Vec<Flow>,
    /// Requests that the device takes at a time.
    pub depth: u32,
    /// Percent of the device that the rates of arrival curves reserve together.
    pub load_percent: u32,
    /// Of sectors and arrivals.
    pub seed: u64,
}

impl Flow {
    /// Bytes of its requests.
    pub fn bytes(&self) -> u64 {
        u64::from(self.kib) << 10
    }

    /// Its guarantee of a share.
    pub fn shares(&self) -> FlowSpec {
        FlowSpec { weight: Some(100 * self.weight), ..FlowSpec::default() }
    }
}

impl Scenario {
    /// Nanoseconds that the device needs to transfer so many bytes.
    pub(crate) fn transfer_ns(bytes: u64) -> u64 {
        bytes * 1_000_000 / CAPACITY
    }

    /// The flows' arrival curves and latency bounds: the load divided by weight, and the smallest
    /// feasible bounds plus slack.
    ///
    /// In ascending order of bounds d, the curves (σ, ρ) are feasible for service by earliest
    /// deadline if for each i Σ_{j≤i} (σ_j + ρ_j (d_i - d_j)) + B ≤ C d_i, where B is the largest
    /// request, which may have been begun before.
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
        // 2 of its own and 1 that was begun take 3 ms; then 3 more beside a quarter of the device:
        // (6 - 0.25 * 3) / 0.75 = 7 ms.
        let bounds: Vec<u64> = specs.iter().map(|spec| spec.latency_ns.expect("a bound")).collect();
        assert_eq!(bounds, [3_000_000, 7_000_000]);
        assert_eq!(specs[0].rate, Some(16_384_000));
    }
}
