//! Queueing theory: with Poisson arrivals and one server, the engine's mean waits match the
//! formulas within 1 %.
//!
//! M/M/1: W = ρ/(1 − ρ) · 1/μ; M/D/1: half of that. For n arrivals the relative standard error of
//! the mean wait of M/M/1 at ρ = 0.5 is √(29/n): 0.27 % at four million. The seed is fixed.

use std::collections::VecDeque;

use elevator::{BlockRequest, Completion, Disk, Geometry, Op, Request, Time};
use sim::device::{Command, DeviceModel, DeviceStats};
use sim::workload::{Client, Step};
use sim::{Member, Outcome, Stream, Trial, Unobserved, run_members, stream};

const SERVICE_NS: u64 = 1_000_000;

struct Arrivals {
    times: Stream,
    mean_ns: u64,
    left: u32,
    think: bool,
}

impl Client for Arrivals {
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        self.think = !self.think;
        if self.think {
            return Step::Think(self.times.exponential(self.mean_ns));
        }
        if self.left == 0 {
            return Step::End;
        }
        self.left -= 1;
        // Never adjacent, so nothing is merged.
        Step::Io(Request::new(Op::Read, u64::from(self.left % 1024) * 65536, 4096))
    }
}

struct Server {
    draw: Option<Stream>,
    inside: VecDeque<(Time, u32)>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Server")
    }
}

impl Disk for Server {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for Server {
    fn queue_depth(&self) -> u32 {
        1
    }

    fn sectors(&self) -> u64 {
        1 << 24
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn submit(&mut self, now: Time, command: Command) {
        let Command::Transfer { tag, .. } = command else { unreachable!("reads only") };
        let ns = self.draw.as_mut().map_or(SERVICE_NS, |draw| draw.exponential(SERVICE_NS));
        self.inside.push_back((now + ns, tag));
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        if self.inside.front().is_some_and(|(at, _)| *at <= now) {
            done.extend(self.inside.pop_front().map(|(_, tag)| tag));
        }
    }

    fn stats(&self) -> DeviceStats {
        DeviceStats::default()
    }
}

fn queue(arrivals: u32, load_percent: u64, exponential: bool) -> Outcome {
    let workload = sim::workload::find("randread").unwrap();
    let trial = Trial {
        elevator: elevator::find("none").unwrap(),
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: Some(64),
        queue_depth: None,
        device: Box::new(Server {
            draw: exponential.then(|| stream(11, "device")),
            inside: VecDeque::new(),
        }),
        workload,
        params: workload.params([]).unwrap(),
        seed: 11,
        warmup_ns: 0,
        duration_ns: u64::MAX / 4,
        turnaround_ns: 0,
        turnaround_spread_ns: 0,
    };
    let mean_ns = SERVICE_NS * 100 / load_percent;
    let program =
        Box::new(Arrivals { times: stream(11, "arrivals"), mean_ns, left: arrivals, think: false });
    run_members(trial, vec![Member::new(program, 0, 1 << 20)], &mut Unobserved, &|| false).unwrap()
}

/// Mean time between arrival and service, in service times.
fn mean_wait(outcome: &Outcome, service: f64) -> f64 {
    let reads = &outcome.measured.reads;
    reads.latency_sum_ns as f64 / reads.count as f64 / service - 1.0
}

fn check(arrivals: u32, load_percent: u64) {
    let load = load_percent as f64 / 100.0;
    let expected = load / (1.0 - load);
    for (exponential, expected) in [(true, expected), (false, expected / 2.0)] {
        let outcome = queue(arrivals, load_percent, exponential);
        assert_eq!(outcome.measured.reads.count, u64::from(arrivals));
        assert!((outcome.busy_share() / load - 1.0).abs() < 0.005, "{} busy", outcome.busy_share());
        let wait = mean_wait(&outcome, SERVICE_NS as f64);
        println!(
            "load {load}, exponential service {exponential}: mean wait {wait:.4}, by the formula {expected:.4}"
        );
        assert!(
            (wait / expected - 1.0).abs() < 0.01,
            "wait {wait}, by the formula {expected}, at load {load}"
        );
    }
}

#[test]
fn waiting_times_are_those_of_the_formulas_at_half_load() {
    check(4_000_000, 50);
}

#[test]
fn waiting_times_are_those_of_the_formulas_at_other_loads() {
    if !testbed::is_soak() {
        return;
    }
    check(10_000_000, 30);
    check(10_000_000, 70);
}
