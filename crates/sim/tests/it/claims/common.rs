//! Trials on modelled drives, shared by the tests of the headline claims.

use std::collections::VecDeque;

use elevator::{Completion, Op, Request, Time};
use sim::device::device;
use sim::workload::{Client, Step};
use sim::{Event, EventKind, Member, Observer, Outcome, Trial, Unobserved, run, run_members};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
/// Sectors per cylinder of the HP 97560.
pub(crate) const CYLINDER: u64 = 19 * 72;

/// HZ 1000, 50 µs turnaround, no warm-up. Only the workload's choices are random.
pub(crate) fn trial(
    elevator: &str,
    drive: &str,
    workload: &str,
    params: &[(&str, &str)],
    duration_ms: u64,
) -> Trial {
    let workload = sim::workload::find(workload).expect("tests name workloads that exist");
    Trial {
        elevator: elevator::find(elevator).expect("tests name schedulers that exist"),
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: None,
        device: device(drive, 1).expect("tests name drives that exist"),
        workload,
        params: workload
            .params(params.iter().copied())
            .expect("tests give parameters that are possible"),
        seed: 1,
        warmup_ns: 0,
        duration_ns: duration_ms * MS,
        turnaround_ns: 50 * US,
        turnaround_spread_ns: 0,
    }
}

pub(crate) fn with(trial: Trial, tunables: &[(&str, u64)]) -> Trial {
    let tunables = tunables.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Trial { tunables, ..trial }
}

pub(crate) fn unseen(trial: Trial) -> Outcome {
    run(trial, &mut Unobserved, &|| false).expect("the trial is not interrupted")
}

pub(crate) fn observed<O: Observer>(trial: Trial, mut observer: O) -> (Outcome, O) {
    let outcome = run(trial, &mut observer, &|| false).expect("the trial is not interrupted");
    (outcome, observer)
}

pub(crate) fn observed_members<O: Observer>(
    trial: Trial,
    members: Vec<Member>,
    mut observer: O,
) -> (Outcome, O) {
    let outcome = run_members(trial, members, &mut observer, &|| false)
        .expect("the trial is not interrupted");
    (outcome, observer)
}

/// Switches of the device between processes.
#[derive(Default)]
pub(crate) struct Switches {
    pub(crate) count: u64,
    pub(crate) order: Vec<u32>,
    /// Nanoseconds between the first requests of consecutive turns, without the last turn.
    pub(crate) lengths_ns: Vec<u64>,
    since: Time,
}

impl Observer for Switches {
    fn event(&mut self, event: &Event) {
        if event.kind != EventKind::Issue {
            return;
        }
        let process = event.process.expect("a request has a process");
        if self.order.last() == Some(&process) {
            return;
        }
        if !self.order.is_empty() {
            self.count += 1;
            self.lengths_ns.push(event.at - self.since);
        }
        self.since = event.at;
        self.order.push(process);
    }
}

#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.push(*event);
    }
}

pub(crate) struct Script(VecDeque<Step>);

impl Script {
    pub(crate) fn member(steps: impl IntoIterator<Item = Step>) -> Member {
        Member::new(Box::new(Script(steps.into_iter().collect())), 0, 1)
    }
}

impl Client for Script {
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        self.0.pop_front().unwrap_or(Step::End)
    }
}

pub(crate) fn io(op: Op, sector: u64, nr_sectors: u32) -> Step {
    Step::Io(Request::new(op, sector * 512, nr_sectors * 512))
}

/// Endless random 4 KiB I/O within some cylinders of the HP 97560.
pub(crate) struct Anywhere {
    draw: sim::Stream,
    op: Op,
    cylinders: std::ops::Range<u64>,
}

impl Anywhere {
    pub(crate) fn member(
        name: &str,
        op: Op,
        cylinders: std::ops::Range<u64>,
        iodepth: u32,
    ) -> Member {
        let draw = sim::stream(1, name);
        Member::new(Box::new(Anywhere { draw, op, cylinders }), 0, iodepth)
    }
}

impl Client for Anywhere {
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        let blocks = (self.cylinders.end - self.cylinders.start) * CYLINDER / 8;
        io(self.op, self.cylinders.start * CYLINDER + 8 * self.draw.below(blocks), 8)
    }
}

/// Reads every other 4 KiB block, endlessly: always ahead of the arm, never merged.
pub(crate) struct Onward(u64);

impl Onward {
    pub(crate) fn member(iodepth: u32) -> Member {
        Member::new(Box::new(Onward(0)), 0, iodepth)
    }
}

impl Client for Onward {
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        self.0 += 16;
        io(Op::Read, self.0 - 16, 8)
    }
}
