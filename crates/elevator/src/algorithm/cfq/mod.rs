//! cfq: completely fair queueing: each process has a queue, queues get time slices in turn, and the
//! disk idles for the next request of the process whose slice it is.
//!
//! Source: Linux 2.6.20 block/cfq-iosched.c; confirmed. Parameters as in sysfs; milliseconds are
//! stored in jiffies, rounded up:
//!
//! | name | unit | default | meaning |
//! |---|---|---|---|
//! | `quantum` | requests | 4 | moved to the dispatch list in one round |
//! | `fifo_expire_sync`, `fifo_expire_async` | ms | HZ/8, HZ/4 | age from which a request is taken out of order, once a slice |
//! | `back_seek_max` | KiB | 16384 | longest backward seek |
//! | `back_seek_penalty` | factor | 2 | factor of a backward distance |
//! | `slice_sync`, `slice_async` | ms | HZ/10, HZ/25 | slice at priority 4; a fifth more or less for each level |
//! | `slice_async_rq` | requests | 2 | an async slice ends after 2·(n + n·(7 − level)) requests |
//! | `slice_idle` | ms | HZ/125, at least 1 jiffy | the wait for a process's next request; 0: no waits |
//! | `preempt_slip` | switch | 1 | see below |
//! | `new_queue_slip` | switch | 1 | see below |
//!
//! Fixed: the idle class is served 100 ms after the last completion of another class; a seeking
//! process (mean distance above 64 MiB) is waited for 2 ms; a device with more than 4 requests in
//! the driver counts as queueing, permanently.
//!
//! Bugs of the source, retained by default (conclusions derived):
//! * A queue preempts another only if it is itself idled for, which only the queue in service can
//!   be. Thus only the idle class is preempted, after a change of class. `preempt_slip` 0 removes
//!   the condition, as later kernels did.
//! * When requests merge, the survivor should take the older one's FIFO position, but its age is
//!   changed before the comparison, which therefore never holds.
//! * A new or preempted queue should go first, behind other new ones; the code inserts it *before
//!   the last* of them, or at the end. `new_queue_slip` 0 follows the source's comment.
//! * The wait is bounded by the absolute end of the slice, not by its remainder, so it may exceed
//!   it.
//! * The remainder of a slice (`slice_left`) is stored, but discarded when the queue is chosen.
//!
//! Cost: logarithmic, except that a round without idling moves all held requests to the dispatch
//! list, as in the source; sorting scattered requests into it takes time linear in its length.
//!
//! Departures:
//! * An anticipated process may always exceed the pool; the source allows one request per slice.
//! * No boost for holders of file system locks; no forced dispatch, because schedulers are not
//!   switched while requests are held.
//! * If a front merge of another request displaces a queue's next one, the source has none and
//!   follows a null pointer on dispatch; here the lowest is dispatched.
//! * A process without an explicit priority is treated as having set the default. In the source it
//!   also finds any shared queue, regardless of priority.
//! * Setting the priority that a process already has does not refile its queue.

mod lists;
mod owners;
mod process;
mod service;
mod tunables;
mod wait;

use std::cell::Cell;

use crate::chain::{Chain, Links};
use crate::clock::Clock;
use crate::dispatch_list::DispatchList;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::request::{BlockRequest, Finished, Priority};
use crate::scheduler::{Anticipation, DepthLimit, Disk, Elevator, InsertAt, Legacy, Merge};
use crate::starts::Starts;
use crate::vocabulary::{Op, Time};
use lists::Lists;
use process::Process;
use tunables::Tunables;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "cfq",
    origin: Origin::LegacyLinux,
    help: "equal time slices for processes, by I/O priority; idles for the process whose slice it is",
    source: "Linux 2.6.20 block/cfq-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: tunables::ROWS,
    build,
};

#[derive(Debug, Clone, Copy)]
struct Now {
    time: Time,
    jiffies: u64,
}

/// Synchronous requests of a process, or asynchronous ones of all processes of a priority.
#[derive(Debug)]
struct ProcessQueue {
    /// Its process. None: shared, for asynchronous requests.
    number: Option<u32>,
    priority: Priority,
    /// prio_changed.
    priority_changed: bool,
    /// Processes plus requests.
    references: u32,
    sorted: Starts,
    fifo: Chain,
    next: Option<u32>,
    in_flight: u32,
    meta_pending: u32,
    /// End of its slice; 0: not begun, which the source treats as long past.
    slice_end: u64,
    slice_left: u64,
    wait_request: bool,
    must_dispatch: bool,
    fifo_checked: bool,
    idle_window: bool,
    is_new: bool,
}

impl ProcessQueue {
    fn is_past_its_slice(&self, now: Now) -> bool {
        self.slice_end == 0 || now.jiffies > self.slice_end
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Nowhere,
    Sorted,
    Listed,
    Driver,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    queue: u32,
    process: u32,
    stage: Stage,
    /// While in a tree.
    request: Option<BlockRequest>,
    /// In jiffies.
    start: u64,
}

impl Slot {
    const EMPTY: Slot =
        Slot { queue: 0, process: 0, stage: Stage::Nowhere, request: None, start: 0 };
}

#[derive(Debug)]
struct Cfq {
    clock: Clock,
    tunables: Tunables,
    queues: Vec<ProcessQueue>,
    dead: Vec<u32>,
    /// In order of creation.
    shared: Vec<u32>,
    of_numbers: Vec<Vec<u32>>,
    processes: Vec<Process>,
    /// A process's record, from its first request until its exit.
    numbers: Vec<Option<u32>>,
    ended: Vec<u32>,
    lists: Lists,
    slots: Vec<Slot>,
    links: Links,
    list: DispatchList,
    held: usize,
    /// The queue in service, and its first process in this slice.
    active: Option<u32>,
    active_process: Option<u32>,
    sent: u64,
    last_sector: u64,
    /// Last completion outside the idle class; None: long ago.
    last_end: Option<u64>,
    in_driver: u32,
    /// hw_tag.
    device_queues: bool,
    /// Jiffies at which idling and the idle class's grace period end.
    idle_timer: Option<u64>,
    class_timer: Option<u64>,
    /// Start of the current wait, until its outcome is counted.
    waiting_since: Option<Time>,
    /// The queue is to be run.
    runs: Cell<bool>,
    anticipation: Anticipation,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Cfq::new(build))
}

fn is_sync(request: &BlockRequest) -> bool {
    request.sync || request.op == Op::Read
}

impl Cfq {
    fn new(build: &Build) -> Cfq {
        let clock = Clock::new(build.hz);
        Cfq {
            clock,
            tunables: Tunables::new(clock),
            queues: Vec::new(),
            dead: Vec::new(),
            shared: Vec::new(),
            of_numbers: Vec::new(),
            processes: Vec::new(),
            numbers: Vec::new(),
            ended: Vec::new(),
            lists: Lists::new(),
            slots: vec![Slot::EMPTY; build.nr_tags as usize],
            links: Links::new(build.nr_tags),
            list: DispatchList::default(),
            held: 0,
            active: None,
            active_process: None,
            sent: 0,
            last_sector: 0,
            last_end: None,
            in_driver: 0,
            device_queues: false,
            idle_timer: None,
            class_timer: None,
            waiting_since: None,
            runs: Cell::new(false),
            anticipation: Anticipation::default(),
        }
    }

    fn now(&self, time: Time) -> Now {
        Now { time, jiffies: self.clock.jiffies(time) }
    }

    fn slot(&mut self, tag: u32) -> &mut Slot {
        let at = tag as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::EMPTY);
        }
        &mut self.slots[at]
    }

    fn queue(&mut self, queue: u32) -> &mut ProcessQueue {
        &mut self.queues[queue as usize]
    }
}

impl Legacy for Cfq {
    fn take_run(&self) -> bool {
        self.runs.take()
    }

    fn is_sorted(&self, tag: u32) -> bool {
        self.slots.get(tag as usize).is_some_and(|slot| slot.stage == Stage::Sorted)
    }

    fn front(&self, bio: &BlockRequest) -> Option<u32> {
        let queue = self.known_queue(bio)?;
        self.queues[queue as usize].sorted.tag_at(bio.end())
    }

    fn former(&self, tag: u32) -> Option<u32> {
        let slot = &self.slots[tag as usize];
        self.queues[slot.queue as usize].sorted.below(slot.request?.sector)
    }

    fn latter(&self, tag: u32) -> Option<u32> {
        let slot = &self.slots[tag as usize];
        self.queues[slot.queue as usize].sorted.above(slot.request?.sector)
    }

    fn allows(&self, tag: u32, bio: &BlockRequest) -> bool {
        self.known_queue(bio) == Some(self.slots[tag as usize].queue)
    }
}

impl Elevator for Cfq {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        let now = self.now(now);
        self.held += 1;
        if at == InsertAt::Head {
            self.insert_at_head(now, request);
            return;
        }
        let (queue, process) = self.admit(now, request);
        let start = if request.allocated == now.time {
            now.jiffies
        } else {
            self.clock.jiffies(request.allocated)
        };
        *self.slot(request.tag) =
            Slot { queue, process, stage: Stage::Sorted, request: Some(*request), start };
        self.add_sorted(queue, request);
        let this = &mut self.queues[queue as usize];
        self.links.push_back(&mut this.fifo, request.tag);
        this.meta_pending += u32::from(request.meta);
        self.enqueued(now, queue, process, request);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if self.list.is_empty() {
            let now = self.now(now);
            self.dispatch_round(now);
        }
        let tag = self.list.pop()?;
        self.held -= 1;
        self.in_driver += 1;
        self.device_queues |= self.in_driver > 4;
        self.slot(tag).stage = Stage::Driver;
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let now = self.now(now);
        self.completed(now, &done.request);
    }

    fn len(&self) -> usize {
        self.held
    }

    fn next_timer(&self) -> Option<Time> {
        let ticks = self.idle_timer.into_iter().chain(self.class_timer).min()?;
        Some(self.clock.tick_start(ticks))
    }

    fn on_timer(&mut self, now: Time) {
        let now = self.now(now);
        if self.class_timer.is_some_and(|at| at <= now.jiffies) {
            self.class_timer_fired(now);
        }
        if self.idle_timer.is_some_and(|at| at <= now.jiffies) {
            self.idle_timer_fired(now);
        }
    }

    fn legacy(&self) -> Option<&dyn Legacy> {
        Some(self)
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        let record = self.numbers.get(request.process as usize).copied().flatten();
        let queue = record.and_then(|record| self.processes[record as usize].sync_queue);
        match queue.is_some_and(|queue| self.queues[queue as usize].wait_request) {
            true => DepthLimit::Exceed,
            false => DepthLimit::None,
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        // Dispatched requests have left the tree and the hash of ends.
        let sorted =
            self.slots.get(request.tag as usize).filter(|slot| slot.stage == Stage::Sorted);
        // Synchronous and asynchronous requests are in different queues, so they do not merge.
        sorted.is_some_and(|slot| self.known_queue(bio) == Some(slot.queue))
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let Slot { queue, stage, .. } = *self.slot(before.tag);
        if stage != Stage::Sorted {
            self.list.replace(after.into());
            return;
        }
        self.slot(before.tag).request = Some(*after);
        let this = self.queue(queue);
        this.sorted.remove(before.sector);
        this.meta_pending = this.meta_pending + u32::from(after.meta) - u32::from(before.meta);
        // A next request remains so regardless of its new start.
        self.add_sorted(queue, after);
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.held -= 1;
        let (old, young) = (*self.slot(gone.tag), *self.slot(survivor.tag));
        if old.stage == Stage::Sorted {
            // The survivor takes the older age, but retains its FIFO position: the source compares
            // after the change.
            self.slot(survivor.tag).start = old.start.min(young.start);
            self.remove_sorted(old.queue, gone);
        } else {
            self.list.remove(gone.tag);
            self.queue(old.queue).in_flight -= 1;
        }
        self.slot(gone.tag).stage = Stage::Nowhere;
        self.release(self.now(now), old.queue, old.process);
    }

    fn exited(&mut self, now: Time, process: u32) {
        let now = self.now(now);
        self.end_process(now, process);
    }

    fn get(&self, tunable: &str) -> u64 {
        self.tunables.get(self.clock, tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.tunables.set(self.clock, tunable, value);
    }

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.anticipation)
    }
}

#[cfg(test)]
mod tests;
