//! The block layer around an elevator, without I/O: tags, depth, merging, splitting and counters.
//!
//! This is the only caller of an [`Elevator`]. Its own caller (the simulator's event loop, a
//! property, a benchmark) submits bios, dispatches requests to the device, and reports
//! their completion.
//!
//! A bio is merged into a contiguous request (`merge.rs`), becomes a request if there is a tag
//! (`tags.rs`), or waits for one: under blk-mq in one of eight wait queues (`lines.rs`), elsewhere
//! first come, first served within its kind (by direction and synchrony), and among kinds by
//! arrival as far as their limits allow. A bio that had to wait is not merged when it gets its
//! tag, as in 2.6.20 (__make_request in block/ll_rw_blk.c; confirmed). Order of arrival among
//! waiters is proposed: the kernel wakes them one by one as requests are freed, and a new arrival
//! can overtake them (recalled).
//!
//! When the driver asks: after every event, as blk-mq does. A scheduler of Linux 2.6 (one with
//! [`crate::Legacy`] hooks) is asked as __make_request and the drivers of 2.6.20 do it: on a
//! submission if it was empty, on a completion, and when the scheduler itself runs the queue.
//! [`Queue::dispatch`] returns nothing otherwise, so its caller need not know.
//!
//! Departures: plugging (2.6.20 holds back the first requests until there are four) is not
//! implemented: a client that waits for I/O unplugs at once. A driver asks only if the device has
//! room; the SCSI layer looks at one more request.
//!
//! Wrong use by an elevator or a caller is an assertion, because it would falsify measurements
//! without a sign.

mod bios;
mod bitmap;
mod enter;
mod index;
mod joining;
mod lines;
mod merge;
mod tags;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, VecDeque};

use crate::kind::{Build, ElevatorKind, Origin};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator, Features, InsertAt};
use crate::topology::Topology;
use crate::vocabulary::{LINUX_VERSION, Time};
use bios::{Bios, List};
use index::Index;
use lines::Lines;
use tags::{CLASSES, Tags};
use types::Waiter;
pub use types::{Bio, Counters, Entry, Limits};

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The tag is not in use.
    Free,
    /// In the elevator; bios can join.
    Held,
    /// In the elevator again, as it was dispatched; nothing joins.
    Requeued,
    /// The device has it.
    InFlight,
}

/// The state of a tag.
#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    request: BlockRequest,
    issued: Time,
    parts: List,
    /// Its tag in blk-mq's bitmap.
    bit: Option<u32>,
    /// It has refused a bio for its size, and takes no more; in the queue of Linux 2.6
    /// (REQ_NOMERGE).
    is_full: bool,
}

/// The version of Linux whose block layer is around an elevator: its tunable `linux`, read when it
/// is needed after it may have been set.
#[derive(Debug)]
struct Version {
    is_tunable: bool,
    known: Option<u64>,
}

impl Version {
    fn new(kind: &ElevatorKind) -> Version {
        Version { is_tunable: kind.tunable("linux").is_some(), known: None }
    }

    fn get(&mut self, elevator: &dyn Elevator) -> u64 {
        let read = || if self.is_tunable { elevator.get("linux") } else { LINUX_VERSION };
        *self.known.get_or_insert_with(read)
    }
}

/// A queue with its elevator.
#[derive(Debug)]
pub struct Queue {
    elevator: Box<dyn Elevator>,
    limits: Limits,
    counters: Counters,
    /// Of each hardware queue. A request's tag is that of its hardware queue times their number
    /// plus the hardware queue's.
    tags: Vec<Tags>,
    topology: Topology,
    /// By tag.
    slots: Vec<Option<Slot>>,
    bios: Bios,
    /// Held requests by the sector that they start at, and by the sector after their last.
    starts: Index,
    ends: Index,
    /// The held request that was inserted or joined last, as the kernel's one-hit cache has it.
    last_merge: Option<u32>,
    waiting: [VecDeque<Waiter>; CLASSES],
    /// Bios (or parts) that must not be served yet, where the elevator takes only released ones;
    /// by time and order of submission.
    unreleased: BTreeMap<(Time, u64), Waiter>,
    nr_unreleased: u64,
    /// Those that wait under blk-mq, by hardware queue; empty for others.
    lines: Vec<Lines>,
    nr_waiting: usize,
    in_flight: u32,
    /// The scheduler is asked only when the queue runs; and whether it does.
    runs_on_demand: bool,
    runs: bool,
    features: Features,
    linux: Version,
    /// Bits of a word of blk-mq's bitmap.
    word: u32,
    /// The latest time of a call.
    now: Time,
}

impl Queue {
    /// A queue for a scheduler, with default tunables. `build.nr_tags` and `build.queue_depth` are
    /// set from `limits`.
    pub fn new(kind: &ElevatorKind, build: &Build, limits: Limits) -> Queue {
        assert!(
            limits.queue_depth >= 1 && limits.max_sectors >= 1,
            "a queue lets something through: {limits:?}"
        );
        let is_legacy = kind.origin == Origin::LegacyLinux;
        // Linux before blk-mq knows one queue.
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
                    let least = features.min_shallow_depth;
                    (0..hw_queues).map(|_| Lines::new(limits.nr_requests, least)).collect()
                }
                _ => Vec::new(),
            },
            runs_on_demand: elevator.legacy().is_some(),
            runs: false,
            features,
            linux: Version::new(kind),
            word: bitmap::word(limits.nr_requests),
            elevator,
            limits,
            counters: Counters::default(),
            slots: vec![None; end as usize],
            bios: Bios::new(),
            starts: Index::new(end),
            ends: Index::new(end),
            last_merge: None,
            waiting: Default::default(),
            unreleased: BTreeMap::new(),
            nr_unreleased: 0,
            nr_waiting: 0,
            in_flight: 0,
            now: Time::ZERO,
            tags: vec![one; hw_queues as usize],
            topology,
        }
    }

    /// Submits a bio. `seen` is called for it, or for its parts if it was split, in order, then
    /// for others that could take a tag that a merge has freed.
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

    /// The next request for the device, if the device accepts one and the elevator returns one.
    #[inline]
    pub fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest> {
        self.tick(now);
        if self.runs_on_demand && !self.runs {
            return None;
        }
        let Some(request) = self.next_request(now, disk) else {
            self.runs = false;
            return None;
        };
        let slot = self.slots.get_mut(request.tag as usize).and_then(Option::as_mut);
        let slot = slot.expect("an elevator dispatches tags that were inserted");
        let state = slot.state;
        assert!(
            matches!(state, State::Held | State::Requeued),
            "{request:?} is dispatched while it is {state:?}"
        );
        assert!(
            (request.seq, request.sector, request.nr_sectors) == known(&slot.request),
            "the elevator gives {request:?}, the queue knows it as {:?}",
            slot.request
        );
        debug_assert_eq!(
            request, slot.request,
            "an elevator gives a request as it was inserted or merged"
        );
        (slot.state, slot.issued) = (State::InFlight, now);
        if state == State::Held {
            self.forget(request.tag);
        }
        self.in_flight += 1;
        self.counters.dispatched += 1;
        self.check();
        Some(request)
    }

    /// What the elevator gives, if the device has room. A run that it has asked for while it gave
    /// nothing follows at once.
    fn next_request(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest> {
        if self.in_flight == self.limits.queue_depth * self.topology.hw_queues() {
            self.take_run();
            return None;
        }
        let request = self.elevator.dispatch(now, disk);
        match request.is_none() && self.take_run() {
            true => self.elevator.dispatch(now, disk),
            false => request,
        }
    }

    /// The device has completed the request with this tag. The cookies of bios that complete with
    /// it are appended to `done`, in order of submission. Call [`Queue::dispatch`] next and
    /// [`Queue::admit_waiting`] then.
    #[inline]
    pub fn complete(&mut self, now: Time, tag: u32, done: &mut Vec<u64>) -> Finished {
        self.tick(now);
        let slot = in_flight(&mut self.slots, tag);
        slot.state = State::Free;
        let (finished, parts) =
            (Finished { request: slot.request, issued: slot.issued }, slot.parts);
        self.in_flight -= 1;
        self.counters.completed += 1;
        self.elevator.complete(now, &finished);
        self.ask();
        let before = done.len();
        self.bios.finish(parts, done);
        self.counters.done += (done.len() - before) as u64;
        self.give(tag, &finished.request);
        self.check();
        finished
    }

    /// Bios that waited for a free request are inserted, as far as completions have woken their
    /// clients; `seen` is called for each.
    ///
    /// After the dispatch that the completion causes: the kernel's work queue runs before a process
    /// that was woken at the same time.
    #[inline]
    pub fn admit_waiting(&mut self, now: Time, seen: &mut (impl FnMut(Entry) + ?Sized)) {
        if self.may_admit() {
            self.tick(now);
            self.admit(now, &mut |entry| seen(entry));
            self.check();
        }
    }

    /// The device returns a request unserved: it is inserted at the head.
    pub fn requeue(&mut self, now: Time, tag: u32) {
        self.tick(now);
        let slot = in_flight(&mut self.slots, tag);
        slot.state = State::Requeued;
        let request = slot.request;
        self.in_flight -= 1;
        self.counters.requeued += 1;
        self.elevator.insert(now, request, InsertAt::Head);
        self.check();
    }

    /// When [`Queue::on_timer`] is due.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let timer = self.elevator.next_timer();
        if self.unreleased.is_empty() {
            return timer;
        }
        let release = self.unreleased.first_key_value().map(|((release, _), _)| *release);
        release.into_iter().chain(timer).min()
    }

    /// The elevator's timer is due, or bios are released. Ask for dispatches afterwards. `seen`
    /// is called for the bios.
    pub fn on_timer(&mut self, now: Time, seen: &mut dyn FnMut(Entry)) {
        self.tick(now);
        while let Some(first) = self.unreleased.first_entry().filter(|first| first.key().0 <= now) {
            let Waiter { request, part, .. } = first.remove();
            self.nr_waiting -= 1;
            let entered = self.place(now, &request, part);
            seen(self.entry(entered));
        }
        if self.elevator.next_timer().is_some_and(|at| at <= now) {
            self.elevator.on_timer(now);
            self.runs |= self.take_run();
        }
    }

    /// A process has ended.
    pub fn exited(&mut self, now: Time, process: u32) {
        self.tick(now);
        self.elevator.exited(now, process);
        self.runs |= self.take_run();
    }

    /// The driver asks if there is something to ask for (blk_run_queue): after a completion; after
    /// a requeue, when the device may take the request again.
    pub fn ask(&mut self) {
        if self.runs_on_demand {
            self.runs |= !self.elevator.is_empty() || self.take_run();
        }
    }

    /// Sets a tunable of the scheduler, which is not asked for that reason.
    pub fn set_tunable(&mut self, tunable: &str, value: u64) {
        self.linux.known = None;
        self.elevator.set(tunable, value);
    }

    /// Requests that the device has.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Requests that the elevator holds.
    pub fn held(&self) -> usize {
        self.elevator.len()
    }

    /// Bios (or parts) that wait for a free request or for their release.
    pub fn waiting(&self) -> usize {
        self.nr_waiting
    }

    /// A request that the device has.
    pub fn at_device(&self, tag: u32) -> BlockRequest {
        let slot = self.slots.get(tag as usize).and_then(Option::as_ref);
        slot.filter(|slot| slot.state == State::InFlight)
            .expect("the device has a request with this tag")
            .request
    }

    /// CPUs and hardware queues.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// Whether nothing is waiting, held or in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.nr_waiting == 0 && self.held() == 0
    }

    /// What was counted since it was made.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its bounds.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The scheduler.
    pub fn elevator(&self) -> &dyn Elevator {
        self.elevator.as_ref()
    }

    /// The scheduler, to set tunables and guarantee flows something. A tunable that frees tags for
    /// a kind of request takes effect with the next submission or completion. The driver asks
    /// afterwards, since anything may have changed.
    pub fn elevator_mut(&mut self) -> &mut dyn Elevator {
        self.runs = true;
        self.linux.known = None;
        self.elevator.as_mut()
    }

    /// Whether the scheduler has run the queue since the last call.
    fn take_run(&self) -> bool {
        self.runs_on_demand && self.elevator.legacy().is_some_and(|legacy| legacy.take_run())
    }

    /// A tag is free again.
    fn give(&mut self, tag: u32, request: &BlockRequest) {
        let (queue, hw_queues) = (self.hw_queue(request), self.topology.hw_queues());
        // Most devices have one, and a division is not free.
        let own = if hw_queues == 1 { tag } else { tag / hw_queues };
        self.tags[queue].give(own, request.op, request.sync);
        let bit = self.slot(tag).bit;
        if let (Some(lines), Some(bit)) = (self.lines.get_mut(queue), bit) {
            lines.free(bit, || self.linux.get(self.elevator.as_ref()));
        }
    }

    fn slot(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag is in use")
    }

    #[inline]
    fn tick(&mut self, now: Time) {
        assert!(now >= self.now, "time runs forward: {now:?} after {:?}", self.now);
        self.now = now;
    }

    /// The properties of the counters.
    fn check(&self) {
        let Counters { inserted, requeued, dispatched, coalesced, completed, .. } = self.counters;
        debug_assert_eq!(
            inserted + requeued,
            dispatched + coalesced + self.elevator.len() as u64,
            "what was inserted was dispatched, coalesced or is held: {:?}",
            self.counters
        );
        debug_assert_eq!(
            dispatched,
            completed + requeued + u64::from(self.in_flight),
            "what was dispatched was completed, given back or is in flight: {:?}",
            self.counters
        );
    }
}

fn in_flight(slots: &mut [Option<Slot>], tag: u32) -> &mut Slot {
    let slot = slots.get_mut(tag as usize).and_then(Option::as_mut);
    slot.filter(|slot| slot.state == State::InFlight)
        .expect("the device has a request with this tag")
}

/// What of a request cannot change behind the queue's back.
fn known(request: &BlockRequest) -> (u64, u64, u32) {
    (request.seq, request.sector, request.nr_sectors)
}
