//! mqfq: multi-queue fair queueing: every flow that is not too far ahead may dispatch, without a
//! global order and its lock.
//!
//! A flow is throttled while the start tag S of its next request is more than T ahead of virtual
//! time, the least S of flows with queued requests; any other may dispatch while fewer than D
//! requests are in the device. T trades fairness for freedom: 0 is exact.
//!
//! Source: Hedayati, Shen, Scott, Marty, "Multi-Queue Fair Queueing", USENIX ATC 2019 (abstract);
//! rules second-hand, from COS-IN/iluvatar-faas gpu_mqfq.rs, the rest recalled. Parameters:
//! throttle T 64 KiB of a flow of weight 100 (proposed), depth D of the device, charge 1. `charge`
//! 0 charges the flow's average, as that source does for unknown costs: a flow that alternates
//! small and large requests gains (derived).
//!
//! Departures: active flows take turns (the paper leaves the order to CPUs). A tree of tags
//! replaces the lock-free parts; a flow's grace period has no effect here and is omitted.

use std::collections::VecDeque;

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags, virtual_time};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;

/// It waits only for completions.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "mqfq",
    origin: Origin::Literature,
    help: "fair queueing for many queues: flows dispatch freely until they are too far ahead",
    source: "Hedayati, Shen, Scott, Marty, USENIX ATC 2019",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LagAtMost { costs: 2, slack_kib: 128 }],
    tunables: &[
        Tunable::proposed(
            "throttle",
            "KiB",
            0,
            1 << 20,
            "how far a flow of weight 100 runs ahead of virtual time (T)",
        ),
        Tunable {
            role: Role::Window,
            ..Tunable::proposed("depth", "requests", 1, 1 << 20, "requests in the device (D)")
        },
        Tunable {
            role: Role::Reading,
            ..Tunable::proposed(
                "charge",
                "switch",
                0,
                1,
                "1: a request is charged its size; 0: the mean of its flow",
            )
        },
    ],
    build,
};

const SECTORS_PER_KIB: u64 = 2;
/// The throttle's reference weight.
const USUAL_WEIGHT: u64 = 100;
/// log2 of the mean's decay.
const MEAN_SHIFT: u32 = 3;

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    start: u64,
    /// 0: none yet.
    mean: u64,
}

#[derive(Debug)]
struct Mqfq {
    flows: Vec<Flow>,
    /// Start tags of flows with queued requests.
    starts: Tags,
    /// Eligible flows; the others wait for virtual time.
    turns: VecDeque<usize>,
    throttled: Tags,
    virtual_time: u64,
    throttle_kib: u64,
    depth: u64,
    charge: u64,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, Mqfq::new(build.queue_depth))
}

impl Mqfq {
    fn new(depth: u32) -> Mqfq {
        Mqfq {
            flows: Vec::new(),
            starts: Tags::default(),
            turns: VecDeque::new(),
            throttled: Tags::default(),
            virtual_time: 0,
            throttle_kib: 64,
            depth: u64::from(depth.max(1)),
            charge: 1,
        }
    }

    fn horizon(&self) -> u64 {
        self.virtual_time + virtual_time(self.throttle_kib * SECTORS_PER_KIB, USUAL_WEIGHT)
    }

    fn place(&mut self, flow: usize) {
        let start = self.flows[flow].start;
        self.starts.set(flow as u32, start);
        self.follow();
        if start > self.horizon() {
            self.throttled.set(flow as u32, start);
        } else {
            self.turns.push_back(flow);
        }
    }

    /// Advances virtual time to the least start tag and activates flows.
    fn follow(&mut self) {
        let Some((least, _)) = self.starts.first() else { return };
        self.virtual_time = self.virtual_time.max(least);
        let horizon = self.horizon();
        while let Some((_, flow)) = self.throttled.first().filter(|(start, _)| *start <= horizon) {
            self.throttled.remove(flow);
            self.turns.push_back(flow as usize);
        }
    }

    fn cost(&mut self, flow: usize, sectors: u64) -> u64 {
        let mean = &mut self.flows[flow].mean;
        let charged = if self.charge == 1 || *mean == 0 { sectors } else { *mean };
        *mean = if *mean == 0 {
            sectors
        } else {
            ((*mean << MEAN_SHIFT) - *mean + sectors).div_ceil(1 << MEAN_SHIFT)
        };
        charged
    }
}

impl FlowRule for Mqfq {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
        if queues.queued(flow) == 1 {
            self.flows[flow].start = self.flows[flow].start.max(self.virtual_time);
            self.place(flow);
        }
    }

    fn choose(&mut self, _now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        if u64::from(queues.all_in_flight()) >= self.depth {
            return None;
        }
        self.follow();
        let flow = self.turns.front()?;
        queues.oldest(*flow)
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        assert_eq!(self.turns.pop_front(), Some(flow), "the flow whose turn it is dispatches");
        let cost = self.cost(flow, queues.request(tag).nr_sectors.into());
        self.flows[flow].start += virtual_time(cost, queues.flows().weight(flow));
        self.starts.remove(flow as u32);
        if queues.queued(flow) > 0 {
            self.place(flow);
        } else {
            self.follow();
        }
    }

    fn absorbed(
        &mut self,
        _: Time,
        _: &FlowQueues,
        _: usize,
        _survivor: &BlockRequest,
        _gone: &BlockRequest,
    ) {
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "throttle" => self.throttle_kib,
            "depth" => self.depth,
            "charge" => self.charge,
            _ => unreachable!("mqfq has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "throttle" => self.throttle_kib = value,
            "depth" => self.depth = value,
            "charge" => self.charge = value,
            _ => unreachable!("mqfq has no tunable {tunable}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::Drive;

    #[test]
    fn flows_take_turns_and_weights_decide_through_the_throttle() {
        let mut drive = Drive::new(&ROW, &[400, 100], &[("throttle", 8)]);
        let shares = drive.shares(2, 8, 8, 1000);
        let lag = shares[0].abs_diff(4 * shares[1]);
        assert!(lag <= 4 * (2 * 16 + 8) + 8, "{shares:?}");
    }

    #[test]
    fn a_flow_is_throttled_when_it_is_more_than_t_ahead_and_goes_on_when_virtual_time_rises() {
        let mut rule = Mqfq::new(8);
        rule.throttle_kib = 8;
        rule.flows = vec![Flow::default(); 2];
        let unit = virtual_time(8, 100);
        (rule.flows[0].start, rule.flows[1].start) = (3 * unit, 0);
        rule.place(1);
        rule.place(0);
        assert_eq!(
            (rule.turns.make_contiguous().to_vec(), rule.throttled.value(0)),
            (vec![1], Some(3 * unit))
        );
        rule.turns.clear();
        rule.starts.remove(1);
        rule.flows[1].start = unit;
        rule.place(1);
        assert_eq!(rule.turns, [0, 1], "virtual time is 1, and 3 is within 1 + 2");
    }

    #[test]
    fn a_flow_of_small_and_large_requests_gains_when_the_mean_is_charged() {
        let gained = [1, 0].map(|charge| {
            let mut rule = Mqfq::new(8);
            rule.charge = charge;
            rule.flows = vec![Flow::default()];
            let sectors = [8, 512, 8, 512, 8, 512];
            sectors.iter().map(|sectors| rule.cost(0, *sectors)).sum::<u64>()
        });
        assert_eq!(gained[0], 3 * 520);
        assert!(gained[1] < gained[0] / 2, "{gained:?}");
    }

    #[test]
    fn no_more_than_d_requests_are_in_the_device() {
        let mut elevator = build(&Build { queue_depth: 2, ..Build::default() });
        for tag in 0..4 {
            let request = crate::algorithm::flow_testing::of(0, tag, 100 * u64::from(tag));
            elevator.insert(Time::ZERO, &request, crate::scheduler::InsertAt::Sorted);
        }
        let sent =
            (0..4).filter_map(|_| elevator.dispatch(Time::ZERO, &crate::scheduler::NoDisk)).count();
        assert_eq!((sent, elevator.len()), (2, 2));
    }
}
