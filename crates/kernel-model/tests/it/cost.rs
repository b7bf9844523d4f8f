//! The cost of occupancy per request: instructions logarithmic in the number held, and bytes. Two
//! linear schedulers show that the test detects growth.

use std::collections::VecDeque;

use crate::counting::{Case, held, instructions, run_if_asked};
use elevator::{BlockRequest, Build, Disk, Elevator, ElevatorKind, Finished, InsertAt, Time, find};

const OWN: [&str; 3] = ["cost::asked_for_by_the_other_tests", "--exact", "--include-ignored"];

/// Inspects every request, or every process it has served.
#[derive(Debug)]
struct Linear {
    held: VecDeque<BlockRequest>,
    by_process: Option<Vec<u64>>,
}

impl Elevator for Linear {
    fn insert(&mut self, _now: Time, request: &BlockRequest, _at: InsertAt) {
        self.held.push_back(*request);
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        let Some(served) = &mut self.by_process else {
            let least = (0..self.held.len()).min_by_key(|at| self.held[*at].seq)?;
            return self.held.swap_remove_back(least).map(|request| request.tag);
        };
        let request = self.held.pop_front()?;
        served.resize(served.len().max(request.process as usize + 1), 0);
        served[request.process as usize] = 1 + served.iter().copied().max().unwrap_or(0);
        Some(request.tag)
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
    ElevatorKind { name, origin, help, source, evidence, guarantees: &[], tunables: &[], build }
}

#[test]
#[ignore = "the other tests run it under callgrind"]
fn asked_for_by_the_other_tests() {
    let faulty = [
        linear("all-requests", |_| Box::new(Linear { held: VecDeque::new(), by_process: None })),
        linear("all-flows", |_| {
            Box::new(Linear { held: VecDeque::new(), by_process: Some(Vec::new()) })
        }),
    ];
    let rows = kernel_model::rows();
    let all: Vec<&ElevatorKind> = rows.iter().chain(&faulty).collect();
    assert!(run_if_asked(&all), "what is counted is in a variable");
}

const ROWS: [&str; 4] = ["occupancy", "c-occupancy", "all-requests", "all-flows"];

/// 16, 256 and 4096 requests of 4 flows.
fn by_held(disk: bool) -> [Case; 3] {
    [16, 256, 4096].map(|held| Case { held, flows: 4, depth: 1, disk })
}

/// 4096 requests of 4, 64 and 1024 flows.
fn by_flows(disk: bool) -> [Case; 3] {
    [4, 64, 1024].map(|flows| Case { held: 4096, flows, depth: 1, disk })
}

fn series(name: &str) -> Vec<(&'static str, [Case; 3])> {
    match name {
        "all-requests" => vec![("held, on flash", by_held(false))],
        "all-flows" => vec![("flows, on flash", by_flows(false))],
        _ => vec![
            ("held, on flash", by_held(false)),
            ("held, on a disk", by_held(true)),
            ("flows, on flash", by_flows(false)),
            ("flows, on a disk", by_flows(true)),
        ],
    }
}

/// The number grows 16-fold per step, so logarithmic growth is equal in both.
fn is_logarithmic([few, some, many]: [f64; 3]) -> bool {
    many - some <= 2.0 * (some - few).max(few / 4.0)
}

#[test]
fn instructions_of_a_request_grow_with_the_logarithm_of_requests_and_flows() {
    if !testbed::require(&["valgrind"]) {
        return;
    }
    let of_row =
        |name| series(name).into_iter().flat_map(|(_, cases)| cases).map(move |case| (name, case));
    let mut asked: Vec<(&str, Case)> = Vec::new();
    for one in ROWS.into_iter().flat_map(of_row) {
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    let counts = instructions(&asked, &OWN);
    for name in ROWS {
        for (what, cases) in series(name) {
            let of = |case| {
                counts
                    [asked.iter().position(|one| *one == (name, case)).expect("all are asked for")]
            };
            let counts = cases.map(of);
            println!("{name:<12} {what:<18} {counts:>6.0?}");
            let looks_at_all = name.starts_with("all");
            assert_eq!(
                is_logarithmic(counts),
                !looks_at_all,
                "{name}: instructions by {what}: {counts:?}"
            );
        }
    }
}

#[test]
fn a_module_holds_its_lock_for_1400_instructions_in_the_mean() {
    if !testbed::require(&["valgrind"]) {
        return;
    }
    for (what, disk) in [("flash", false), ("a disk", true)] {
        let case = Case { held: 4096, flows: 64, depth: 1, disk };
        let parts = held(case, &OWN);
        println!("{what}: insert, dispatch, complete {parts:>6.0?}");
        let whole = instructions(&[("c-occupancy", case)], &OWN)[0];
        assert!((parts.iter().sum::<f64>() / whole - 1.0).abs() < 0.01, "{parts:?} of {whole}");
        assert!(parts.iter().all(|part| (100.0..=1400.0).contains(part)), "{what}: {parts:?}");
    }
}

#[test]
fn a_held_request_takes_200_bytes_at_most_in_c() {
    let ops = kernel_model::occupancy();
    let [few, many] = [1000, 2000].map(|tags| ops.state_bytes(tags));
    let (request, process) = ((many - few) as f64 / 1000.0, ops.process_bytes());
    println!("a request {request} bytes, a process {process}, the rest {}", ops.state_bytes(0));
    assert!(request <= 200.0, "{request} bytes");
    assert!(process <= 400, "{process} bytes");
}
