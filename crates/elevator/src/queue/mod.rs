//! The block layer around an [`Elevator`], without I/O: tags, depth, merging, splitting, counters.
//! Its caller submits bios, dispatches requests and reports completions.
//!
//! A bio merges into an adjacent request (`merge.rs`), gets a tag (`tags.rs`), or waits: under
//! blk-mq in wait queues (`wait_queues.rs`), otherwise in order of arrival within its kind's limits
//! (proposed). The driver dispatches after every event; with [`crate::Legacy`] hooks as in 2.6.20:
//! on submission to an empty scheduler, on completion, and when the scheduler runs the queue.
//! Departures: no plugging; no dispatch without room in the device. Misuse panics, as it would
//! falsify results.

mod bios;
mod bitmap;
mod enter;
mod index;
mod joining;
mod merge;
mod tags;
#[cfg(test)]
mod tests;
mod types;
mod wait_queues;

use std::collections::{BTreeMap, VecDeque};

use crate::kind::{Build, ElevatorKind, Origin};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator, Features, InsertAt};
use crate::topology::Topology;
use crate::vocabulary::{LINUX_VERSION, Time};
use bios::{Bios, List};
use index::Index;
use tags::{CLASSES, Tags};
use types::Waiter;
pub use types::{Bio, Counters, Entry, Limits};
use wait_queues::{Rules, WaitQueues};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Free,
    Held,
    /// Held again after dispatch; nothing merges.
    Requeued,
    InFlight,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    state: State,
    of: Finished,
    parts: List,
    /// Its bit in blk-mq's bitmap.
    bit: Option<u32>,
    /// REQ_NOMERGE: it refused a bio for its size.
    is_full: bool,
}

/// Rules by the elevator's tunables, read when needed after they may have changed.
#[derive(Debug)]
struct Version {
    is_tunable: bool,
    tags: u32,
    known: Option<Rules>,
}

impl Version {
    fn new(kind: &ElevatorKind, tags: u32) -> Version {
        Version { is_tunable: kind.tunable("linux").is_some(), tags, known: None }
    }

    fn get(&mut self, elevator: &dyn Elevator) -> Rules {
        *self.known.get_or_insert_with(|| {
            let linux = if self.is_tunable { elevator.get("linux") } else { LINUX_VERSION };
            Rules::new(linux, self.tags, |bits| elevator.min_shallow_depth(bits))
        })
    }
}

#[derive(Debug)]
pub struct Queue {
    elevator: Box<dyn Elevator>,
    limits: Limits,
    counters: Counters,
    /// Per hardware queue. A request's tag is its index × hardware queues + the hardware queue.
    tags: Vec<Tags>,
    topology: Topology,
    slots: Vec<Slot>,
    bios: Bios,
    /// Held requests by start, and by end.
    starts: Index,
    ends: Index,
    last_merge: Option<u32>,
    waiting: [VecDeque<u32>; CLASSES],
    /// By part: what the lines have the numbers of.
    waiters: Vec<Waiter>,
    /// Parts that wait for their release, by release and submission.
    unreleased: BTreeMap<(Time, u64), u32>,
    lines: Vec<WaitQueues>,
    nr_waiting: usize,
    /// By the elevator.
    held: usize,
    in_flight: u32,
    /// Set with [`crate::Legacy`] hooks; `runs`: the queue runs.
    runs_on_demand: bool,
    runs: bool,
    features: Features,
    linux: Version,
    word: u32,
    now: Time,
}

impl Queue {
    /// Overrides `build.nr_tags` and `build.queue_depth` by `limits`.
    pub fn new(kind: &ElevatorKind, build: &Build, limits: Limits) -> Queue {
        assert!(
            limits.queue_depth >= 1 && limits.max_sectors >= 1,
            "a queue lets something through: {limits:?}"
        );
        let is_legacy = kind.origin == Origin::LegacyLinux;
        let topology =
            if is_legacy { Topology::new(build.topology.cpus(), 1) } else { build.topology };
        let hw_queues = topology.hw_queues();
        let one = Tags::new(limits.nr_requests, if is_legacy { 2 } else { 1 });
        let (announced, end) = (one.announced() * hw_queues, one.end() * hw_queues);
        let build = Build {
            nr_tags: announced,
            queue_depth: limits.queue_depth,
            topology,
            ..build.clone()
        };
        let elevator = (kind.build)(&build);
        let features = elevator.features();
        Queue {
            lines: match kind.origin {
                Origin::BlkMq => {
                    (0..hw_queues).map(|_| WaitQueues::new(limits.nr_requests)).collect()
                }
                _ => Vec::new(),
            },
            runs_on_demand: elevator.legacy().is_some(),
            runs: false,
            features,
            linux: Version::new(kind, limits.nr_requests),
            word: bitmap::word(limits.nr_requests),
            elevator,
            limits,
            counters: Counters::default(),
            slots: vec![Slot::default(); end as usize],
            bios: Bios::new(),
            starts: Index::new(end),
            ends: Index::new(end),
            last_merge: None,
            waiting: Default::default(),
            waiters: Vec::new(),
            unreleased: BTreeMap::new(),
            nr_waiting: 0,
            held: 0,
            in_flight: 0,
            now: Time::ZERO,
            tags: vec![one; hw_queues as usize],
            topology,
        }
    }

    /// `seen` is called for each part in order, then for waiters that get a tag freed by a merge.
    #[inline]
    pub fn submit(&mut self, now: Time, bio: Bio, seen: &mut (impl FnMut(Entry) + ?Sized)) {
        self.tick(now);
        if bio.nr_sectors <= self.limits.max_sectors {
            let entered = self.submit_whole(now, &bio);
            seen(self.entry(entered));
        } else {
            self.submit_parts(now, &bio, &mut |entry| seen(entry));
        }
        if self.may_admit() {
            self.admit(now, &mut |entry| seen(entry));
        }
        self.check();
    }

    /// The next request; None: the device is full, or the elevator returned none.
    #[inline]
    pub fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<&BlockRequest> {
        self.tick(now);
        if self.runs_on_demand && !self.runs {
            return None;
        }
        let Some(tag) = self.next_tag(now, disk) else {
            self.runs = false;
            return None;
        };
        let slot = &mut self.slots[tag as usize];
        let state = slot.state;
        assert!(
            matches!(state, State::Held | State::Requeued),
            "request {tag} is dispatched while it is {state:?}"
        );
        (slot.state, slot.of.issued) = (State::InFlight, now);
        if state == State::Held {
            self.forget(tag);
        }
        self.in_flight += 1;
        self.held -= 1;
        self.counters.dispatched += 1;
        self.check();
        Some(&self.slot(tag).of.request)
    }

    /// A fruitless dispatch may itself run the queue.
    fn next_tag(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        if self.in_flight == self.limits.queue_depth * self.topology.hw_queues() {
            self.take_run();
            return None;
        }
        // has_work of blk-mq.
        if !self.runs_on_demand && self.held == 0 {
            return None;
        }
        let tag = self.elevator.dispatch(now, disk);
        match tag.is_none() && self.take_run() {
            true => self.elevator.dispatch(now, disk),
            false => tag,
        }
    }

    /// Appends the cookies of finished bios in order of submission. Call [`Queue::dispatch`] next,
    /// then [`Queue::admit_waiting`].
    #[inline]
    pub fn complete(&mut self, now: Time, tag: u32, done: &mut Vec<u64>) -> &Finished {
        self.tick(now);
        let slot = in_flight(&mut self.slots, tag);
        slot.state = State::Free;
        self.in_flight -= 1;
        self.counters.completed += 1;
        self.elevator.complete(now, &slot.of);
        let (before, parts) = (done.len(), slot.parts);
        self.run();
        self.bios.finish(parts, done);
        self.counters.done += (done.len() - before) as u64;
        self.free(tag);
        self.check();
        &self.slot(tag).of
    }

    /// Call it after the dispatch that a completion causes: the kernel's work queue runs before a
    /// process woken at the same time.
    #[inline]
    pub fn admit_waiting(&mut self, now: Time, seen: &mut (impl FnMut(Entry) + ?Sized)) {
        if self.may_admit() {
            self.tick(now);
            self.admit(now, &mut |entry| seen(entry));
            self.check();
        }
    }

    pub fn requeue(&mut self, now: Time, tag: u32) {
        self.tick(now);
        let slot = in_flight(&mut self.slots, tag);
        slot.state = State::Requeued;
        self.in_flight -= 1;
        self.held += 1;
        self.counters.requeued += 1;
        self.elevator.insert(now, &slot.of.request, InsertAt::Head);
        self.check();
    }

    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let timer = self.elevator.next_timer();
        if self.unreleased.is_empty() {
            return timer;
        }
        let release = self.unreleased.first_key_value().map(|((release, _), _)| *release);
        release.into_iter().chain(timer).min()
    }

    /// Handles the elevator's timer or a release (`seen`). Dispatch afterwards.
    pub fn on_timer(&mut self, now: Time, seen: &mut dyn FnMut(Entry)) {
        self.tick(now);
        while let Some(first) = self.unreleased.first_entry().filter(|first| first.key().0 <= now) {
            let part = first.remove();
            self.nr_waiting -= 1;
            let request = self.waiters[part as usize].request;
            let entered = self.place(now, &request, part);
            seen(self.entry(entered));
        }
        if self.elevator.next_timer().is_some_and(|at| at <= now) {
            self.elevator.on_timer(now);
            self.runs |= self.take_run();
        }
    }

    pub fn exited(&mut self, now: Time, process: u32) {
        self.tick(now);
        self.elevator.exited(now, process);
        self.runs |= self.take_run();
    }

    /// blk_run_queue: after a completion, and when the device accepts a requeued request again.
    pub fn run(&mut self) {
        if self.runs_on_demand {
            self.runs |= self.held > 0 || self.take_run();
        }
    }

    pub fn set_tunable(&mut self, tunable: &str, value: u64) {
        self.linux.known = None;
        self.elevator.set(tunable, value);
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub fn held(&self) -> usize {
        self.held
    }

    /// Bios that wait for a tag or their release.
    pub fn waiting(&self) -> usize {
        self.nr_waiting
    }

    pub fn at_device(&self, tag: u32) -> BlockRequest {
        let slot = self.slot(tag);
        assert!(slot.state == State::InFlight, "the device has a request with this tag");
        slot.of.request
    }

    pub fn topology(&self) -> Topology {
        self.topology
    }

    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.nr_waiting == 0 && self.held == 0
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn elevator(&self) -> &dyn Elevator {
        self.elevator.as_ref()
    }

    /// Runs the queue. A tunable that frees tags takes effect at the next submission or completion.
    pub fn elevator_mut(&mut self) -> &mut dyn Elevator {
        self.runs = true;
        self.linux.known = None;
        self.elevator.as_mut()
    }

    fn take_run(&self) -> bool {
        self.runs_on_demand && self.elevator.legacy().is_some_and(|legacy| legacy.take_run())
    }

    #[inline]
    fn free(&mut self, tag: u32) {
        let Slot { of: Finished { request, .. }, bit, .. } = *self.slot(tag);
        let (queue, hw_queues) = (self.hw_queue(&request), self.topology.hw_queues());
        // Most devices have one hardware queue; avoids the division.
        let own = if hw_queues == 1 { tag } else { tag / hw_queues };
        self.tags[queue].free(own, request.op, request.sync);
        if let (Some(lines), Some(bit)) = (self.lines.get_mut(queue), bit) {
            lines.free(bit, || self.linux.get(self.elevator.as_ref()));
        }
    }

    fn slot(&self, tag: u32) -> &Slot {
        &self.slots[tag as usize]
    }

    #[inline]
    fn tick(&mut self, now: Time) {
        assert!(now >= self.now, "time runs forward: {now:?} after {:?}", self.now);
        self.now = now;
    }

    fn check(&self) {
        let Counters { inserted, requeued, dispatched, coalesced, completed, .. } = self.counters;
        debug_assert_eq!(
            inserted + requeued,
            dispatched + coalesced + self.held as u64,
            "what was inserted was dispatched, coalesced or is held: {:?}",
            self.counters
        );
        debug_assert_eq!(self.held, self.elevator.len(), "the elevator counts what it holds");
        debug_assert_eq!(
            dispatched,
            completed + requeued + u64::from(self.in_flight),
            "what was dispatched was completed, given back or is in flight: {:?}",
            self.counters
        );
    }
}

fn in_flight(slots: &mut [Slot], tag: u32) -> &mut Slot {
    let slot = slots.get_mut(tag as usize).filter(|slot| slot.state == State::InFlight);
    slot.expect("the device has a request with this tag")
}
