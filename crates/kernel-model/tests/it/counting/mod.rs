//! Instructions of a scheduler per request, counted by callgrind, independent of machine load and
//! clock.
//!
//! A bed keeps the number of held requests constant. callgrind collects only inside [`counted`], or
//! for a C core inside its own functions, so neither bed nor wrapper count. One run serves all rows
//! and cases: callgrind writes a file at each [`mark`], which excludes the filling.
#![allow(dead_code, unreachable_pub)]

use std::collections::VecDeque;
use std::process::Command;

use elevator::testing::request;
use elevator::{BlockRequest, Build, Elevator, ElevatorKind, Finished, NoDisk, Op, Time, find};

const DISK: u64 = 1 << 32;
/// After as many uncounted ones.
const REQUESTS: u32 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    pub held: u32,
    pub flows: u32,
    pub depth: u32,
    /// Sequential flows and 8 ms per far seek; otherwise random I/O of 20 µs each.
    pub disk: bool,
}

impl Case {
    fn words(&self) -> String {
        let Case { held, flows, depth, disk } = *self;
        format!("{held} {flows} {depth} {}", u32::from(disk))
    }

    fn read(words: &[&str]) -> Case {
        let [held, flows, depth, disk] = words else { unreachable!("a case has four numbers") };
        let number = |text: &str| text.parse().expect("a case has numbers");
        Case {
            held: number(held),
            flows: number(flows),
            depth: number(depth),
            disk: number(disk) == 1,
        }
    }
}

/// callgrind collects inside these functions, by name.
mod counted {
    use super::*;

    #[inline(never)]
    pub(super) fn insert(elevator: &mut dyn Elevator, now: Time, request: &BlockRequest) {
        elevator.insert(now, request, elevator::InsertAt::Sorted);
    }

    #[inline(never)]
    pub(super) fn dispatch(elevator: &mut dyn Elevator, now: Time) -> Option<u32> {
        elevator.dispatch(now, &NoDisk)
    }

    #[inline(never)]
    pub(super) fn complete(elevator: &mut dyn Elevator, now: Time, done: &Finished) {
        elevator.complete(now, done);
    }

    #[inline(never)]
    pub(super) fn on_timer(elevator: &mut dyn Elevator, now: Time) {
        elevator.on_timer(now);
    }
}

struct Bed {
    elevator: Box<dyn Elevator>,
    case: Case,
    now: Time,
    random: u64,
    seq: u64,
    free: Vec<u32>,
    requests: Vec<Option<BlockRequest>>,
    at: Vec<u64>,
    device: VecDeque<(Time, Time, BlockRequest)>,
    busy_until: Time,
    head: u64,
}

impl Bed {
    fn new(kind: &ElevatorKind, case: Case) -> Bed {
        let nr_tags = case.held + case.depth;
        let queue_depth = case.depth;
        let elevator = (kind.build)(&Build {
            nr_tags,
            queue_depth,
            rotational: case.disk,
            ..Build::default()
        });
        let mut bed = Bed {
            elevator,
            case,
            now: Time::from_ns(1_000_000_000),
            random: 88_172_645_463_325_252,
            seq: 0,
            free: (0..nr_tags).rev().collect(),
            requests: vec![None; nr_tags as usize],
            at: (0..u64::from(case.flows))
                .map(|flow| flow * (DISK / u64::from(case.flows)))
                .collect(),
            device: VecDeque::new(),
            busy_until: Time::ZERO,
            head: 0,
        };
        (0..nr_tags).for_each(|nr| bed.insert(nr % case.flows));
        bed
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn insert(&mut self, process: u32) {
        let random = self.next();
        let at = &mut self.at[process as usize];
        *at = if self.case.disk { (*at + 8) % DISK } else { (random >> 16) % DISK };
        let tag = self.free.pop().expect("as many tags as requests");
        let op = if random % 10 < 7 { Op::Read } else { Op::Write };
        let request =
            BlockRequest { seq: self.seq, process, op, allocated: self.now, ..request(tag, *at) };
        self.seq += 1;
        self.requests[tag as usize] = Some(request);
        counted::insert(self.elevator.as_mut(), self.now, &request);
    }

    /// Fills the device and completes a request; its process submits another.
    fn step(&mut self) {
        let mut waits = 0;
        loop {
            while self.device.len() < self.case.depth as usize
                && let Some(tag) = counted::dispatch(self.elevator.as_mut(), self.now)
            {
                let request = self.requests[tag as usize].expect("it was inserted");
                let far = self.case.disk && request.sector.abs_diff(self.head) > 4096;
                self.busy_until =
                    self.busy_until.max(self.now) + if far { 8_000_000 } else { 20_000 };
                self.head = request.end();
                self.device.push_back((self.busy_until, self.now, request));
            }
            let timer = self.elevator.next_timer();
            if let Some((due, ..)) = self.device.front()
                && timer.is_none_or(|timer| timer >= *due)
            {
                break;
            }
            self.now = self
                .now
                .max(timer.expect("a scheduler that idles with nothing in flight has a timer"));
            counted::on_timer(self.elevator.as_mut(), self.now);
            waits += 1;
            assert!(waits < 10_000, "it idles without end");
        }
        let (due, issued, request) = self.device.pop_front().expect("the device has one");
        self.now = self.now.max(due);
        counted::complete(self.elevator.as_mut(), self.now, &Finished { request, issued });
        self.free.push(request.tag);
        self.insert(request.process);
    }
}

const VARIABLE: &str = "SCHEDLAB_COUNTED";

/// Makes callgrind write its counts.
#[inline(never)]
fn mark(nr: u32) {
    std::hint::black_box(nr);
}

/// Per row and case; counts between the last two matter.
const MARKS: usize = 3;

/// Returns whether [`instructions`] requested any.
pub fn run_if_asked(rows: &[&ElevatorKind]) -> bool {
    let Ok(asked) = std::env::var(VARIABLE) else { return false };
    for one in asked.split(',') {
        let words: Vec<&str> = one.split(' ').collect();
        let (name, case) = (words[0], Case::read(&words[1..]));
        let kind = rows.iter().find(|row| row.name == name).copied().or_else(|| find(name));
        let mut bed = Bed::new(kind.expect("the scheduler is a row"), case);
        mark(0);
        // The first round still depends on how the scheduler was filled.
        for nr in [1, 2] {
            (0..REQUESTS).for_each(|_| bed.step());
            mark(nr);
        }
    }
    true
}

/// Per request of each row. `own`: this program's arguments for [`run_if_asked`].
pub fn instructions(asked: &[(&str, Case)], own: &[&str]) -> Vec<f64> {
    let is_c = |name: &str| name == "c-occupancy";
    let counts = [false, true].map(|of_c| {
        let some: Vec<_> = asked.iter().filter(|(name, _)| is_c(name) == of_c).copied().collect();
        let functions: &[&str] = if of_c { &HOLDS } else { &["*counting::counted::*"] };
        if some.is_empty() { Vec::new() } else { collect(&some, functions, own) }
    });
    let mut counts = counts.map(Vec::into_iter);
    let next = |(name, _): &(&str, Case)| {
        counts[usize::from(is_c(name))].next().expect("a count for each")
    };
    asked.iter().map(next).map(|count| count as f64 / f64::from(REQUESTS)).collect()
}

/// Called by a module with its lock held.
const HOLDS: [&str; 3] = ["occ_insert", "occ_dispatch", "occ_complete"];

/// Per request of the C core, in insertions, dispatches and completions. `own` as above.
pub fn held(case: Case, own: &[&str]) -> [f64; 3] {
    HOLDS.map(|of| collect(&[("c-occupancy", case)], &[of], own)[0] as f64 / f64::from(REQUESTS))
}

fn collect(asked: &[(&str, Case)], functions: &[&str], own: &[&str]) -> Vec<u64> {
    let dir = tempfile::tempdir().expect("there is room for counts");
    let counts = dir.path().join("counts");
    let words: Vec<String> =
        asked.iter().map(|(name, case)| format!("{name} {}", case.words())).collect();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--dump-before=*counting::mark*"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .args(functions.iter().map(|function| format!("--toggle-collect={function}")))
        .arg(std::env::current_exe().expect("a program knows its own file"))
        .args(own)
        .env(VARIABLE, words.join(","))
        .output()
        .expect("valgrind is installed");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let count = |nr: usize| {
        let text = std::fs::read_to_string(counts.with_extension((MARKS * (nr + 1)).to_string()));
        let text = text.expect("callgrind writes a file at each mark: the program has symbols");
        let count = text.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok());
        let count = count.expect("callgrind says what it has collected");
        assert!(count > 0, "none of {functions:?} was called: {}", words[nr]);
        count
    };
    (0..asked.len()).map(count).collect()
}
