//! flashfq: fair queueing for flash, with throttled dispatch, and anticipation without idling.
//!
//! Start tags S and finish tags F = S + cost / weight; cost is linear in size, separately for reads
//! and writes. Virtual time v is the least S of active flows; a request may go only if S <= v + T.
//! A flow is active while it has requests queued or in flight, and for a timeout after its last
//! synchronous completion: others may run ahead by T before the device idles. O(log n) in the
//! number of flows.
//!
//! Source: Shen, Park, "FlashFQ: A Fair Queueing I/O Scheduler for Flash-Based SSDs", USENIX ATC
//! 2013 (abstract; rules recalled). T and the timeout are proposed.
//!
//! Parameters: throttle T 64 KiB of a flow of weight 100; anticipation 2 ms; request costs:
//! read_base and write_base 0 KiB, read_percent and write_percent 100, which charges bytes.
//! Departures: of several eligible flows, the smallest S goes first.

use std::collections::VecDeque;

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags, virtual_time};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::{Op, Time};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "flashfq",
    origin: Origin::Literature,
    help: "fair queueing for flash: no flow runs ahead by more than a throttle, short pauses are bridged",
    source: "Shen, Park, USENIX ATC 2013",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LagAtMost { costs: 2, slack_kib: 128 }],
    tunables: &[
        Tunable::proposed(
            "throttle",
            "KiB",
            0,
            1 << 20,
            "how far a flow of weight 100 runs ahead of the last active one (T)",
        ),
        Tunable::proposed(
            "anticipation",
            "µs",
            0,
            1_000_000,
            "how long a flow counts as active after a synchronous request",
        ),
        Tunable::proposed("read_base", "KiB", 0, 4096, "fixed cost of a read"),
        Tunable::proposed("read_percent", "percent", 1, 10_000, "size-dependent cost of a read"),
        Tunable::proposed("write_base", "KiB", 0, 4096, "fixed cost of a write"),
        Tunable::proposed("write_percent", "percent", 1, 10_000, "size-dependent cost of a write"),
    ],
    build,
};

const SECTORS_PER_KIB: u64 = 2;
/// The throttle's reference weight.
const USUAL_WEIGHT: u64 = 100;

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Start tag of the next request, at least the last finish tag.
    start: u64,
    /// End of its activity without requests.
    until: Option<Time>,
}

/// KiB, and percent of the size.
#[derive(Debug, Clone, Copy)]
struct Cost {
    base_kib: u64,
    percent: u64,
}

#[derive(Debug)]
struct FlashFq {
    flows: Vec<Flow>,
    /// Start tags of active flows; of flows with queued requests.
    active: Tags,
    backlogged: Tags,
    /// Ends of activity, ascending; valid if equal to the flow's `until`.
    expiries: VecDeque<(Time, usize)>,
    virtual_time: u64,
    finished: u64,
    throttle_kib: u64,
    anticipation_us: u64,
    costs: [Cost; 2],
}

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, FlashFq::new())
}

fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

impl FlashFq {
    fn new() -> FlashFq {
        FlashFq {
            flows: Vec::new(),
            active: Tags::default(),
            backlogged: Tags::default(),
            expiries: VecDeque::new(),
            virtual_time: 0,
            finished: 0,
            throttle_kib: 64,
            anticipation_us: 2000,
            costs: [Cost { base_kib: 0, percent: 100 }; 2],
        }
    }

    fn cost(&self, request: &BlockRequest, weight: u64) -> u64 {
        let Cost { base_kib, percent } = self.costs[direction(request.op)];
        let sectors = base_kib * SECTORS_PER_KIB * 100 + u64::from(request.nr_sectors) * percent;
        virtual_time(sectors, 100 * weight)
    }

    /// Virtual time follows the least start tag of active flows, or without any, the service.
    fn follow(&mut self) {
        let least = self.active.first().map_or(self.finished, |(start, _)| start);
        self.virtual_time = self.virtual_time.max(least);
    }

    fn expire(&mut self, now: Time) {
        while let Some((at, flow)) = self.expiries.front().copied() {
            let over = self.flows[flow].until != Some(at);
            if at > now && !over {
                break;
            }
            self.expiries.pop_front();
            if !over {
                self.rest(flow);
            }
        }
    }

    fn rest(&mut self, flow: usize) {
        self.flows[flow].until = None;
        self.active.remove(flow as u32);
        self.follow();
    }
}

impl FlowRule for FlashFq {
    fn arrived(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
        self.expire(now);
        if queues.queued(flow) > 1 {
            return;
        }
        self.flows[flow].until = None;
        if self.active.value(flow as u32).is_none() {
            self.follow();
            self.flows[flow].start = self.flows[flow].start.max(self.virtual_time);
            self.active.set(flow as u32, self.flows[flow].start);
        }
        self.backlogged.set(flow as u32, self.flows[flow].start);
    }

    fn choose(&mut self, now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        self.expire(now);
        let (start, flow) = self.backlogged.first()?;
        let ahead = virtual_time(self.throttle_kib * SECTORS_PER_KIB, USUAL_WEIGHT);
        if start > self.virtual_time + ahead {
            return None;
        }
        queues.oldest(flow as usize)
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        let cost = self.cost(queues.request(tag), queues.flows().weight(flow));
        let start = self.flows[flow].start + cost;
        self.flows[flow].start = start;
        self.finished = self.finished.max(start);
        self.active.set(flow as u32, start);
        self.backlogged.remove(flow as u32);
        if queues.queued(flow) > 0 {
            self.backlogged.set(flow as u32, start);
        }
        self.follow();
    }

    fn completed(&mut self, now: Time, queues: &FlowQueues, flow: usize, done: &Finished) {
        self.expire(now);
        if queues.queued(flow) > 0 || queues.in_flight(flow) > 0 {
            return;
        }
        if done.request.sync && self.anticipation_us > 0 {
            let until = now + self.anticipation_us * 1000;
            self.flows[flow].until = Some(until);
            self.expiries.push_back((until, flow));
        } else {
            self.rest(flow);
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

    fn next_timer(&self) -> Option<Time> {
        self.expiries.front().map(|(at, _)| *at)
    }

    fn on_timer(&mut self, now: Time, _queues: &FlowQueues) {
        self.expire(now);
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "throttle" => self.throttle_kib,
            "anticipation" => self.anticipation_us,
            "read_base" => self.costs[0].base_kib,
            "read_percent" => self.costs[0].percent,
            "write_base" => self.costs[1].base_kib,
            "write_percent" => self.costs[1].percent,
            _ => unreachable!("flashfq has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        let of = match tunable {
            "throttle" => &mut self.throttle_kib,
            "anticipation" => &mut self.anticipation_us,
            "read_base" => &mut self.costs[0].base_kib,
            "read_percent" => &mut self.costs[0].percent,
            "write_base" => &mut self.costs[1].base_kib,
            "write_percent" => &mut self.costs[1].percent,
            _ => unreachable!("flashfq has no tunable {tunable}"),
        };
        *of = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::of;
    use crate::scheduler::{InsertAt, NoDisk};
    use crate::testing::Keeper;

    const MS: u64 = 1_000_000;

    /// Requests of 4 KiB; T is two of them.
    fn throttled(anticipation_us: u64) -> Keeper {
        let mut flashfq = Keeper::new(build(&Build::default()));
        flashfq.set("throttle", 8);
        flashfq.set("anticipation", anticipation_us);
        flashfq
    }

    fn next(flashfq: &mut Keeper, at: u64) -> Option<BlockRequest> {
        flashfq.dispatch(Time::from_ns(at), &NoDisk)
    }

    /// B (process 1) has completed a request and thinks, A (process 0) has ten.
    fn while_b_thinks(flashfq: &mut Keeper) -> usize {
        flashfq.insert(Time::ZERO, of(1, 20, 0), InsertAt::Sorted);
        flashfq.insert(Time::ZERO, of(0, 0, 90_000), InsertAt::Sorted);
        for tag in [20, 0] {
            let request = next(flashfq, 0).expect("both have S = 0");
            assert_eq!(request.tag, tag);
            flashfq.complete(Time::from_ns(10), &Finished { request, issued: Time::ZERO });
        }
        for tag in 1..10 {
            flashfq.insert(Time::from_ns(10), of(0, tag, u64::from(tag) * 1000), InsertAt::Sorted);
        }
        (0..).map_while(|_| next(flashfq, 10)).count()
    }

    #[test]
    fn a_flow_runs_ahead_of_a_thinking_one_by_the_throttle_until_that_sends_or_its_time_is_over() {
        let mut flashfq = throttled(2000);
        assert_eq!(while_b_thinks(&mut flashfq), 3, "S = 1, 2, 3, beside v = 1 and T = 2");
        assert_eq!(flashfq.next_timer(), Some(Time::from_ns(10 + 2 * MS)));
        flashfq.insert(Time::from_ns(MS), of(1, 21, 0), InsertAt::Sorted);
        assert_eq!(next(&mut flashfq, MS).map(|request| request.tag), Some(21), "B is not robbed");
        assert_eq!(next(&mut flashfq, MS).map(|request| request.tag), Some(4), "S = 4, v = 2");
        assert_eq!(next(&mut flashfq, MS), None);
    }

    #[test]
    fn when_the_time_of_the_thinking_flow_is_over_virtual_time_jumps() {
        let mut flashfq = throttled(2000);
        assert_eq!(while_b_thinks(&mut flashfq), 3);
        flashfq.on_timer(Time::from_ns(10 + 2 * MS));
        assert_eq!((0..).map_while(|_| next(&mut flashfq, 3 * MS)).count(), 6);
    }

    #[test]
    fn without_anticipation_nothing_stops_the_other() {
        assert_eq!(while_b_thinks(&mut throttled(0)), 9);
    }

    #[test]
    fn writes_cost_what_their_coefficients_say() {
        let mut rule = FlashFq::new();
        rule.set("write_base", 4);
        rule.set("write_percent", 300);
        let read = of(0, 0, 0);
        let write = BlockRequest { op: Op::Write, ..read };
        assert_eq!(rule.cost(&write, 100), 4 * rule.cost(&read, 100), "4 + 3·4 KiB");
    }
}
