//! Runs a script on our scheduler in its queue.
//!
//! Like the oracle, the driver takes requests while the device has room whenever the queue runs: on
//! submission to an empty scheduler, completion, timer, and the scheduler's request. There is no
//! plugging.

use std::fmt::{self, Write};

use elevator::{Bio, Build, Clock, ElevatorKind, Entry, Limits, NoDisk, Op, Priority, Queue, Time};

use super::script::{Event, Kind, PROCESSES, Script};
use crate::drive::catch_panic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// Index of its event.
    pub event: u32,
    pub sector: u64,
    pub nr_sectors: u32,
}

impl fmt::Display for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}+{}", self.event, self.sector, self.nr_sectors)
    }
}

/// In the oracle's format.
pub fn shown(dispatches: &[Dispatch]) -> String {
    let mut text = String::new();
    for dispatch in dispatches {
        write!(text, " {dispatch}").expect("a string takes everything");
    }
    text
}

/// A one-tick error, to test the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    /// Every timer fires a tick late.
    LateTimers,
    /// This tunable is a tick too large.
    Longer(&'static str),
}

/// At this HZ. An error: it panicked.
pub fn drive(kind: &ElevatorKind, hz: u32, script: &Script) -> Result<Vec<Dispatch>, String> {
    drive_with(kind, hz, script, Planted::Nothing)
}

pub fn drive_with(
    kind: &ElevatorKind,
    hz: u32,
    script: &Script,
    planted: Planted,
) -> Result<Vec<Dispatch>, String> {
    catch_panic(|| {
        let mut side = Side::new(kind, hz, script, planted);
        for (at, event) in script.events.iter().enumerate() {
            side.event = at as u32;
            side.happens(kind, event);
        }
        side.dispatched
    })
}

struct Side {
    queue: Queue,
    clock: Clock,
    planted: Planted,
    tick: u64,
    priorities: Vec<Priority>,
    in_device: Vec<u32>,
    event: u32,
    dispatched: Vec<Dispatch>,
}

impl Side {
    fn new(kind: &ElevatorKind, hz: u32, script: &Script, planted: Planted) -> Side {
        let clock = Clock::new(hz);
        let build = Build { hz, ..Build::default() };
        let submissions =
            script.events.iter().filter(|event| matches!(event, Event::Submit { .. })).count();
        let limits = Limits {
            // No submission waits for a request.
            nr_requests: submissions as u32 + 1,
            queue_depth: script.queue_depth,
            max_sectors: script.max_sectors,
            merge: true,
        };
        let mut side = Side {
            queue: Queue::new(kind, &build, limits),
            clock,
            planted,
            tick: 0,
            priorities: vec![Priority::default(); PROCESSES as usize],
            in_device: Vec::new(),
            event: 0,
            dispatched: Vec::new(),
        };
        if let Planted::Longer(tunable) = planted {
            let value = side.queue.elevator().get(tunable);
            side.set(tunable, value);
        }
        side
    }

    fn set(&mut self, tunable: &str, value: u64) {
        let more = if self.planted_on(tunable) { 1000 / self.clock.hz() } else { 0 };
        self.queue.set_tunable(tunable, value + more);
    }

    fn planted_on(&self, tunable: &str) -> bool {
        matches!(self.planted, Planted::Longer(longer) if longer == tunable)
    }

    fn now(&self) -> Time {
        self.clock.tick_start(self.tick)
    }

    fn happens(&mut self, kind: &ElevatorKind, event: &Event) {
        let now = self.now();
        match event {
            Event::Submit { .. } => self.submit(event),
            Event::Ticks(nr) => (0..*nr).for_each(|_| self.tick()),
            Event::Complete(nr) => {
                if let Some(tag) = self.pull(*nr) {
                    self.queue.complete(now, tag, &mut Vec::new());
                    self.queue.admit_waiting(now, &mut ignore);
                    self.run();
                }
            }
            Event::Requeue(nr) => {
                if let Some(tag) = self.pull(*nr) {
                    self.queue.requeue(now, tag);
                }
            }
            Event::Ask => {
                self.queue.run();
                self.run();
            }
            Event::Exit(process) => {
                self.queue.exited(now, *process);
                self.priorities[*process as usize] = Priority::default();
                self.run();
            }
            Event::Priority(process, priority) => self.priorities[*process as usize] = *priority,
            Event::Set(name, value) => {
                if let Some(tunable) = kind.tunables.iter().find(|tunable| tunable.name == name) {
                    self.set(name, (*value).clamp(tunable.min, tunable.max));
                }
            }
        }
    }

    fn submit(&mut self, event: &Event) {
        let Event::Submit { process, kind, meta, sector, nr_sectors } = *event else { return };
        let bio = Bio {
            cookie: 0,
            process,
            op: if kind == Kind::Read { Op::Read } else { Op::Write },
            sector,
            nr_sectors,
            sync: kind != Kind::Write,
            meta,
            priority: self.priorities[process as usize],
            release: None,
            deadline: None,
        };
        self.queue.submit(self.now(), bio, &mut ignore);
        self.run();
    }

    fn tick(&mut self) {
        self.tick += 1;
        let now = self.now();
        let due = if self.planted == Planted::LateTimers {
            self.clock.tick_start(self.tick - 1)
        } else {
            now
        };
        if self.queue.next_timer().is_some_and(|at| at <= due) {
            self.queue.on_timer(now, &mut ignore);
            self.run();
        }
    }

    fn run(&mut self) {
        while let Some(&request) = self.queue.dispatch(self.now(), &NoDisk) {
            let (sector, nr_sectors) = (request.sector, request.nr_sectors);
            self.dispatched.push(Dispatch { event: self.event, sector, nr_sectors });
            self.in_device.push(request.tag);
        }
    }

    fn pull(&mut self, nr: u32) -> Option<u32> {
        let at = (nr as usize).checked_rem(self.in_device.len())?;
        Some(self.in_device.remove(at))
    }
}

fn ignore(_: Entry) {}
