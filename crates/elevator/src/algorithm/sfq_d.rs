//! sfq-d: start-time fair queueing with several requests in the device.
//!
//! Start tag S = max(v, the flow's previous finish tag), finish tag F = S + bytes / weight. At most
//! D requests are in the device; the smallest S goes next, the earlier arrival on a tie. v is the S
//! of the last dispatch, or the largest F served when idle.
//!
//! Source: Jin, Chase, Kaur, "Interposed Proportional Sharing for a Storage Service Utility",
//! SIGMETRICS 2004 (abstract; rules recalled). `variant` 1 is Min-SFQ(D), where v is the least S
//! queued or in the device; 2 is 4-Tag SFQ(D), ordered by the tags of 1, then 0. `latency_target`
//! adapts D as SFQ(D)2 of IBIS (Xu, Zhao): per period D += K (target - mean latency), within 1 to
//! 128; period and K = D / (2 target) are proposed.
//!
//! Parameters: depth 32 requests (proposed), variant 0, latency_target 0 (off), period 1 s.
//! Departures: only each flow's first request has tags, which is equivalent while backlogged. A
//! requeued request is not charged again.

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags, virtual_time};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::ordered::Ordered;
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;

/// It waits only for completions.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "sfq-d",
    origin: Origin::Literature,
    help: "shares bytes by weight with D requests in the device: SFQ(D), Min-SFQ(D), 4-Tag SFQ(D), SFQ(D)2",
    source: "Jin, Chase, Kaur, SIGMETRICS 2004; Xu, Zhao: IBIS",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LagAtMost { costs: 2, slack_kib: 0 }],
    tunables: &[
        Tunable {
            role: Role::Window,
            ..Tunable::proposed("depth", "requests", 1, 4096, "requests in the device (D)")
        },
        Tunable {
            role: Role::Reading,
            ..Tunable::proposed(
                "variant",
                "switch",
                0,
                2,
                "0: SFQ(D); 1: Min-SFQ(D); 2: 4-Tag SFQ(D)",
            )
        },
        Tunable::proposed(
            "latency_target",
            "µs",
            0,
            10_000_000,
            "mean latency that D is steered to, as SFQ(D)2; 0: D stays",
        ),
        Tunable::proposed("period", "ms", 1, 60_000, "from one adjustment of D to the next"),
    ],
    build,
};

/// Maximum of an adapted D.
const MAX_DEPTH: u64 = 128;
const SFQ: usize = 0;
const MIN: usize = 1;

/// Tags of SFQ(D) and of Min-SFQ(D).
type Pair = [u64; 2];

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Tags of its first request; without one, its last finish tag.
    tags: Pair,
    /// The arrival of its first request.
    head: Option<u64>,
}

#[derive(Debug)]
struct SfqD {
    flows: Vec<Flow>,
    /// Flows with requests, by the variant's tags and the first arrival.
    heads: Ordered<(u64, u64, u64)>,
    /// (Min-)start tags.
    in_device: Tags,
    last_start: u64,
    finished: Pair,
    depth: u64,
    variant: u64,
    target_us: u64,
    period_ms: u64,
    steering: Steering,
}

#[derive(Debug, Clone, Copy, Default)]
struct Steering {
    depth: Option<u64>,
    since: Time,
    latencies_ns: u64,
    completed: u64,
}

impl Steering {
    fn completed(
        &mut self,
        now: Time,
        latency_ns: u64,
        depth: u64,
        target_us: u64,
        period_ms: u64,
    ) {
        self.latencies_ns += latency_ns;
        self.completed += 1;
        if now - self.since < period_ms * 1_000_000 {
            return;
        }
        let (present, first, target) =
            (self.depth.unwrap_or(depth) as i128, depth as i128, i128::from(target_us) * 1000);
        let mean = i128::from(self.latencies_ns / self.completed);
        // To the nearest: twice the change by 4 times the target, rounded.
        let change = (first * (target - mean) + target * (target - mean).signum()) / (2 * target);
        let next = (present + change).clamp(1, i128::from(MAX_DEPTH)) as u64;
        *self = Steering { depth: Some(next), since: now, latencies_ns: 0, completed: 0 };
    }
}

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, SfqD::new())
}

impl SfqD {
    fn new() -> SfqD {
        SfqD {
            flows: Vec::new(),
            heads: Ordered::default(),
            in_device: Tags::default(),
            last_start: 0,
            finished: [0; 2],
            depth: 32,
            variant: 0,
            target_us: 0,
            period_ms: 1000,
            steering: Steering::default(),
        }
    }

    fn key(&self, flow: &Flow, arrival: u64) -> (u64, u64, u64) {
        match self.variant {
            0 => (flow.tags[SFQ], 0, arrival),
            1 => (flow.tags[MIN], 0, arrival),
            _ => (flow.tags[MIN], flow.tags[SFQ], arrival),
        }
    }

    /// Called before a request of an idle flow counts.
    fn virtual_times(&self, idle: bool) -> Pair {
        if idle {
            return self.finished;
        }
        let queued = self.heads.first().map(|((start, ..), _)| start);
        let in_device = self.in_device.first().map(|(start, _)| start);
        [self.last_start, queued.into_iter().chain(in_device).min().unwrap_or(self.finished[MIN])]
    }

    fn enter(&mut self, flow: usize, arrival: u64) {
        self.flows[flow].head = Some(arrival);
        let key = self.key(&self.flows[flow], arrival);
        assert!(self.heads.insert(key, flow as u32), "an arrival is that of one request: {key:?}");
    }

    fn depth(&self) -> u64 {
        if self.target_us == 0 { self.depth } else { self.steering.depth.unwrap_or(self.depth) }
    }
}

impl FlowRule for SfqD {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
        if self.flows[flow].head.is_none() {
            let idle = queues.all_queued() == 1 && queues.all_in_flight() == 0;
            let virtual_times = self.virtual_times(idle);
            let tags = &mut self.flows[flow].tags;
            *tags = [SFQ, MIN].map(|of| tags[of].max(virtual_times[of]));
            self.enter(flow, queues.request(tag).seq);
        }
    }

    fn choose(&mut self, _now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        if u64::from(queues.all_in_flight()) >= self.depth() {
            return None;
        }
        let (_, flow) = self.heads.first()?;
        queues.oldest(flow as usize)
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        let mut state = self.flows[flow];
        let arrival = state.head.take().expect("the flow of what was sent had requests");
        self.heads
            .remove(self.key(&state, arrival))
            .expect("the flow of what was sent is in the order");
        self.last_start = state.tags[SFQ];
        self.in_device.set(tag, state.tags[MIN]);
        let cost = virtual_time(queues.request(tag).nr_sectors.into(), queues.flows().weight(flow));
        state.tags = state.tags.map(|start| start + cost);
        self.finished = [SFQ, MIN].map(|of| self.finished[of].max(state.tags[of]));
        self.flows[flow] = state;
        if let Some(next) = queues.oldest(flow) {
            self.enter(flow, queues.request(next).seq);
        }
    }

    fn completed(&mut self, now: Time, _queues: &FlowQueues, _flow: usize, done: &Finished) {
        self.in_device.remove(done.request.tag);
        if self.target_us > 0 {
            let latency_ns = now - done.issued;
            self.steering.completed(now, latency_ns, self.depth, self.target_us, self.period_ms);
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
            "depth" => self.depth,
            "variant" => self.variant,
            "latency_target" => self.target_us,
            "period" => self.period_ms,
            _ => unreachable!("sfq-d has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "depth" => (self.depth, self.steering) = (value, Steering::default()),
            "variant" => {
                self.variant = value;
                self.heads = Ordered::default();
                for flow in 0..self.flows.len() {
                    if let Some(arrival) = self.flows[flow].head {
                        self.enter(flow, arrival);
                    }
                }
            }
            "latency_target" => (self.target_us, self.steering) = (value, Steering::default()),
            "period" => self.period_ms = value,
            _ => unreachable!("sfq-d has no tunable {tunable}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{FlowSpec, InsertAt, NoDisk};
    use crate::testing::{Keeper, request};

    fn sfq(weights: &[u32], settings: &[(&str, u64)]) -> Keeper {
        let mut elevator = Keeper::new(build(&Build::default()));
        for (process, weight) in weights.iter().enumerate() {
            let spec = FlowSpec { weight: Some(*weight), ..FlowSpec::default() };
            elevator.flow(process as u32, process as u32, &spec);
        }
        settings.iter().for_each(|(name, value)| elevator.set(name, *value));
        elevator
    }

    /// Sizes in units of 8 sectors; tags are list positions.
    fn insert(elevator: &mut Keeper, from: u32, requests: &[(u32, u32)]) {
        for (tag, (process, units)) in (from..).zip(requests) {
            let request = request(tag, 10_000 * u64::from(tag));
            let request = BlockRequest { process: *process, nr_sectors: 8 * units, ..request };
            elevator.insert(Time::ZERO, request, InsertAt::Sorted);
        }
    }

    fn next(elevator: &mut Keeper) -> Option<BlockRequest> {
        elevator.dispatch(Time::ZERO, &NoDisk)
    }

    fn finish(elevator: &mut Keeper, request: BlockRequest, latency_ns: u64) {
        elevator.complete(Time::from_ns(latency_ns), &Finished { request, issued: Time::ZERO });
    }

    /// Processes in service order, at queue depth 1.
    fn order(elevator: &mut Keeper) -> Vec<u32> {
        let serve = |_| {
            next(elevator)
                .inspect(|request| finish(elevator, *request, 0))
                .map(|request| request.tag)
        };
        (0..).map_while(serve).collect()
    }

    #[test]
    fn the_smallest_start_tag_is_next_and_of_equal_ones_the_earlier_arrival() {
        let mut sfq = sfq(&[1, 1], &[("depth", 1)]);
        insert(&mut sfq, 0, &[(0, 1), (0, 1), (0, 1), (1, 3), (1, 3)]);
        assert_eq!(order(&mut sfq), [0, 3, 1, 2, 4]);
    }

    #[test]
    fn a_flow_of_twice_the_weight_is_served_twice_as_often() {
        let mut sfq = sfq(&[2, 1], &[("depth", 1)]);
        insert(
            &mut sfq,
            0,
            &[(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1), (1, 1)],
        );
        assert_eq!(order(&mut sfq), [0, 6, 1, 2, 7, 3, 4, 8, 5]);
    }

    #[test]
    fn no_more_than_d_requests_are_in_the_device() {
        let mut sfq = sfq(&[1], &[("depth", 2)]);
        insert(&mut sfq, 0, &[(0, 1), (0, 1), (0, 1)]);
        let first = next(&mut sfq).unwrap();
        assert!(next(&mut sfq).is_some() && next(&mut sfq).is_none());
        finish(&mut sfq, first, 0);
        assert!(next(&mut sfq).is_some());
    }

    #[test]
    fn with_the_least_outstanding_tag_as_virtual_time_a_newcomer_starts_behind_a_lone_flow_and_monopolises()
     {
        // The lone flow has one of 4 units in the device from 0 on, and more queued.
        let newcomer_runs = [0, 1, 2].map(|variant| {
            let mut sfq = sfq(&[1, 1], &[("depth", 2), ("variant", variant)]);
            insert(&mut sfq, 0, &[(0, 4), (0, 4), (0, 4), (0, 4)]);
            let first = next(&mut sfq).unwrap();
            let second = next(&mut sfq).unwrap();
            insert(&mut sfq, 4, &[(1, 1); 12]);
            finish(&mut sfq, second, 0);
            let mut run = 0;
            while let Some(request) = next(&mut sfq).filter(|request| request.process == 1) {
                finish(&mut sfq, request, 0);
                run += 1;
            }
            finish(&mut sfq, first, 0);
            run
        });
        assert_eq!(
            newcomer_runs,
            [4, 8, 8],
            "to the lone flow's next tag, 8, from 4 by SFQ(D) and from 0 by the others"
        );
    }

    #[test]
    fn of_equal_tags_of_min_the_tags_of_sfq_decide_in_4_tag() {
        let mut rule = SfqD::new();
        rule.variant = 2;
        rule.flows = vec![Flow { tags: [7, 3], head: None }, Flow { tags: [5, 3], head: None }];
        rule.enter(0, 0);
        rule.enter(1, 1);
        assert_eq!(rule.heads.first().map(|(_, flow)| flow), Some(1));
        rule.set("variant", 1);
        assert_eq!(rule.heads.first().map(|(_, flow)| flow), Some(0));
    }

    #[test]
    fn d_follows_the_mean_latency_once_a_period() {
        let mut steering = Steering::default();
        let second = |nr: u64| Time::from_ns(nr * 1_000_000_000);
        let mut at = |now, latency_ns| {
            steering.completed(now, latency_ns, 32, 1000, 1000);
            steering.depth
        };
        assert_eq!(at(Time::from_ns(5), 9), None);
        assert_eq!(at(second(2), 2_999_991), Some(24), "mean 1.5 ms: 32 - 32/2000·500");
        assert_eq!(at(second(3), 500_000), Some(32), "0.5 ms: + 8");
        assert_eq!(at(second(4), 900_000_000), Some(1));
        let raised: Vec<Option<u64>> = (0..9).map(|nr| at(second(5 + nr), 0)).collect();
        assert_eq!((raised[0], raised[8]), (Some(17), Some(128)), "16 a period, 128 at most");
    }
}
