//! Simulated requests per second of one core, per scheduler: 40 closed-loop clients with 4 KiB
//! requests, random and sequential, on an HP 97560. Cases alternate, and the median round counts,
//! in CPU time of this thread.
//!
//! `cargo bench -p sim` prints the table with goals, `-- none wpcas` that of some schedulers;
//! `--device=NAME` and `--clients=N` vary it. `-- --memory [NAME]` prints the peak resident memory
//! of 100 million requests, `-- --instructions [NAME…]` the instructions per request, as the
//! difference of two runs under callgrind. `-- --hashes` prints a hash of all events and figures
//! for each scheduler × three workloads × seven devices: a change that only makes it faster changes
//! no line.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};

use elevator::ELEVATORS;
use sim::{Event, Observer, Outcome, Trial, Unobserved, device, run};

const ROUNDS: usize = 7;
const CASE_SECONDS: f64 = 0.2;
const CLIENTS: &str = "40";
const DEVICE: &str = "hp97560";

fn option(name: &str) -> Option<String> {
    let mark = format!("--{name}=");
    std::env::args().find_map(|arg| arg.strip_prefix(&mark).map(str::to_owned))
}

fn clients() -> String {
    option("clients").unwrap_or_else(|| CLIENTS.to_owned())
}

fn device_name() -> String {
    option("device").unwrap_or_else(|| DEVICE.to_owned())
}
/// Memory limit for 100 million requests, in KiB.
const GOAL_KIB: u64 = 64 << 10;
/// Guaranteed millions of requests per second, by scheduler.
const GOAL: &[(&str, f64)] =
    &[("none", 3.0), ("mq-deadline", 1.5), ("anticipatory", 1.5), ("wpcas", 1.5)];

struct Case {
    elevator: &'static elevator::ElevatorKind,
    workload: &'static str,
    duration_ns: u64,
    rates: Vec<f64>,
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_wanted = |row: &&elevator::ElevatorKind| {
        wanted.is_empty() || wanted.iter().any(|name| name == row.name)
    };
    if std::env::args().any(|arg| arg == "--memory") {
        return memory(wanted.first().map_or("none", String::as_str));
    }
    if let Some([name, workload, ns]) = args_after("--once") {
        return once(&name, &workload, ns.parse().expect("the third argument is nanoseconds"));
    }
    if std::env::args().any(|arg| arg == "--hashes") {
        return hashes(ELEVATORS.iter().filter(is_wanted));
    }
    if std::env::args().any(|arg| arg == "--instructions") {
        ELEVATORS.iter().filter(is_wanted).for_each(instructions);
        return;
    }
    let load = load();
    let mut cases: Vec<Case> = Vec::new();
    for (elevator, workload) in ELEVATORS
        .iter()
        .filter(is_wanted)
        .flat_map(|row| ["randread", "seqread"].map(|load| (row, load)))
    {
        cases.push(Case {
            elevator,
            workload,
            duration_ns: size(elevator, workload),
            rates: Vec::new(),
        });
    }
    for _ in 0..ROUNDS {
        for case in &mut cases {
            let rate = timed(case.elevator, case.workload, case.duration_ns).1;
            case.rates.push(rate);
        }
    }
    println!(
        "simulated requests per second of one core, {} closed-loop clients, 4 KiB, {}, median of {ROUNDS} rounds",
        clients(),
        device_name()
    );
    println!("load average (1 min) at the beginning {load}, at the end {}", self::load());
    println!(
        "{:<14} {:<9} {:>9} {:>8} {:>6} {:>9}  verdict",
        "scheduler", "workload", "million/s", "ns each", "best", "goal"
    );
    cases.iter_mut().for_each(report);
}

fn report(case: &mut Case) {
    case.rates.sort_by(f64::total_cmp);
    let (rate, best) = (case.rates[ROUNDS / 2] / 1e6, case.rates[ROUNDS - 1] / 1e6);
    let goal = GOAL.iter().find(|(name, _)| *name == case.elevator.name).map(|(_, goal)| *goal);
    let shown = goal.map_or("-".to_owned(), |goal| format!("{goal:.1}"));
    let verdict = goal.map_or("", |goal| if rate >= goal { "met" } else { "MISSED" });
    let ns = 1e3 / rate;
    println!(
        "{:<14} {:<9} {rate:>9.2} {ns:>8.0} {best:>6.2} {shown:>9}  {verdict}",
        case.elevator.name, case.workload
    );
}

/// The simulated time that takes [`CASE_SECONDS`] of real time.
fn size(elevator: &'static elevator::ElevatorKind, workload: &str) -> u64 {
    let mut duration_ns = 10_000_000;
    loop {
        let seconds = timed(elevator, workload, duration_ns).0;
        if seconds > CASE_SECONDS / 4.0 {
            return (duration_ns as f64 * CASE_SECONDS / seconds) as u64;
        }
        duration_ns *= 4;
    }
}

/// CPU seconds of one trial, and requests per CPU second.
fn timed(
    elevator: &'static elevator::ElevatorKind,
    workload: &str,
    duration_ns: u64,
) -> (f64, f64) {
    let start = cpu_seconds();
    let outcome = simulate(elevator, workload, duration_ns);
    let seconds = (cpu_seconds() - start).max(1e-6);
    (seconds, outcome.queue.completed as f64 / seconds)
}

fn simulate(
    elevator: &'static elevator::ElevatorKind,
    workload: &str,
    duration_ns: u64,
) -> Outcome {
    let workload = sim::workload::find(workload).expect("the workload is in the table");
    let params = workload
        .params([("clients", &*clients()), ("block_size", "4k")])
        .expect("so many clients are possible");
    let trial = Trial {
        elevator,
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: option("clients")
            .map(|clients| clients.parse().expect("the clients are a number")),
        queue_depth: None,
        device: device::device(&device_name(), 1).expect("the device is in the table"),
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

/// Devices with the simulated time of about 5,000 requests.
const HASHED_DEVICES: [(&str, u64); 7] = [
    ("hp97560", 100_000_000_000),
    ("cheetah9lp", 50_000_000_000),
    ("st2000dm006", 50_000_000_000),
    ("sata-ssd", 400_000_000),
    ("970pro-like", 200_000_000),
    ("nvme", 200_000_000),
    ("null", 50_000_000),
];

/// Merges and idling; reads and writes that wait for tags; releases and deadlines.
const HASHED_WORKLOADS: [(&str, &[(&str, &str)]); 3] = [
    ("think-mix", &[("clients", "8"), ("think_time", "100us")]),
    ("mixed", &[]),
    ("rt-tasks", &[]),
];

#[derive(Default)]
struct Hashed(DefaultHasher);

impl Observer for Hashed {
    fn event(&mut self, event: &Event) {
        self.write_fmt(format_args!("{event:?}")).expect("a hash takes everything");
    }
}

impl std::fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn hashes(elevators: impl Iterator<Item = &'static elevator::ElevatorKind>) {
    let make = |name| device::device(name, 1).expect("the device is in the table");
    // Flash takes longer to precondition than to run.
    let devices = HASHED_DEVICES.map(|(name, ns)| (name, ns, make(name)));
    let cases = elevators.flat_map(|row| devices.iter().map(move |device| (row, device)));
    for (elevator, (name, duration_ns, device)) in cases {
        for (workload, params) in HASHED_WORKLOADS {
            let workload = sim::workload::find(workload).expect("the workload is in the table");
            let trial = Trial {
                elevator,
                tunables: Vec::new(),
                hz: 1000,
                host: sim::Host::default(),
                nr_requests: None,
                queue_depth: None,
                device: device.copy(1).unwrap_or_else(|| make(name)),
                workload,
                params: workload
                    .params(params.iter().copied())
                    .expect("the parameters are its own"),
                seed: 1,
                warmup_ns: 0,
                duration_ns: *duration_ns,
                turnaround_ns: 100_000,
                turnaround_spread_ns: 50_000,
            };
            let mut hashed = Hashed::default();
            let outcome = run(trial, &mut hashed, &|| false).expect("the trial runs to its end");
            write!(hashed, "{outcome:?}").expect("a hash takes everything");
            let (row, completed) = (elevator.name, outcome.queue.completed);
            println!("{row} {} {name} {completed} {:016x}", workload.name, hashed.0.finish());
        }
    }
}

fn args_after(flag: &str) -> Option<[String; 3]> {
    let rest: Vec<String> =
        std::env::args().skip_while(|arg| arg != flag).skip(1).take(3).collect();
    rest.try_into().ok()
}

fn once(name: &str, workload: &str, duration_ns: u64) {
    let row = elevator::find(name).expect("the scheduler is in the table");
    println!("{}", simulate(row, workload, duration_ns).queue.completed);
}

/// Prints the instructions per request, random and sequential.
fn instructions(row: &'static elevator::ElevatorKind) {
    let [random, sequential] = ["randread", "seqread"].map(|workload| {
        // About 5,000 and 10,000 requests.
        let per_request = ns_per_request(row, workload);
        let [(short, few), (long, many)] =
            [1, 2].map(|times| counted(row.name, workload, times * 5000 * per_request));
        (long - short) as f64 / (many - few) as f64
    });
    println!("{:<14} random {random:>6.0} sequential {sequential:>6.0}", row.name);
}

/// Simulated.
fn ns_per_request(row: &'static elevator::ElevatorKind, workload: &str) -> u64 {
    let mut duration_ns = 10_000_000;
    loop {
        let completed = simulate(row, workload, duration_ns).queue.completed;
        if completed >= 2000 {
            return duration_ns / completed;
        }
        duration_ns *= 2;
    }
}

fn counted(name: &str, workload: &str, duration_ns: u64) -> (u64, u64) {
    let program = std::env::current_exe().expect("the bench knows its own file");
    let output = std::process::Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--once", name, workload, &duration_ns.to_string()])
        .args(std::env::args().filter(|arg| arg.contains('=')))
        .output()
        .expect("valgrind is installed");
    let of = |text: &[u8], mark: &str| -> Option<u64> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().find_map(|line| line.split_once(mark)?.1.trim().parse().ok())
    };
    let instructions =
        of(&output.stderr, "Collected :").expect("callgrind says what it has counted");
    (instructions, of(&output.stdout, "").expect("the trial says its requests"))
}

fn memory(name: &str) {
    let row = elevator::find(name).expect("the scheduler is in the table");
    let before = peak_kib();
    let outcome = simulate(row, "randread", 1_000_000_000_000);
    let per_request = 1_000_000_000_000 / outcome.queue.completed;
    // One percent more, because the rate of a longer trial differs slightly.
    let outcome = simulate(row, "randread", per_request * 101_000_000);
    let after = peak_kib();
    println!(
        "{} million requests, {name} on {}: most resident memory {before} KiB before, {after} KiB after; goal {GOAL_KIB} KiB: {}",
        outcome.queue.completed / 1_000_000,
        device_name(),
        if after <= GOAL_KIB { "met" } else { "MISSED" }
    );
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").expect("the kernel keeps a load average");
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn cpu_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat")
        .expect("the kernel keeps scheduling statistics");
    let ns: u64 = status
        .split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .expect("the first number is the time run");
    ns as f64 / 1e9
}

fn peak_kib() -> u64 {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("a process can read its own status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("the status has a line for the peak");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("the peak is a number of KiB")
}
