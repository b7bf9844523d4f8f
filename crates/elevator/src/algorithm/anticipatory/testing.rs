//! Shared test support: a device with constant service time, a geometry, and scripted clients.

use std::collections::BTreeMap;

use crate::geometry::{Geometry, SeekCurve};
use crate::kind::{Build, ElevatorKind};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{InsertAt, NoDisk};
use crate::testing::{Keeper, request};
use crate::vocabulary::{Op, Time};

pub(crate) fn hp97560() -> Geometry {
    let seek = SeekCurve {
        first: vec![],
        knee: 383,
        a_ns: 3_240_000,
        b_ns: 400_000,
        c_ns: 8_000_000,
        e_ps: 8_000_000,
    };
    Geometry { cylinders: 1962, sectors_per_cylinder: 19 * 72, seek, ..Geometry::default() }
}

pub(crate) fn us(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

pub(crate) fn ms(ms: u64) -> Time {
    us(ms * 1000)
}

/// An elevator and its requests; tags are reused, lowest first.
pub(crate) struct Bench {
    pub(crate) elevator: Keeper,
    tags: Vec<bool>,
    seq: u64,
}

impl Bench {
    pub(crate) fn new(row: &ElevatorKind, build: &Build) -> Bench {
        Bench { elevator: Keeper::new((row.build)(build)), tags: Vec::new(), seq: 0 }
    }

    pub(crate) fn hp(row: &ElevatorKind) -> Bench {
        Bench::new(row, &Build { geometry: hp97560(), ..Build::default() })
    }

    pub(crate) fn set(&mut self, tunable: &str, value: u64) {
        self.elevator.set(tunable, value);
    }

    pub(crate) fn insert(
        &mut self,
        now: Time,
        process: u32,
        sector: u64,
        op: Op,
        sync: bool,
    ) -> BlockRequest {
        let tag = self.tags.iter().position(|used| !used).unwrap_or_else(|| {
            self.tags.push(false);
            self.tags.len() - 1
        });
        self.tags[tag] = true;
        self.seq += 1;
        let made = BlockRequest { seq: self.seq, process, op, sync, ..request(tag as u32, sector) };
        self.elevator.insert(now, made, InsertAt::Sorted);
        made
    }

    pub(crate) fn read(&mut self, now: Time, process: u32, sector: u64) -> BlockRequest {
        self.insert(now, process, sector, Op::Read, true)
    }

    pub(crate) fn write(&mut self, now: Time, process: u32, sector: u64) -> BlockRequest {
        self.insert(now, process, sector, Op::Write, false)
    }

    /// A fruitless call can be repeated.
    pub(crate) fn dispatch(&mut self, now: Time) -> Option<BlockRequest> {
        let got = self.elevator.dispatch(now, &NoDisk);
        if got.is_none() {
            let before = format!("{:?}", self.elevator);
            assert_eq!(self.elevator.dispatch(now, &NoDisk), None);
            assert_eq!(format!("{:?}", self.elevator), before, "asking again changes nothing");
        }
        got
    }

    pub(crate) fn complete(&mut self, now: Time, request: BlockRequest) {
        self.tags[request.tag as usize] = false;
        self.elevator.complete(now, &Finished { request, issued: request.allocated });
    }

    /// Dispatches and completes the next request, which must be `process`'s.
    pub(crate) fn serve(&mut self, now: Time, process: u32) {
        let got =
            self.dispatch(now).unwrap_or_else(|| panic!("process {process} is served at {now:?}"));
        assert_eq!(got.process, process);
        self.complete(now, got);
    }

    /// Reads 8 sectors `count` times, each completed at once, thinking for `think_us` in between.
    /// Returns the last completion.
    pub(crate) fn stream(
        &mut self,
        from: Time,
        process: u32,
        sector: u64,
        count: u64,
        think_us: u64,
    ) -> Time {
        let mut now = from;
        for at in 0..count {
            now = from + at * think_us * 1000;
            self.read(now, process, sector + 8 * at);
            self.serve(now, process);
        }
        now
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) by_process: BTreeMap<u32, u64>,
    /// End time in nanoseconds.
    pub(crate) end_ns: u64,
}

/// A client with one request outstanding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) start: u64,
    /// Distance between starts of successive requests.
    pub(crate) step: u64,
    pub(crate) think_us: u64,
    pub(crate) op: Op,
    pub(crate) sync: bool,
}

impl Client {
    pub(crate) fn reader(start: u64, think_us: u64) -> Client {
        Client { start, step: 8, think_us, op: Op::Read, sync: true }
    }
}

/// The device takes `service_ns(from, to)` from the last end to the next start.
pub(crate) fn closed_loop(
    bench: &mut Bench,
    clients: &[Client],
    depth: usize,
    requests: u64,
    service_ns: impl Fn(u64, u64) -> u64,
) -> Served {
    let mut served = Served::default();
    let mut next: Vec<(Time, u64)> =
        clients.iter().map(|client| (Time::ZERO, client.start)).collect();
    let mut asleep: Vec<bool> = vec![true; clients.len()];
    let mut device: std::collections::VecDeque<BlockRequest> = Default::default();
    let (mut now, mut head, mut busy_until) = (Time::ZERO, 0, None);
    let mut done = 0;
    while done < requests {
        for (at, client) in clients.iter().enumerate() {
            if asleep[at] && next[at].0 <= now {
                asleep[at] = false;
                bench.insert(now, at as u32, next[at].1, client.op, client.sync);
            }
        }
        while device.len() < depth {
            let Some(request) = bench.elevator.dispatch(now, &NoDisk) else { break };
            device.push_back(request);
        }
        if busy_until.is_none() {
            busy_until = device.front().map(|first| now + service_ns(head, first.sector));
        }
        let wake =
            next.iter().zip(&asleep).filter(|(_, asleep)| **asleep).map(|(next, _)| next.0).min();
        let timer = bench.elevator.next_timer();
        now = [wake, timer, busy_until]
            .into_iter()
            .flatten()
            .min()
            .expect("something will happen")
            .max(now);
        if busy_until.is_some_and(|at| at <= now) {
            let request = device.pop_front().expect("the device is busy with it");
            (head, busy_until) = (request.end(), None);
            bench.complete(now, request);
            done += 1;
            let at = request.process as usize;
            *served.by_process.entry(request.process).or_default() += 1;
            next[at] = (now + clients[at].think_us * 1000, next[at].1 + clients[at].step);
            asleep[at] = true;
        } else if timer.is_some_and(|at| at <= now) {
            bench.elevator.on_timer(now);
        }
    }
    served.end_ns = now.as_ns();
    served
}
