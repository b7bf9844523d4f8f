//! Runs an elevator with flows in virtual time on a device of known service times.
//!
//! No queue: a merge would charge one flow for another's request, and the guarantees concern the
//! requests that a scheduler gets.

use std::collections::VecDeque;

use elevator::{
    BlockRequest, Build, ElevatorKind, FlowSpec, Op, PrioClass, Priority, SECTOR_BYTES, Time,
};

use crate::drive::{Bare, Head};
use crate::guarantees::scenario::{MAX_FLOWS, MAX_WINDOW, Scenario};
use crate::input::{DISK, Input, Setting, Step, geometry};

/// A longer run counts as endless.
const MAX_EVENTS: u32 = 2_000_000;
/// A longer time without a dispatch, while requests are held, counts as stuck.
const ENDLESS_NS: u64 = 20_000_000_000;

/// When a flow submits its next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// At each dispatch: the scheduler always holds a full window.
    Backlogged,
    /// At each completion.
    Closed,
    /// Within its arrival curve, in bursts and pauses; greedy flows are backlogged.
    Curve,
    /// After random pauses, one at a time; greedy flows are backlogged.
    Sparse,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) demand: Demand,
    pub(crate) depth: u32,
    /// Before a request that does not continue the last one.
    pub(crate) positioning_ns: u64,
    /// Constant service time; None: positioning and transfer.
    pub(crate) service_ns: Option<u64>,
    /// None: until all requests are served.
    pub(crate) until: Option<Time>,
    /// The only flow; None: all.
    pub(crate) only: Option<usize>,
    pub(crate) specs: Vec<FlowSpec>,
    pub(crate) tunable: Option<(&'static str, u64)>,
    /// Flows that are not greedy are real-time.
    pub(crate) classes: bool,
    /// Each request has a process that exits at completion.
    pub(crate) forks: bool,
}

impl World {
    /// Backlogged weighted flows on a device without positioning times.
    pub(crate) fn backlogged(scenario: &Scenario) -> World {
        World {
            demand: Demand::Backlogged,
            depth: scenario.depth,
            positioning_ns: 0,
            service_ns: None,
            until: None,
            only: None,
            specs: scenario.flows.iter().map(super::scenario::Flow::shares).collect(),
            tunable: None,
            classes: false,
            forks: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Inserted,
    Dispatched,
    Completed,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) at: Time,
    pub(crate) what: What,
    pub(crate) flow: usize,
    pub(crate) request: BlockRequest,
}

struct Client {
    next_sector: u64,
    left: u32,
    /// Arrivals at known times.
    arrivals: VecDeque<Time>,
}

struct Drive<'a> {
    scenario: &'a Scenario,
    world: &'a World,
    bare: Bare,
    head: Head,
    clients: Vec<Client>,
    in_flight: Vec<(Time, Time, BlockRequest)>,
    last_end: u64,
    random: u64,
    log: Vec<Event>,
    inserted: u32,
}

fn flow_of(request: &BlockRequest) -> usize {
    request.process as usize % MAX_FLOWS
}

/// The scenario's events in this world.
///
/// # Errors
/// If the elevator gets stuck or dispatches a request it does not hold.
pub(crate) fn run(
    kind: &ElevatorKind,
    scenario: &Scenario,
    world: &World,
) -> Result<Vec<Event>, String> {
    let nr_tags = (MAX_FLOWS as u32) * MAX_WINDOW.max(64) * 4;
    let build =
        Build { nr_tags, queue_depth: world.depth, geometry: geometry(512), ..Build::default() };
    let input = Input {
        steps: Vec::new(),
        service_ns: vec![1],
        queue_depth: world.depth,
        nr_requests: nr_tags,
        max_sectors: 1024,
        merge: false,
        hz: build.hz,
        rotational: build.rotational,
        settings: vec![Setting::Default],
    };
    let mut bare = Bare::new(kind, &build, &input);
    if let Some((name, value)) = world.tunable {
        bare.elevator.set(name, value);
    }
    for (process, spec) in (0..).zip(&world.specs) {
        bare.elevator.flow(process, process, spec);
    }
    let mut drive = Drive {
        scenario,
        world,
        bare,
        head: Head::default(),
        clients: Vec::new(),
        in_flight: Vec::new(),
        last_end: 0,
        random: scenario.seed,
        log: Vec::new(),
        inserted: 0,
    };
    drive.clients = (0..scenario.flows.len()).map(|flow| drive.client(flow)).collect();
    drive.run()?;
    Ok(drive.log)
}

impl Drive<'_> {
    /// Uniform below `bound` (splitmix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % bound.max(1)
    }

    fn region(&self, flow: usize) -> (u64, u64) {
        let length = DISK / MAX_FLOWS as u64 / 1024 * 1024;
        (flow as u64 * length, length)
    }

    fn client(&mut self, flow: usize) -> Client {
        let of = &self.scenario.flows[flow];
        let (first, _) = self.region(flow);
        let start = Time::from_ns(of.starts_us * 1000);
        let absent = self.world.only.is_some_and(|only| only != flow);
        let requests = if absent { 0 } else { of.requests };
        let (left, arrivals) = match self.world.demand {
            Demand::Curve if !of.greedy => (0, self.within_curve(flow, start, requests)),
            Demand::Sparse if !of.greedy => (0, self.sparse(start, requests)),
            _ => {
                let first = requests.min(of.window);
                (requests - first, (0..first).map(|_| start).collect())
            }
        };
        Client { next_sector: first, left, arrivals }
    }

    /// After a pause all tokens at once, then at their rate: as bursty as a token bucket allows.
    fn within_curve(&mut self, flow: usize, start: Time, requests: u32) -> VecDeque<Time> {
        let spec = self.world.specs[flow];
        let rate = u128::from(spec.rate.expect("a flow with an arrival curve has a rate").max(1));
        let (full, cost) =
            (u128::from(spec.burst) * 1_000_000_000, u128::from(self.scenario.flows[flow].bytes()));
        let cost = cost * 1_000_000_000;
        let (mut now, mut tokens) = (start, full);
        let fill_ns = (full / rate) as u64;
        let mut arrivals = VecDeque::new();
        for _ in 0..requests {
            let pause = match self.below(6) {
                0 => self.below(2 * fill_ns),
                1 => fill_ns + 1,
                _ => 0,
            };
            let missing =
                cost.saturating_sub(tokens + u128::from(pause) * rate).div_ceil(rate) as u64;
            now = now + pause + missing;
            tokens = (tokens + u128::from(pause + missing) * rate).min(full).saturating_sub(cost);
            arrivals.push_back(now);
        }
        arrivals
    }

    fn sparse(&mut self, start: Time, requests: u32) -> VecDeque<Time> {
        let mut now = start;
        let mut next = || {
            now = now + self.below(20_000_000);
            now
        };
        (0..requests).map(|_| next()).collect()
    }

    fn insert(&mut self, now: Time, flow: usize) {
        let of = &self.scenario.flows[flow];
        let (first, length) = self.region(flow);
        let nr_sectors = (of.bytes() / SECTOR_BYTES) as u32;
        let mut sector = self.clients[flow].next_sector;
        if of.random {
            sector = first + self.below(length / 8 - 128) * 8;
        } else if sector + u64::from(nr_sectors) > first + length {
            sector = first;
        }
        // No two held requests start at the same sector, which legacy Linux treats specially.
        while self.bare.held().values().any(|held| held.sector == sector) {
            sector += 1;
        }
        self.clients[flow].next_sector = sector + u64::from(nr_sectors);
        let class = if self.world.classes && !of.greedy {
            PrioClass::RealTime
        } else {
            PrioClass::BestEffort
        };
        let mut process = flow as u32;
        self.inserted += 1;
        if self.world.forks {
            process += self.inserted * MAX_FLOWS as u32;
            self.bare.elevator.flow(process, flow as u32, &self.world.specs[flow]);
        }
        let step = Step {
            gap_ns: 0,
            process,
            op: Op::Read,
            sector,
            nr_sectors,
            sync: true,
            meta: false,
            priority: Priority { class, level: 4 },
            exit: false,
        };
        let request = self.bare.insert(now, &step);
        self.log.push(Event { at: now, what: What::Inserted, flow, request });
    }

    fn run(&mut self) -> Result<(), String> {
        let (mut now, mut quiet_since) = (Time::ZERO, Time::ZERO);
        for _ in 0..MAX_EVENTS {
            self.arrive(now);
            if self.dispatch(now)? {
                quiet_since = now;
            }
            let held = self.bare.elevator.len();
            let arrival =
                self.clients.iter().filter_map(|client| client.arrivals.front().copied()).min();
            let done = self.in_flight.iter().map(|(due, ..)| *due).min();
            if held == 0 && arrival.is_none() && done.is_none() {
                return Ok(());
            }
            let timer = self.bare.elevator.next_timer();
            let Some(at) = [arrival, done, timer].into_iter().flatten().min() else {
                return Err(format!(
                    "at {} ns it holds {held} requests and has no timer",
                    now.as_ns()
                ));
            };
            now = now.max(at);
            if self.world.until.is_some_and(|until| now >= until) {
                return Ok(());
            }
            if done == Some(at) {
                self.complete(now);
            } else if timer == Some(at) {
                self.bare.elevator.on_timer(now);
                if held > 0 && self.in_flight.is_empty() && now - quiet_since > ENDLESS_NS {
                    return Err(format!(
                        "it idles from {} ns on and holds {held} requests",
                        quiet_since.as_ns()
                    ));
                }
            }
        }
        Err(format!("the drive has not ended at {} ns after {MAX_EVENTS} events", now.as_ns()))
    }

    fn arrive(&mut self, now: Time) {
        for flow in 0..self.clients.len() {
            while self.clients[flow].arrivals.front().is_some_and(|at| *at <= now) {
                self.clients[flow].arrivals.pop_front();
                self.insert(now, flow);
            }
        }
    }

    /// Returns whether anything was dispatched.
    fn dispatch(&mut self, now: Time) -> Result<bool, String> {
        let mut any = false;
        while self.in_flight.len() < self.world.depth as usize {
            let given =
                self.bare.take(now, &self.head).map_err(|failure| format!("{failure:?}"))?;
            let Some(request) = given else { break };
            any = true;
            self.head.record_move(&request);
            let positioning =
                if request.sector == self.last_end { 0 } else { self.world.positioning_ns };
            self.last_end = request.end();
            // At queue depth n, each takes n times as long.
            let transfer = Scenario::transfer_ns(request.bytes()) * u64::from(self.world.depth);
            let service = self.world.service_ns.unwrap_or(positioning + transfer);
            self.in_flight.push((now + service, now, request));
            let flow = flow_of(&request);
            self.log.push(Event { at: now, what: What::Dispatched, flow, request });
            let backlogged = match self.world.demand {
                Demand::Backlogged => true,
                Demand::Closed => false,
                Demand::Curve | Demand::Sparse => self.scenario.flows[flow].greedy,
            };
            if backlogged {
                self.ask(now, flow);
            }
        }
        Ok(any)
    }

    fn ask(&mut self, now: Time, flow: usize) {
        if self.clients[flow].left > 0 {
            self.clients[flow].left -= 1;
            self.insert(now, flow);
        }
    }

    fn complete(&mut self, now: Time) {
        let due =
            (0..self.in_flight.len()).min_by_key(|at| self.in_flight[*at].0).expect("one is due");
        let (_, issued, request) = self.in_flight.remove(due);
        self.bare.finish(now, request, issued);
        if self.world.forks {
            self.bare.elevator.exited(now, request.process);
        }
        let flow = flow_of(&request);
        self.log.push(Event { at: now, what: What::Completed, flow, request });
        if self.world.demand == Demand::Closed {
            self.ask(now, flow);
        }
    }
}
