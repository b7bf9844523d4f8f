//! Simulated requests per second of one core, for each scheduler: what a trial in the simulator costs.
//!
//! 40 closed-loop clients, each waiting for its request before the next one, random and sequential, on an HP 97560 (on the null
//! device where there is no such row). Each case is first sized to a fifth of a second; then all cases run in turn, round after
//! round, so that a machine that warms up hits all alike; the median of the rounds counts. Time is processor time of this thread: on a shared machine the clock on the wall says how busy the others were.
//!
//! `cargo bench -p sim` prints the table, `cargo bench -p sim -- none wpcas` that of some schedulers; `cargo bench -p sim -- --memory` simulates 100 million requests and prints the resident
//! memory before and after instead.

use elevator::ELEVATORS;
use sim::{DEVICES, Outcome, Trial, Unobserved, device, run};

const ROUNDS: usize = 7;
const CASE_SECONDS: f64 = 0.2;
const CLIENTS: &str = "40";
/// Millions of requests a second that the project promises, by scheduler.
const PROMISED: &[(&str, f64)] = &[("none", 3.0), ("mq-deadline", 1.5), ("anticipatory", 1.5), ("wpcas", 1.5)];

struct Case {
    elevator: &'static elevator::ElevatorKind,
    workload: &'static str,
    duration_ns: u64,
    rates: Vec<f64>,
}

fn main() {
    let name = DEVICES.iter().find(|row| row.name == "hp97560").map_or("null", |row| row.name);
    if std::env::args().any(|arg| arg == "--memory") {
        return memory(name);
    }
    let mut cases: Vec<Case> = Vec::new();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_wanted = |row: &&elevator::ElevatorKind| wanted.is_empty() || wanted.iter().any(|name| name == row.name);
    for (elevator, workload) in
        ELEVATORS.iter().filter(is_wanted).flat_map(|row| ["randread", "seqread"].map(|load| (row, load)))
    {
        cases.push(Case { elevator, workload, duration_ns: size(elevator, workload, name), rates: Vec::new() });
    }
    for _ in 0..ROUNDS {
        for case in &mut cases {
            let rate = timed(case.elevator, case.workload, name, case.duration_ns).1;
            case.rates.push(rate);
        }
    }
    println!(
        "simulated requests per second of one core, {CLIENTS} closed-loop clients on {name}, median of {ROUNDS} rounds"
    );
    println!("{:<14} {:<9} {:>10} {:>8} {:>10}", "scheduler", "workload", "million/s", "ns each", "/ promised");
    for case in &mut cases {
        case.rates.sort_by(f64::total_cmp);
        let rate = case.rates[ROUNDS / 2] / 1e6;
        let promised =
            PROMISED.iter().find(|(name, _)| *name == case.elevator.name).map(|(_, promised)| rate / promised);
        let ratio = promised.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        println!("{:<14} {:<9} {rate:>10.2} {:>8.0} {ratio:>10}", case.elevator.name, case.workload, 1e3 / rate);
    }
}

/// The simulated time that takes [`CASE_SECONDS`] of real time.
fn size(elevator: &'static elevator::ElevatorKind, workload: &str, name: &str) -> u64 {
    let mut duration_ns = 10_000_000;
    loop {
        let seconds = timed(elevator, workload, name, duration_ns).0;
        if seconds > CASE_SECONDS / 4.0 {
            return (duration_ns as f64 * CASE_SECONDS / seconds) as u64;
        }
        duration_ns *= 4;
    }
}

/// Seconds of processor time of one trial, and requests per second of it.
fn timed(elevator: &'static elevator::ElevatorKind, workload: &str, name: &str, duration_ns: u64) -> (f64, f64) {
    let start = processor_seconds();
    let outcome = simulate(elevator, workload, name, duration_ns);
    let seconds = (processor_seconds() - start).max(1e-6);
    (seconds, outcome.queue.completed as f64 / seconds)
}

fn simulate(elevator: &'static elevator::ElevatorKind, workload: &str, name: &str, duration_ns: u64) -> Outcome {
    let workload = workload::find(workload).expect("the workload is in the table");
    let params = workload.params([("clients", CLIENTS), ("block_size", "4k")]).expect("40 clients are possible");
    let trial = Trial {
        elevator,
        tunables: Vec::new(),
        hz: 1000,
        nr_requests: None,
        queue_depth: None,
        device: device::device(name, 1).expect("the device is in the table"),
        workload,
        params,
        seed: 1,
        warmup_ns: 0,
        duration_ns,
        turnaround_ns: 100_000,
        turnaround_spread_ns: 0,
    };
    run(trial, &mut Unobserved, &|| false).expect("the trial runs to its end")
}

/// What 100 million requests leave in memory.
fn memory(name: &str) {
    let none = elevator::find("none").expect("none is in the table");
    let before = peak_kib();
    let rate = timed(none, "randread", name, 1_000_000_000);
    let per_second = rate.0 * rate.1;
    let outcome = simulate(none, "randread", name, (1e17 / per_second) as u64);
    println!(
        "{} million requests on {name}: peak resident memory {before} KiB before, {} KiB after (promised: 65536)",
        outcome.queue.completed / 1_000_000,
        peak_kib()
    );
}

/// Processor time of this thread so far.
fn processor_seconds() -> f64 {
    let status =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel keeps scheduling statistics");
    let ns: u64 = status.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first number is the time run");
    ns as f64 / 1e9
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process can read its own status");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("the status has a line for the peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("the peak is a number of KiB")
}
