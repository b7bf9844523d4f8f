//! pclock: earliest deadline first under arrival curves: bursts, rates and latencies are reserved
//! separately.
//!
//! A flow has an arrival curve (burst σ, rate ρ) and a latency bound δ. Tokens grow by ρ up to σ. A
//! request with enough tokens has start tag S = now, any other the flow's last start tag plus its
//! bytes / ρ; it is due at F = S + δ. The smallest F is next. When all waiting tags are in the
//! future, they are shifted back, so that spare capacity is not charged later. O(log n) per
//! request.
//!
//! Source: Gulati, Merchant, Varman: "pClock", SIGMETRICS 2007; abstract confirmed, tag rules
//! recalled. Parameters (proposed), for unspecified guarantees: `default_rate` (KiB/s, default
//! 1024), `default_burst` (KiB, 128), `default_latency` (ms, 1000).
//!
//! Departures (proposed): tokens are bytes, not requests; S is never in the past; shifting tags is
//! a jump of the clock, which is equivalent; growth by a merge is paid in tokens and keeps the
//! tags.

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::{BlockRequest, SECTOR_BYTES};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "pclock",
    origin: Origin::Literature,
    help: "earliest deadline first under arrival curves: reserves rate, burst and latency of each flow",
    source: "Gulati, Merchant, Varman: pClock, SIGMETRICS 2007",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::WorkConserving, Guarantee::LatencyInsideCurve],
    tunables: &[
        Tunable::proposed("default_rate", "KiB/s", 1, 1 << 30, "rate of a flow that declares none"),
        Tunable::proposed("default_burst", "KiB", 1, 1 << 30, "burst of a flow that declares none"),
        Tunable::proposed(
            "default_latency",
            "ms",
            1,
            1 << 20,
            "latency bound of a flow that declares none",
        ),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, PClock::default())
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// In 10^-9 bytes; negative beyond the curve. None: the full burst.
    tokens: Option<i128>,
    counted: Time,
    last_start: u64,
}

#[derive(Debug)]
struct PClock {
    default_rate_kib: u64,
    default_burst_kib: u64,
    default_latency_ms: u64,
    flows: Vec<Flow>,
    /// On the clock of tags.
    starts: Tags,
    finishes: Tags,
    /// Of the clock of tags.
    ahead: u64,
}

impl Default for PClock {
    fn default() -> PClock {
        PClock {
            default_rate_kib: 1024,
            default_burst_kib: 128,
            default_latency_ms: 1000,
            flows: Vec::new(),
            starts: Tags::default(),
            finishes: Tags::default(),
            ahead: 0,
        }
    }
}

impl PClock {
    fn curve(&self, queues: &FlowQueues, flow: usize) -> (u64, u64, u64) {
        let spec = queues.flows().spec(flow);
        let burst = if spec.burst == 0 { self.default_burst_kib * 1024 } else { spec.burst };
        let latency = spec.latency_ns.unwrap_or(self.default_latency_ms * MS);
        (spec.rate.unwrap_or(self.default_rate_kib * 1024).max(1), burst, latency)
    }

    fn count(&mut self, now: Time, flow: usize, rate: u64, burst: u64) -> i128 {
        let (state, full) = (&mut self.flows[flow], i128::from(burst) * i128::from(SECOND));
        let grown = i128::from(now - state.counted) * i128::from(rate);
        let tokens = state.tokens.map_or(full, |tokens| (tokens + grown).min(full));
        (state.tokens, state.counted) = (Some(tokens), now);
        tokens
    }
}

impl FlowRule for PClock {
    fn arrived(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        let (flow, bytes) = (queues.flow_of(tag), queues.request(tag).bytes());
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow { counted: now, ..Flow::default() });
        }
        let (rate, burst, latency) = self.curve(queues, flow);
        let (cost, clock) =
            (i128::from(bytes) * i128::from(SECOND), now.as_ns().saturating_add(self.ahead));
        let tokens = self.count(now, flow, rate, burst);
        let state = &mut self.flows[flow];
        let start = if tokens < cost {
            clock.max(state.last_start.saturating_add(bytes * SECOND / rate))
        } else {
            clock
        };
        state.tokens = Some(tokens - cost);
        state.last_start = start;
        self.starts.set(tag, start);
        self.finishes.set(tag, start.saturating_add(latency));
    }

    fn choose(&mut self, now: Time, _queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        let (start, _) = self.starts.first()?;
        let clock = now.as_ns().saturating_add(self.ahead);
        self.ahead += start.saturating_sub(clock);
        self.finishes.first().map(|(_, tag)| tag)
    }

    fn sent(&mut self, _now: Time, _queues: &FlowQueues, tag: u32) {
        self.starts.remove(tag);
        self.finishes.remove(tag);
    }

    fn grown(
        &mut self,
        _now: Time,
        queues: &FlowQueues,
        before: &BlockRequest,
        after: &BlockRequest,
    ) {
        let more = u64::from(after.nr_sectors - before.nr_sectors) * SECTOR_BYTES;
        let state = &mut self.flows[queues.flow_of(after.tag)];
        state.tokens = state.tokens.map(|tokens| tokens - i128::from(more) * i128::from(SECOND));
    }

    fn absorbed(
        &mut self,
        _: Time,
        _: &FlowQueues,
        flow: usize,
        survivor: &BlockRequest,
        gone: &BlockRequest,
    ) {
        self.starts.keep_earlier(survivor.tag, gone.tag);
        self.finishes.keep_earlier(survivor.tag, gone.tag);
        // Already paid; `grown` takes it again.
        let state = &mut self.flows[flow];
        state.tokens =
            state.tokens.map(|tokens| tokens + i128::from(gone.bytes()) * i128::from(SECOND));
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "default_rate" => self.default_rate_kib,
            "default_burst" => self.default_burst_kib,
            _ => self.default_latency_ms,
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        *match tunable {
            "default_rate" => &mut self.default_rate_kib,
            "default_burst" => &mut self.default_burst_kib,
            _ => &mut self.default_latency_ms,
        } = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, of};
    use crate::scheduler::FlowSpec;

    /// In units of a 4 KiB request.
    fn curve(burst: u64, rate: u64, latency_ms: u64) -> FlowSpec {
        FlowSpec {
            weight: None,
            rate: Some(rate * 4096),
            burst: burst * 4096,
            latency_ns: Some(latency_ms * MS),
        }
    }

    fn tags(drive: &mut Drive, nr: usize) -> Vec<u32> {
        (0..nr).filter_map(|_| drive.serve()).map(|request| request.tag).collect()
    }

    #[test]
    fn inside_its_curve_the_flow_with_the_shorter_bound_goes_first() {
        let mut drive = Drive::guaranteeing(&ROW, &[curve(2, 100, 50), curve(2, 100, 20)], &[]);
        [of(0, 0, 0), of(0, 1, 100), of(1, 2, 200), of(1, 3, 300)]
            .into_iter()
            .for_each(|r| drive.insert(r));
        assert_eq!(tags(&mut drive, 4), [2, 3, 0, 1]);
    }

    #[test]
    fn beyond_its_burst_a_flow_waits_at_its_rate_behind_a_longer_bound() {
        // Finishes: 20, 20 (the burst), 30, 40, 50 … of flow 0; 35 of flow 1.
        let mut drive = Drive::guaranteeing(&ROW, &[curve(2, 100, 20), curve(2, 100, 35)], &[]);
        (0..6).for_each(|tag| drive.insert(of(0, tag, u64::from(tag) * 100)));
        drive.insert(of(1, 6, 5000));
        assert_eq!(tags(&mut drive, 7), [0, 1, 2, 6, 3, 4, 5]);
    }

    #[test]
    fn service_that_no_other_flow_needed_is_not_held_against_a_flow() {
        // Alone for twenty requests at ten per second, the last is two seconds ahead. That does not
        // give the other flow two seconds alone.
        let mut drive = Drive::guaranteeing(&ROW, &[curve(1, 10, 50), curve(1, 10, 50)], &[]);
        for tag in 0..20 {
            drive.insert(of(0, tag, u64::from(tag) * 100));
            drive.serve();
        }
        (0..4).for_each(|tag| drive.insert(of(1, tag, u64::from(tag) * 100)));
        (4..8).for_each(|tag| drive.insert(of(0, tag, u64::from(tag) * 100)));
        let order = tags(&mut drive, 8);
        assert!(
            order.iter().position(|tag| *tag == 4) < order.iter().position(|tag| *tag == 3),
            "{order:?}"
        );
    }

    #[test]
    fn a_greedy_flow_does_not_delay_one_inside_its_curve_beyond_its_bound() {
        // 1 ms per request: capacity 1000 per second, of which 200 and 500 are guaranteed. The
        // greedy flow always has 30 waiting.
        let mut drive = Drive::guaranteeing(&ROW, &[curve(4, 200, 12), curve(2, 500, 8)], &[]);
        (0..30).for_each(|tag| drive.insert(of(1, tag, u64::from(tag) * 100)));
        let (mut next, mut worst) = (0, 0);
        for step in 0..2000_u64 {
            // Four at once, every 20 ms.
            if step % 20 == 0 {
                (0..4).for_each(|nr| drive.insert(of(0, 40 + next % 40 + nr, 9000)));
                next += 4;
            }
            let done = drive.serve().expect("the greedy flow always has requests");
            if done.process == 0 {
                worst = worst.max(drive.now - done.allocated);
            } else {
                drive.insert(done);
            }
        }
        assert!(worst <= 12 * MS + MS, "waited {worst} ns");
        assert!(worst > 4 * MS, "the greedy flow had its turns between: {worst} ns");
    }
}
