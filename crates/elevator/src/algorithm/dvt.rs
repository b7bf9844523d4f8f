//! dvt: differential virtual time: proportional shares without abrupt changes of service time, to
//! which a virtual machine would adapt.
//!
//! A flow's virtual time grows by sectors / weight; the smallest is next. Every `interval`, a
//! flow's mean service latency is compared with its reference: the guaranteed latency, or the
//! previous mean. While it exceeds the reference by more than `bound`, the flow's sectors count
//! less (× 3/4 per step, at least half), so that it is served sooner; afterwards the count recovers
//! stepwise. O(log n) per request.
//!
//! Source: Kesavan, Gavrilovska, Schwan: "Differential virtual time (DVT): rethinking I/O service
//! differentiation for virtual machines", SoCC 2010; abstract confirmed, rule recalled. Parameters
//! (defaults proposed): `interval` (ms, default 100), `bound` (percent, 25), `cap` (switch, 1).
//!
//! Departures (proposed): the steps; service latency is device time; a returning flow starts at the
//! virtual time of the last one served.

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags, virtual_time};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;

const MS: u64 = 1_000_000;
const FULL: u64 = 256;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "dvt",
    origin: Origin::Literature,
    help: "shares by weight in virtual time, with a bound on changes of the service latency",
    source: "Kesavan, Gavrilovska, Schwan: Differential virtual time, SoCC 2010",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::WorkConserving, Guarantee::LagAtMost { costs: 2, slack_kib: 0 }],
    tunables: &[
        Tunable::proposed(
            "interval",
            "ms",
            1,
            60_000,
            "time over which the latency of a flow is averaged",
        ),
        Tunable::proposed(
            "bound",
            "percent",
            1,
            10_000,
            "by how much a flow's latency may exceed its reference",
        ),
        Tunable::proposed(
            "cap",
            "switch",
            0,
            1,
            "1: a flow beyond the bound is served sooner; 0: shares alone",
        ),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, Dvt::default())
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    time: u64,
    /// In 256ths.
    scale: u64,
    interval_end: Time,
    latencies: (u64, u64),
    before_ns: Option<u64>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow { time: 0, scale: FULL, interval_end: Time::ZERO, latencies: (0, 0), before_ns: None }
    }
}

#[derive(Debug)]
struct Dvt {
    interval_ms: u64,
    bound: u64,
    cap: bool,
    flows: Vec<Flow>,
    /// Virtual times of flows with queued requests.
    times: Tags,
    /// Virtual time of the last flow served, before its service.
    now: u64,
}

impl Default for Dvt {
    fn default() -> Dvt {
        Dvt {
            interval_ms: 100,
            bound: 25,
            cap: true,
            flows: Vec::new(),
            times: Tags::default(),
            now: 0,
        }
    }
}

impl FlowRule for Dvt {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
        if queues.queued(flow) == 1 {
            let time = &mut self.flows[flow].time;
            *time = (*time).max(self.now);
            self.times.set(flow as u32, *time);
        }
    }

    fn choose(&mut self, _now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        let (_, flow) = self.times.first()?;
        queues.oldest(flow as usize)
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        let state = &mut self.flows[flow];
        self.now = state.time;
        let sectors = u64::from(queues.request(tag).nr_sectors);
        let counted = virtual_time(sectors, queues.flows().weight(flow)) * state.scale / FULL;
        state.time += counted.max(1);
        if queues.queued(flow) > 0 {
            self.times.set(flow as u32, state.time);
        } else {
            self.times.remove(flow as u32);
        }
    }

    fn completed(&mut self, now: Time, queues: &FlowQueues, flow: usize, done: &Finished) {
        let (Some(state), true) = (self.flows.get_mut(flow), self.cap) else { return };
        state.latencies = (state.latencies.0 + (now - done.issued), state.latencies.1 + 1);
        if now < state.interval_end {
            return;
        }
        let mean = state.latencies.0 / state.latencies.1;
        let reference = queues.flows().spec(flow).latency_ns.or(state.before_ns);
        let late = reference.is_some_and(|reference| {
            u128::from(mean) * 100 > u128::from(reference) * u128::from(100 + self.bound)
        });
        state.scale = if late {
            (state.scale * 3 / 4).max(FULL / 2)
        } else {
            (state.scale * 4).div_ceil(3).min(FULL)
        };
        state.before_ns = Some(mean);
        state.latencies = (0, 0);
        state.interval_end = now + self.interval_ms * MS;
    }

    fn absorbed(&mut self, _: Time, _: &FlowQueues, _: usize, _: &BlockRequest, _: &BlockRequest) {}

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "interval" => self.interval_ms,
            "bound" => self.bound,
            _ => u64::from(self.cap),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "interval" => self.interval_ms = value,
            "bound" => self.bound = value,
            _ => self.cap = value == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, of};

    #[test]
    fn the_smallest_virtual_time_is_next() {
        let mut drive = Drive::new(&ROW, &[100, 200], &[]);
        (0..6).for_each(|tag| drive.insert(of(0, tag, u64::from(tag) * 1000)));
        (6..12).for_each(|tag| drive.insert(of(1, tag, u64::from(tag) * 1000)));
        assert_eq!(drive.processes(9), [0, 1, 1, 0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn shares_are_those_of_the_weights() {
        let served = Drive::new(&ROW, &[100, 400], &[]).shares(2, 8, 64, 5000);
        assert!(served[1].abs_diff(4 * served[0]) <= 5 * 64, "{served:?}");
    }

    #[test]
    fn a_flow_whose_requests_become_slow_is_served_sooner_for_a_while() {
        let queues = FlowQueues::of_weights(&[100]);
        let mut dvt = Dvt { interval_ms: 10, flows: vec![Flow::default()], ..Dvt::default() };
        let scales =
            [(10, 1), (20, 1), (30, 3), (40, 9), (50, 9), (60, 9), (70, 9)].map(|(at, latency)| {
                let done =
                    Finished { request: of(0, 0, 0), issued: Time::from_ns((at - latency) * MS) };
                dvt.completed(Time::from_ns(at * MS), &queues, 0, &done);
                dvt.flows[0].scale
            });
        assert_eq!(scales, [256, 256, 192, 144, 192, 256, 256]);
    }
}
