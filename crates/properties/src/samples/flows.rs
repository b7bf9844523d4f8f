//! Small correct flow schedulers, which together make every flow guarantee.

use std::collections::VecDeque;

use elevator::{
    BlockRequest, Build, Disk, Elevator, ElevatorKind, Evidence, Finished, FlowSpec, Flows,
    Guarantee, InsertAt, Origin, PrioClass, Role, Time, Tunable,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The smallest start tag.
    Fair,
    /// The earliest deadline by arrival curve and latency bound.
    Bounds,
    /// The same flow for a quantum, then the next.
    Quanta,
    /// By class, with few requests in the device.
    Classes,
}

/// In order of arrival, with tags.
#[derive(Debug, Default)]
struct Line {
    requests: VecDeque<(BlockRequest, u128)>,
    next: u128,
}

/// Inspects every flow.
#[derive(Debug)]
struct Sample {
    rule: Rule,
    flows: Flows,
    lines: Vec<Line>,
    head: Vec<BlockRequest>,
    served: u128,
    /// A flow, and the remainder in nanoseconds.
    turn: (usize, i64),
    in_device: u64,
    depth: u64,
}

/// Quantum of device time at weight 100, long compared with positioning.
const QUANTUM: i64 = 100_000_000;

impl Sample {
    fn build(rule: Rule) -> Box<dyn Elevator> {
        let (flows, lines, head) = (Flows::default(), Vec::new(), Vec::new());
        Box::new(Sample {
            rule,
            flows,
            lines,
            head,
            served: 0,
            turn: (0, 0),
            in_device: 0,
            depth: 4,
        })
    }

    /// And the minimum tag of the flow's next request.
    fn tag(&self, now: Time, flow: usize, request: &BlockRequest) -> (u128, u128) {
        let (bytes, now) = (u128::from(request.bytes()), u128::from(now.as_ns()));
        let (spec, next) = (self.flows.spec(flow), self.lines[flow].next);
        match self.rule {
            Rule::Fair => {
                let start = next.max(self.served);
                (start, start + (bytes << 20) / u128::from(self.flows.weight(flow)))
            }
            Rule::Bounds => {
                let rate = u128::from(spec.rate.unwrap_or(1).max(1));
                let (cost, burst) = (
                    (bytes * 1_000_000_000).div_ceil(rate),
                    u128::from(spec.burst) * 1_000_000_000 / rate,
                );
                // `next`: the bucket is full again. The request conforms if it fits before.
                let full = next.max(now) + cost;
                let start = now.max(full.saturating_sub(burst));
                (start + u128::from(spec.latency_ns.unwrap_or(1_000_000_000)), full)
            }
            Rule::Quanta => (0, 0),
            Rule::Classes => (
                u128::from(request.priority.class != PrioClass::RealTime) << 64
                    | u128::from(request.seq),
                0,
            ),
        }
    }

    fn choose(&mut self) -> Option<usize> {
        if self.rule != Rule::Quanta {
            let heads = self
                .lines
                .iter()
                .enumerate()
                .filter_map(|(flow, line)| Some((line.requests.front()?.1, flow)));
            return heads.min().map(|(_, flow)| flow);
        }
        let (turn, left) = self.turn;
        if left <= 0 || self.lines.get(turn)?.requests.is_empty() {
            let nr = self.lines.len();
            let next = (1..=nr)
                .map(|step| (turn + step) % nr)
                .find(|flow| !self.lines[*flow].requests.is_empty())?;
            self.turn = (next, QUANTUM * self.flows.weight(next) as i64 / 100);
        }
        Some(self.turn.0)
    }

    fn line(&mut self, process: u32) -> (usize, &mut Line) {
        let flow = self.flows.flow_of(process);
        if self.lines.len() <= flow {
            self.lines.resize_with(flow + 1, Line::default);
        }
        (flow, &mut self.lines[flow])
    }
}

impl Elevator for Sample {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        if at == InsertAt::Head {
            // It returns from the device.
            self.in_device = self.in_device.saturating_sub(1);
            return self.head.push(*request);
        }
        let (flow, _) = self.line(request.process);
        let (tag, next) = self.tag(now, flow, request);
        self.lines[flow].next = next;
        self.lines[flow].requests.push_back((*request, tag));
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        if self.rule == Rule::Classes && self.in_device >= self.depth {
            return None;
        }
        let request = match self.head.pop() {
            Some(request) => request,
            None => {
                let flow = self.choose()?;
                let (request, tag) =
                    self.lines[flow].requests.pop_front().expect("the chosen flow has a request");
                self.served = self.served.max(tag);
                request
            }
        };
        self.in_device += 1;
        Some(request.tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        self.turn.1 -= (now - done.issued) as i64;
        self.in_device = self.in_device.saturating_sub(1);
    }

    fn len(&self) -> usize {
        self.head.len() + self.lines.iter().map(|line| line.requests.len()).sum::<usize>()
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let (_, line) = self.line(before.process);
        let held = line.requests.iter_mut().find(|(held, _)| held.tag == before.tag);
        held.expect("a request that grows is held").0 = *after;
    }

    fn coalesced(&mut self, _now: Time, _survivor: &BlockRequest, gone: &BlockRequest) {
        let (_, line) = self.line(gone.process);
        line.requests.retain(|(held, _)| held.tag != gone.tag);
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        self.flows.declare(process, flow, spec);
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.depth
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.depth = value;
    }
}

const DEPTH: Tunable = Tunable {
    name: "depth",
    unit: "requests",
    min: 1,
    max: 64,
    evidence: Evidence::Proposed,
    help: "requests in the device at a time",
    role: Role::Knob,
};

pub const FAIR: ElevatorKind = ElevatorKind {
    name: "sample-fair",
    origin: Origin::Literature,
    help: "start-time fair queueing",
    source: "these tests",
    evidence: Evidence::Proposed,
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::LagAtMost { costs: 2, slack_kib: 0 },
        Guarantee::ShareWithin { percent: 5, over_ms: 1000 },
    ],
    tunables: &[],
    build: |_: &Build| Sample::build(Rule::Fair),
};

pub const BOUNDS: ElevatorKind = ElevatorKind {
    name: "sample-bounds",
    help: "earliest deadline of arrival curves",
    guarantees: &[Guarantee::WorkConserving, Guarantee::LatencyInsideCurve],
    build: |_: &Build| Sample::build(Rule::Bounds),
    ..FAIR
};

pub const QUANTA: ElevatorKind = ElevatorKind {
    name: "sample-quanta",
    help: "quanta of time, in turn",
    guarantees: &[Guarantee::WorkConserving, Guarantee::Insulates { percent: 80 }],
    build: |_: &Build| Sample::build(Rule::Quanta),
    ..FAIR
};

pub const CLASSES: ElevatorKind = ElevatorKind {
    name: "sample-classes",
    help: "the real-time class first",
    guarantees: &[Guarantee::RealTimeBehind { tunable: "depth" }],
    tunables: &[DEPTH],
    build: |_: &Build| Sample::build(Rule::Classes),
    ..FAIR
};
