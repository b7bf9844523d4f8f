//! Golden traces: the decisions of each scheduler in one scripted scenario, without randomness.
//!
//! Four processes on an HP 97560 (1,368 sectors per cylinder, one request at a time): `A` and `B`
//! read 4 KiB blocks sequentially from cylinders 100 and 1700, 0.3 ms after each block; `A` pauses
//! for 20 ms after its third. `R` keeps two distant reads of 8 KiB open. `W` writes back
//! asynchronously: blocks that merge backwards, forwards, one that joins two requests, and a far
//! one.
//!
//! A line: time in µs, event, process, tag, direction, first sector + sectors, cylinder.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::Path;

use elevator::{Completion, ELEVATORS, ElevatorKind, Op, Request};
use sim::device::device;
use sim::workload::{Client, Step};
use sim::{Event, EventKind, Member, Observer, Trial, run_members};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const CYLINDER: u64 = 19 * 72;
const NAMES: [char; 4] = ['A', 'B', 'R', 'W'];

struct Script(VecDeque<Step>);

impl Client for Script {
    fn next(&mut self, _now: elevator::Time, _last: Option<&Completion>) -> Step {
        self.0.pop_front().unwrap_or(Step::End)
    }
}

fn member(iodepth: u32, steps: impl IntoIterator<Item = Step>) -> Member {
    Member::new(Box::new(Script(steps.into_iter().collect())), 0, iodepth)
}

fn io(op: Op, sector: u64, nr_sectors: u32) -> Step {
    Step::Io(Request::new(op, sector * 512, nr_sectors * 512))
}

/// Consecutive 4 KiB blocks with think time, and a long pause after the third.
fn stream(cylinder: u64, blocks: u64, pause_ns: u64) -> Member {
    let block = move |n| {
        let think = if n == 2 && pause_ns > 0 { pause_ns } else { 300 * US };
        [io(Op::Read, cylinder * CYLINDER + 8 * n, 8), Step::Think(think)]
    };
    member(1, (0..blocks).flat_map(block))
}

fn scenario() -> Vec<Member> {
    let far = [900, 300, 1200, 1650];
    let reads = far.map(|cylinder| io(Op::Read, cylinder * CYLINDER + 600, 16));
    let dirty = 1000 * CYLINDER;
    let writes = [
        (dirty, 8),
        (dirty + 8, 8),       // back merge
        (dirty + 24, 8),      // leaves a gap
        (1900 * CYLINDER, 8), // far away
        (dirty + 16, 8),      // fills the gap: three become one if the queue can
        (dirty - 8, 8),       // front merge with the first one
        (50 * CYLINDER, 8),
    ];
    let writes = writes.map(|(sector, nr_sectors)| io(Op::Write, sector, nr_sectors));
    vec![stream(100, 5, 20 * MS), stream(1700, 5, 0), member(2, reads), member(1, writes)]
}

struct Lines(String);

impl Observer for Lines {
    fn event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::Submit | EventKind::Done) {
            return;
        }
        let name = event.process.map_or('-', |process| NAMES[process as usize]);
        let mut line = format!("{:>7} {:<8} {name}", event.at.as_ns() / US, event.kind.name());
        if let (Some(tag), Some(op)) = (event.tag, event.op) {
            let word = if op == Op::Read { "read" } else { "write" };
            let place = format!("{}+{}", event.sector, event.nr_sectors);
            let cylinder = event.sector / CYLINDER;
            write!(line, " #{tag:<3} {word:<5} {place:<11} cylinder {cylinder}")
                .expect("a string takes everything");
        }
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }
}

/// The trace of a scheduler with default tunables at HZ 1000.
fn trace(elevator: &'static ElevatorKind) -> String {
    // Of the workload only buffered I/O matters.
    let workload = sim::workload::find("seqread").expect("there is a workload that takes direct");
    let trial = Trial {
        elevator,
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        // Enough that no client waits for one; current Linux would have two for a drive that takes
        // one at a time.
        nr_requests: Some(32),
        queue_depth: None,
        device: device("hp97560", 1).expect("there is such a drive"),
        workload,
        params: workload.params([("direct", "false")]).expect("it can be buffered"),
        seed: 1,
        warmup_ns: 0,
        duration_ns: 10_000 * MS,
        turnaround_ns: 50 * US,
        turnaround_spread_ns: 0,
    };
    let mut lines = Lines(String::new());
    run_members(trial, scenario(), &mut lines, &|| false).expect("the trial is not interrupted");
    lines.0
}

fn snapshot(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/snapshots")
        .join(format!("it__golden__{name}.snap"))
}

#[test]
fn every_scheduler_does_with_the_scenario_what_was_read_and_accepted() {
    let accepting = std::env::var_os("INSTA_UPDATE").is_some();
    for row in ELEVATORS {
        assert!(
            accepting || snapshot(row.name).exists(),
            "{} has no golden trace. Run INSTA_UPDATE=always cargo test -p sim --test it golden, read \
             crates/sim/tests/it/snapshots/it__golden__{}.snap beside the rules of the scheduler, and commit it",
            row.name,
            row.name
        );
        let info = format!("{} [{}]: {}", row.name, row.evidence.mark(), row.source);
        insta::with_settings!({ description => info, omit_expression => true, prepend_module_to_snapshot => true }, {
            insta::assert_snapshot!(row.name, trace(row));
        });
    }
}

#[test]
fn no_golden_trace_is_left_of_a_scheduler_that_is_gone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    for entry in std::fs::read_dir(folder).expect("there are golden traces") {
        let path = entry.expect("a folder can be read").path();
        let row = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("it__golden__")?.strip_suffix(".snap"));
        let Some(row) = row else { continue };
        assert!(
            elevator::find(row).is_some(),
            "{} belongs to no row of the table: delete it",
            path.display()
        );
    }
}

/// Schedulers whose rules give the same decisions here, and why.
const ALIKE: &[(&[&str], &str)] = &[
    (
        &["scan", "look", "edf", "scan-edf", "dm-scan", "rg-scan", "gsr"],
        "they differ in where the arm turns, not in whom it serves; without a deadline real-time schedulers are look",
    ),
    (
        &["c-scan", "c-look", "mbac"],
        "they differ in where the arm turns, not in whom it serves; nobody asks for a rate: all have what is left over, in \
         one sweep",
    ),
    (&["fscan", "yfq"], "no more wait than one batch has"),
    (&["hybrid", "bfq-2010"], "nobody uses up a budget"),
    (
        &["fcfs", "pclock", "noop"],
        "all flows have the same arrival curve and bound unless they are guaranteed others; the bio that is merged at a \
         request's front touches the one in noop's cache",
    ),
    (
        &["k2", "iocost"],
        "nothing is real-time, and virtual time is never short: both are orders of arrival",
    ),
    (&["sptf", "asptf"], "nothing waits long enough to count as old"),
];

#[test]
fn the_traces_tell_schedulers_apart_and_are_short_enough_to_read() {
    let traces: Vec<(&str, String)> = ELEVATORS.iter().map(|row| (row.name, trace(row))).collect();
    for (name, trace) in &traces {
        let lines = trace.lines().count();
        assert!((40..=80).contains(&lines), "{name}: {lines} lines");
    }
    for (at, (one, trace)) in traces.iter().enumerate() {
        for (other, that) in &traces[at + 1..] {
            let alike = ALIKE.iter().any(|(rows, _)| rows.contains(one) && rows.contains(other));
            assert_eq!(
                trace == that,
                alike,
                "{one} and {other}: the same in the scenario, or alike by their rules?"
            );
        }
    }
}
