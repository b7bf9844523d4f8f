//! bfq: shares the device's sectors among processes by weight, in budgets, and favours interactive processes.
//!
//! Problem: time slices give a process with random I/O a smaller share of throughput than one with sequential I/O, and
//! programs start slowly under load.
//!
//! Approach: B-WF2Q+ over three classes (`wf2q`), budgets with feedback, charging and expiration (`budget`), the choice
//! of queue and request (`select`), idling (`idle`), raising the weight of interactive and of rare asynchronous queues
//! (`raising`) unless they are created in a burst (`burst`), the peak rate (`rate`), detection of a device that queues,
//! depth limits, strict_guarantees.
//!
//! Source: Linux 6.12 block/bfq-iosched.c and bfq-wf2q.c, one actuator, no groups; confirmed.
//!
//! Parameters (default): fifo_expire_sync 125 ms, fifo_expire_async 250 ms, back_seek_max 16384 KiB, back_seek_penalty
//! 2, slice_idle 8 ms (slice_idle_us is the same in µs), max_budget 0 sectors (automatic: peak rate × timeout_sync),
//! timeout_sync 125 ms, low_latency 1, strict_guarantees 0, burst 1 (added here). Weights are 10·(8 − level) of the I/O
//! priority, or the promised share of the flow.
//!
//! Consequence of the source: sequential readers that start together get little throughput at first, in the kernel,
//! too. All are raised, and while a raised queue is busy the scheduler does not idle to gain throughput, nor for equal
//! shares (idling_boosts_thr_without_issues, idling_needed_for_service_guarantees). Raising ends after 120000 sectors,
//! or after the time that the reference disk needs for seven seconds of work: ten and a half seconds until the peak
//! rate is known. From then on, and with low_latency 0 at once, each is idled for until its budget or time is used up.
//! A workload whose processes are created anew for each pass never leaves that stage.
//!
//! Not implemented: merging of cooperating queues (EQM) and the stable merge; injection of other queues' requests while
//! a queue is waited for, with wakers and injection limits; raising for soft real-time queues; groups; several
//! actuators. See docs/src/explanation/conformance.md for the effect: it is largest for sequential readers that start
//! together on a disk that accepts one request at a time. A queue that idles or waits for a completion is therefore
//! alone meanwhile.
//!
//! Departures: those of `wf2q`; an in-service queue that got a single small request waits only until the next dispatch
//! call, which this queue makes at once (in the kernel, too, the block layer decides when); a budget is unsigned (it
//! does not become negative in the kernel either); a queue is removed from its tree when its process has ended.

mod budget;
mod burst;
mod idle;
mod queue;
mod raising;
mod rate;
mod select;
mod settings;
mod variant;
mod wf2q;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use crate::clock::Clock;
use crate::flows::Flows;
use crate::kind::{Build, ElevatorKind, Evidence, Origin, Promise};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Anticipation, Disk, Elevator, FlowSpec, InsertAt, Merge};
use crate::sorted::by_sector;
use crate::vocabulary::{Op, Time};

use budget::Expiry;
use burst::Burst;
use queue::{BfqQueue, class_and_weight};
use rate::Rate;
use settings::Settings;
pub(crate) use variant::Variant;
use wf2q::ServiceTree;

const MS: u64 = 1_000_000;

/// The row of the table.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "bfq",
    origin: Origin::BlkMq,
    help: "shares the device's sectors among processes by weight, idles for them, favours interactive ones",
    source: "Linux 6.12 block/bfq-iosched.c",
    evidence: Evidence::Confirmed,
    promises: &[Promise::IdlesWithTimer],
    tunables: settings::TUNABLES,
    build,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Inserted at the head: before everything else.
    Head,
    Queued,
    InFlight,
}

/// What is known of a tag.
#[derive(Debug, Clone, Copy)]
struct Slot {
    request: BlockRequest,
    queue: u32,
    place: State,
    /// Position in the FIFO of its queue.
    fifo: u64,
    expires: Time,
}

#[derive(Debug)]
struct Bfq {
    variant: Variant,
    /// Of the core; Linux has a queue for each process.
    flows: Flows,
    clock: Clock,
    rotational: bool,
    nr_tags: u64,
    settings: Settings,

    queues: Vec<BfqQueue>,
    spare: Vec<u32>,
    by_process: BTreeMap<u32, u32>,
    /// By class and weight.
    asynchronous: BTreeMap<(usize, u64), u32>,
    /// Weights that flows are promised.
    promised: BTreeMap<u32, u64>,

    trees: [ServiceTree; 3],
    in_service: Option<u32>,
    /// The jiffy at which the idle class last had its turn.
    idle_class_mark: u64,
    /// Busy queues of each class.
    busy: [u32; 3],
    /// Busy queues whose weight is raised.
    raised_busy: u32,
    /// How many queues of each weight have requests held or in flight; raised ones are not counted.
    weights: BTreeMap<u64, u32>,

    slots: Vec<Option<Slot>>,
    head: VecDeque<u32>,
    held: usize,
    in_driver: u32,
    fifo_numbers: u64,

    rate: Rate,
    /// Budget of the device, in sectors.
    max_budget: u64,
    /// 256 times the decayed number of budgets given out; converges.
    budgets_given: u64,
    budget_start: Time,

    burst: Burst,
    queueing: idle::Queueing,
    /// Until when the queue in service is waited for.
    timer: Option<Time>,
    idling_start: Time,
    anticipation: Anticipation,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Variant::Linux.boxed(build)
}

impl Bfq {
    fn new(build: &Build) -> Bfq {
        Bfq {
            variant: Variant::Linux,
            flows: Flows::default(),
            clock: Clock::new(build.hz),
            rotational: build.rotational,
            nr_tags: u64::from(build.tags_of_queue()),
            settings: Settings::default(),
            queues: Vec::new(),
            spare: Vec::new(),
            by_process: BTreeMap::new(),
            asynchronous: BTreeMap::new(),
            promised: BTreeMap::new(),
            trees: [ServiceTree::default(), ServiceTree::default(), ServiceTree::default()],
            in_service: None,
            idle_class_mark: 0,
            busy: [0; 3],
            raised_busy: 0,
            weights: BTreeMap::new(),
            slots: vec![None; build.nr_tags as usize],
            head: VecDeque::new(),
            held: 0,
            in_driver: 0,
            fifo_numbers: 0,
            rate: Rate::new(build.rotational),
            max_budget: budget::DEFAULT_MAX_BUDGET,
            budgets_given: 0,
            budget_start: Time::ZERO,
            burst: Burst::default(),
            queueing: idle::Queueing::default(),
            timer: None,
            idling_start: Time::ZERO,
            anticipation: Anticipation::default(),
        }
    }

    fn queue(&self, id: u32) -> &BfqQueue {
        &self.queues[id as usize]
    }

    fn queue_mut(&mut self, id: u32) -> &mut BfqQueue {
        &mut self.queues[id as usize]
    }

    fn slot(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag belongs to a request of the elevator")
    }

    fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    /// The queue that a request belongs to, if it exists.
    fn find_queue(&self, request: &BlockRequest) -> Option<u32> {
        if !self.variant.is_linux() {
            self.by_process.get(&self.flow_of(request)?).copied()
        } else if request.sync {
            self.by_process.get(&request.process).copied()
        } else {
            self.asynchronous.get(&class_and_weight(request.priority)).copied()
        }
    }

    /// The queue that a request belongs to.
    fn queue_for(&mut self, now: Time, request: &BlockRequest) -> u32 {
        let (class, weight) = class_and_weight(request.priority);
        let (owner, wanted) = if self.variant.is_linux() {
            let promised = self.promised.get(&request.process).filter(|_| request.sync);
            (request.sync.then_some(request.process), (class, promised.copied().unwrap_or(weight)))
        } else {
            let (flow, wanted) = self.owner_in_core(request);
            (Some(flow), wanted)
        };
        if let Some(id) = self.find_queue(request) {
            self.queue_mut(id).wanted = wanted;
            return id;
        }
        let (jiffies, budget) = (self.clock.jiffies(now), self.first_budget());
        let new = BfqQueue::new(now, jiffies, owner, wanted, budget);
        let id = match self.spare.pop() {
            Some(id) => {
                self.queues[id as usize] = new;
                id
            }
            None => {
                self.queues.push(new);
                self.queues.len() as u32 - 1
            }
        };
        match owner {
            Some(owner) => self.by_process.insert(owner, id),
            None => self.asynchronous.insert((class, weight), id),
        };
        id
    }

    /// Lets a queue go whose process has ended, once nothing of it is left.
    fn release(&mut self, id: u32) {
        let queue = &self.queues[id as usize];
        if !queue.alive && queue.pins == 0 && !queue.busy {
            self.trees[queue.class].forget(id, &queue.entity);
            self.uncount_weight(id);
            self.burst.forget(id);
            self.spare.push(id);
        }
    }

    fn unpin(&mut self, id: u32) {
        self.queue_mut(id).pins -= 1;
        self.release(id);
    }

    /// A request leaves the device: it is finished, or comes back.
    fn leave_driver(&mut self, jiffies: u64, id: u32) {
        self.in_driver -= 1;
        let queue = self.queue_mut(id);
        queue.dispatched -= 1;
        if queue.dispatched == 0 && !queue.busy {
            queue.budget_timeout = Some(jiffies);
            self.uncount_weight(id);
        }
    }
}

impl Elevator for Bfq {
    fn insert(&mut self, now: Time, request: BlockRequest, at: InsertAt) {
        let tag = request.tag as usize;
        if tag >= self.slots.len() {
            self.slots.resize(tag + 1, None);
        }
        if let Some(old) = self.slots[tag] {
            self.leave_driver(self.clock.jiffies(now), old.queue);
            self.unpin(old.queue);
        }
        let queue = self.queue_for(now, &request);
        self.queue_mut(queue).pins += 1;
        self.held += 1;
        let expire_ms =
            if request.sync { self.settings.fifo_expire_sync_ms } else { self.settings.fifo_expire_async_ms };
        let fifo = self.fifo_numbers;
        self.fifo_numbers += 1;
        let place = if at == InsertAt::Head { State::Head } else { State::Queued };
        self.slots[tag] = Some(Slot { request, queue, place, fifo, expires: now + expire_ms * MS });
        match place {
            State::Head => self.head.push_front(request.tag),
            _ => self.enqueue(now, queue, request),
        }
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<BlockRequest> {
        if let Some(tag) = self.head.pop_front() {
            return Some(self.send(tag));
        }
        if self.busy == [0; 3] || (self.settings.strict_guarantees && self.in_driver > 0) {
            return None;
        }
        let queue = self.select_queue(now)?;
        Some(self.serve(now, queue))
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let slot = self.slots[done.request.tag as usize].take().expect("a completed request was dispatched");
        debug_assert_eq!(slot.place, State::InFlight, "a completed request was dispatched");
        self.observe_queueing();
        self.leave_driver(self.clock.jiffies(now), slot.queue);
        self.queue_mut(slot.queue).last_end = Some(now);
        if self.rate.completed(now) {
            self.resize_budget();
        }
        if self.in_service == Some(slot.queue) {
            self.idle_or_expire(now, slot.queue);
        }
        self.unpin(slot.queue);
    }

    fn len(&self) -> usize {
        self.held
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.idling_is_over(now);
        }
    }

    fn depth_limit(&self, op: Op, sync: bool) -> Option<u32> {
        let sixteenths = match (sync, self.raised_busy > 0) {
            (true, _) if op == Op::Read => return None,
            _ if !self.variant.is_linux() => return None,
            (true, false) => 12,
            (false, false) => 8,
            (true, true) => 6,
            (false, true) => 3,
        };
        Some(((self.nr_tags * sixteenths / 16) as u32).max(1))
    }

    fn least_depth(&self, _word: u32) -> Option<u32> {
        self.variant.is_linux().then_some(1)
    }

    fn allow_merge(&self, request: &BlockRequest, piece: &BlockRequest, _how: Merge) -> bool {
        request.sync == piece.sync && self.find_queue(piece) == Some(self.slot(request.tag).queue)
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let slot = self.slot_mut(before.tag);
        slot.request = *after;
        let (id, place) = (slot.queue, slot.place);
        if place == State::Queued {
            let sorted = &mut self.queue_mut(id).sorted;
            let overtakes = sorted.before(by_sector(before)).is_some_and(|(below, _)| below > after.sector);
            sorted.remove(by_sector(before));
            sorted.insert(by_sector(after), after.tag);
            if overtakes {
                self.reconsider_next(id, after.tag);
            }
        }
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (old, young) = (*self.slot(survivor.tag), *self.slot(gone.tag));
        let both = old.place == State::Queued && young.place == State::Queued && old.queue == young.queue;
        if both && young.expires < old.expires {
            let queue = self.queue_mut(old.queue);
            queue.fifo.remove(&old.fifo).expect("the survivor is in the FIFO");
            queue.fifo.remove(&young.fifo).expect("the other is in the FIFO");
            queue.fifo.insert(young.fifo, survivor.tag);
            queue.fifo.insert(old.fifo, gone.tag);
            let (expires, fifo) = (young.expires, young.fifo);
            *self.slot_mut(survivor.tag) = Slot { expires, fifo, ..old };
            self.slot_mut(gone.tag).fifo = old.fifo;
        }
        if both && self.queue(young.queue).next == Some(gone.tag) {
            self.queue_mut(young.queue).next = Some(survivor.tag);
        }
        match young.place {
            State::Head => self.head.retain(|tag| *tag != gone.tag),
            _ => self.take_out(now, gone.tag),
        }
        self.slots[gone.tag as usize] = None;
        self.held -= 1;
        self.unpin(young.queue);
    }

    fn exited(&mut self, now: Time, process: u32) {
        if !self.variant.is_linux() {
            return;
        }
        let Some(id) = self.by_process.remove(&process) else { return };
        self.queue_mut(id).alive = false;
        let (busy, empty) = (self.queue(id).busy, self.queue(id).sorted.is_empty());
        if self.in_service == Some(id) && empty {
            self.expire(now, false, Expiry::Exited);
        } else {
            if busy && empty {
                // It was preempted and has kept its place.
                self.retire(id, false);
            }
            self.release(id);
        }
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        self.declare(process, flow, spec);
    }

    fn get(&self, tunable: &str) -> u64 {
        self.settings.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.change(tunable, value);
    }

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.anticipation)
    }
}
