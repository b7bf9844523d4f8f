//! Trials, devices and clients shared by the engine's tests.

use std::collections::VecDeque;
use std::sync::Arc;

use elevator::{BlockRequest, Completion, Disk, Geometry, Op, Request, Time};
use sim::device::{Command, DeviceModel, DeviceStats};
use sim::workload::{Client, Step};
use sim::{Event, Observer, Outcome, Trial, run};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;

pub(crate) struct Server {
    pub(crate) depth: u32,
    pub(crate) sectors: u64,
    pub(crate) service: Box<dyn FnMut() -> u64 + Send>,
    pub(crate) flush_ns: u64,
    inside: VecDeque<(Time, u32)>,
    free_at: Time,
    stats: DeviceStats,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Server")
    }
}

impl Server {
    pub(crate) fn new(depth: u32, service: impl FnMut() -> u64 + Send + 'static) -> Server {
        let (service, flush_ns) = (Box::new(service), 5 * MS);
        let (inside, free_at, stats) = (VecDeque::new(), Time::ZERO, DeviceStats::default());
        Server { depth, sectors: 1 << 24, service, flush_ns, inside, free_at, stats }
    }
}

impl Disk for Server {
    fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for Server {
    fn queue_depth(&self) -> u32 {
        self.depth
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn submit(&mut self, now: Time, command: Command) {
        assert!(self.inside.len() < self.depth as usize, "the engine keeps to the device's depth");
        let (tag, ns) = match command {
            Command::Transfer { tag, nr_sectors, .. } => {
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * elevator::SECTOR_BYTES;
                (tag, (self.service)())
            }
            Command::Flush { tag } => (tag, self.flush_ns),
        };
        self.free_at = self.free_at.max(now) + ns;
        self.inside.push_back((self.free_at, tag));
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while self.inside.front().is_some_and(|(at, _)| *at <= now) {
            done.extend(self.inside.pop_front().map(|(_, tag)| tag));
        }
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}

pub(crate) struct Script(pub(crate) VecDeque<Step>);

impl Script {
    pub(crate) fn boxed(steps: impl IntoIterator<Item = Step>) -> Box<dyn Client + Send> {
        Box::new(Script(steps.into_iter().collect()))
    }
}

impl Client for Script {
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        self.0.pop_front().unwrap_or(Step::End)
    }
}

pub(crate) fn read(sector: u64) -> Step {
    Step::Io(Request::new(Op::Read, sector * 512, 4096))
}

pub(crate) fn write(sector: u64) -> Step {
    Step::Io(Request::new(Op::Write, sector * 512, 4096))
}

/// The trace for the `replay` row: open loop, one process, at most 3 ms between records.
const TRACE: &str = "fio version 3 iolog
0 /dev/x add
3 /dev/x open
10 /dev/x read 0 4096
10 /dev/x write 8192 4096
2010 /dev/x write 819200 8192
5010 /dev/x read 4096 65536
7000 /dev/x close
";

/// A trial under `none` on a device that takes 1 ms for everything: 100 ms, 50 µs turnaround.
pub(crate) fn trial(workload: &str, params: &[(&str, &str)]) -> Trial {
    let workload = sim::workload::find(workload).unwrap();
    let mut ready = (workload.defaults)();
    if workload.needs_trace() {
        let trace = ready.replay.parse(TRACE.as_bytes()).unwrap();
        ready = ready.with_trace(Arc::new(trace));
    } else {
        ready = workload.params(params.iter().copied()).unwrap();
    }
    Trial {
        elevator: elevator::find("none").unwrap(),
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: None,
        device: Box::new(Server::new(1, || MS)),
        workload,
        params: ready,
        seed: 1,
        warmup_ns: 0,
        duration_ns: 100 * MS,
        turnaround_ns: 50 * US,
        turnaround_spread_ns: 0,
    }
}

#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.push(*event);
    }
}

pub(crate) fn observed(trial: Trial) -> (Outcome, Vec<Event>) {
    let mut kept = Recorder::default();
    let outcome = run(trial, &mut kept, &|| false).unwrap();
    (outcome, kept.0)
}
