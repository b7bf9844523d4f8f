//! What occupancy takes for a request: instructions that grow with the logarithm of what it holds, and bytes. Two schedulers that look
//! at all that they hold show that growth is seen.

use std::collections::VecDeque;

use crate::counting::{Case, instructions, run_if_asked};
use elevator::{BlockRequest, Build, Disk, Elevator, ElevatorKind, Finished, InsertAt, Time, find};

const OWN: [&str; 3] = ["cost::asked_for_by_the_other_tests", "--exact", "--include-ignored"];

/// Looks at every request, or at every process that it has served.
#[derive(Debug)]
struct Linear {
    held: VecDeque<BlockRequest>,
    by_process: Option<Vec<u64>>,
}

impl Elevator for Linear {
    fn insert(&mut self, _now: Time, request: BlockRequest, _at: InsertAt) {
        self.held.push_back(request);
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<BlockRequest> {
        let Some(served) = &mut self.by_process else {
            let least = (0..self.held.len()).min_by_key(|at| self.held[*at].seq)?;
            return self.held.swap_remove_back(least);
        };
        let request = self.held.pop_front()?;
        served.resize(served.len().max(request.process as usize + 1), 0);
        served[request.process as usize] = 1 + served.iter().copied().max().unwrap_or(0);
        Some(request)
    }

    fn complete(&mut self, _now: Time, _done: &Finished) {}

    fn len(&self) -> usize {
        self.held.len()
    }

    fn merged(&mut self, _now: Time, _before: &BlockRequest, _after: &BlockRequest) {
        unreachable!("nothing merges here")
    }

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("there is no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("there is no tunable {tunable}")
    }

    fn coalesced(&mut self, _now: Time, _survivor: &BlockRequest, _gone: &BlockRequest) {
        unreachable!("nothing merges here")
    }
}

fn linear(name: &'static str, build: fn(&Build) -> Box<dyn Elevator>) -> ElevatorKind {
    let ElevatorKind { origin, help, source, evidence, .. } = *find("none").expect("it is a row");
    ElevatorKind { name, origin, help, source, evidence, promises: &[], tunables: &[], build }
}

#[test]
#[ignore = "the other tests run it under callgrind"]
fn asked_for_by_the_other_tests() {
    let faulty = [
        linear("all-requests", |_| Box::new(Linear { held: VecDeque::new(), by_process: None })),
        linear("all-flows", |_| Box::new(Linear { held: VecDeque::new(), by_process: Some(Vec::new()) })),
    ];
    let rows = kernel_core::rows();
    let all: Vec<&ElevatorKind> = rows.iter().chain(&faulty).collect();
    assert!(run_if_asked(&all), "what is counted is in a variable");
}

/// Instructions with 16, 256 and 4096 requests of 4 flows.
fn by_held(name: &str, disk: bool) -> [f64; 3] {
    [16, 256, 4096].map(|held| instructions(name, Case { held, flows: 4, depth: 1, disk }, &OWN))
}

/// Instructions with 4096 requests of 4, 64 and 1024 flows.
fn by_flows(name: &str, disk: bool) -> [f64; 3] {
    [4, 64, 1024].map(|flows| instructions(name, Case { held: 4096, flows, depth: 1, disk }, &OWN))
}

/// Each step multiplies the number by 16, so that what grows with its logarithm grows by as much in both.
fn is_logarithmic([few, some, many]: [f64; 3]) -> bool {
    many - some <= 2.0 * (some - few).max(few / 4.0)
}

/// Whether valgrind is installed.
fn can_count() -> bool {
    let there = std::process::Command::new("valgrind").arg("--version").output().is_ok();
    assert!(there || std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "valgrind is missing: scripts/need test");
    if !there {
        eprintln!("SKIPPED: needs valgrind");
    }
    there
}

#[test]
fn instructions_of_a_request_grow_with_the_logarithm_of_requests_and_flows() {
    if !can_count() {
        return;
    }
    for name in ["occupancy", "c-occupancy"] {
        for (what, counts) in [
            ("held, on flash", by_held(name, false)),
            ("held, on a disk", by_held(name, true)),
            ("flows, on flash", by_flows(name, false)),
            ("flows, on a disk", by_flows(name, true)),
        ] {
            println!("{name:<12} {what:<18} {counts:>6.0?}");
            assert!(is_logarithmic(counts), "{name}: instructions by {what}: {counts:?}");
        }
    }
    let faulty = [by_held("all-requests", false), by_flows("all-flows", false)];
    assert!(faulty.iter().all(|counts| !is_logarithmic(*counts)), "linear growth is seen: {faulty:?}");
}

#[test]
fn a_held_request_takes_200_bytes_at_most_in_c() {
    let ops = kernel_core::occupancy();
    let [few, many] = [1000, 2000].map(|tags| ops.state_bytes(tags));
    let (request, process) = ((many - few) as f64 / 1000.0, ops.process_bytes());
    println!("a request {request} bytes, a process {process}, the rest {}", ops.state_bytes(0));
    assert!(request <= 200.0, "{request} bytes");
    assert!(process <= 400, "{process} bytes");
}
