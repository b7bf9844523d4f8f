//! Memory is constant: a trial of ten times as many requests needs no more.
//!
//! A counting allocator per thread serves the whole test program, so engine, queue, scheduler,
//! disk, clients and measures are included. `cargo bench -p sim -- --memory` reports resident
//! memory for 100 million requests.

use elevator::{ELEVATORS, ElevatorKind};
use sim::{Trial, Unobserved, device, run};
use testbed::allocator::{Counting, count_held};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allowed variation from the random choices of a longer trial, such as tree nodes or a doubled
/// table: far less than a byte per additional request.
const SLACK: isize = 4096;

/// Requests of a trial of `seconds` simulated seconds, and its peak memory in bytes.
fn peak(elevator: &'static ElevatorKind, workload: &str, seconds: u64) -> (u64, isize) {
    let workload = sim::workload::find(workload).expect("the workload is in the table");
    let make = || Trial {
        elevator,
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: None,
        device: device::device("hp97560", 1).expect("the device is in the table"),
        workload,
        params: workload
            .params([("clients", "40"), ("block_size", "4k")])
            .expect("40 clients are possible"),
        seed: 1,
        warmup_ns: 0,
        duration_ns: seconds * 1_000_000_000,
        turnaround_ns: 100_000,
        turnaround_spread_ns: 0,
    };
    let (outcome, held) =
        count_held(|| run(make(), &mut Unobserved, &|| false).expect("the trial runs to its end"));
    (outcome.queue.completed, held.peak)
}

#[test]
fn ten_times_as_many_requests_need_no_more_memory() {
    // The simulated disk does a few dozen random requests per second, and several hundred
    // sequential ones.
    let all = ELEVATORS.iter().map(|row| (row, "randread", 200));
    let long = ELEVATORS.iter().filter(|row| row.name == "none").map(|row| (row, "randread", 2000));
    let sequential = ELEVATORS
        .iter()
        .filter(|row| ["wpcas", "cfq"].contains(&row.name))
        .map(|row| (row, "seqread", 200));
    for (row, workload, seconds) in all.chain(long).chain(sequential) {
        let (few, small) = peak(row, workload, seconds);
        let (many, large) = peak(row, workload, 10 * seconds);
        println!("{} {workload}: {small} bytes for {few} requests, {large} for {many}", row.name);
        assert!(
            few >= 2000 && many > 7 * few,
            "{} {workload}: {few} and {many} requests",
            row.name
        );
        assert!(
            large <= small + SLACK,
            "{} {workload}: {small} bytes for {few} requests, {large} for {many}",
            row.name
        );
        assert!(large < 16 << 20, "{} {workload}: {large} bytes", row.name);
    }
}
