//! bfq: shares the device's sectors among processes by weight, in budgets, and favours interactive
//! processes.
//!
//! B-WF2Q+ over three classes and over groups (`wf2q`, `groups`); budgets (`budget`); choice of
//! queue and request (`select`); idling (`idle`) and injection (`inject`); weight raising
//! (`raising`) except in bursts (`burst`); queue merging (`merge`, `process`); peak rate (`rate`);
//! depth limits (`depth`).
//!
//! Source: Linux 6.1, 6.12 and 7.3 block/bfq-iosched.c, bfq-wf2q.c and bfq-cgroup.c, one actuator;
//! confirmed, and compared with Linux 6.1 request by request (docs/internals/conformance.md).
//!
//! Parameters (default): fifo_expire_sync 125 ms, fifo_expire_async 250 ms, back_seek_max 16384
//! KiB, back_seek_penalty 2, slice_idle 8 ms (slice_idle_us in µs), max_budget 0 sectors (peak rate
//! × timeout_sync), timeout_sync HZ / 8 jiffies (125 ms), low_latency 1, strict_guarantees 0,
//! async_depth 3/4 of the tags (7.0); ours: burst 1, linux 612, still_clock 0. Weights are 10·(8 −
//! level) of the I/O priority; flows are groups with the given weight, or 100.
//!
//! Consequence of the source: sequential readers that start together get little throughput. All are
//! raised, so the scheduler idles neither for throughput nor for equal shares
//! (idling_boosts_thr_without_issues, idling_needed_for_service_guarantees); 600 ms later those
//! created within 180 ms merge permanently, and their shared queue alternates between them. Not
//! with low_latency 0.
//!
//! Departures: one level of groups, one actuator, and those of `merge` and `process`. An in-service
//! queue with a single small request waits only for the next dispatch, which this queue does at
//! once.

mod budget;
mod burst;
mod depth;
mod elevator;
mod groups;
mod idle;
mod inject;
mod merge;
mod process;
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
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::ordered::Ordered;
use crate::request::BlockRequest;
use crate::scheduler::{Anticipation, Elevator};
use crate::vocabulary::Time;

use budget::Expiry;
use burst::Burst;
use inject::Injection;
use process::Process;
use queue::BfqQueue;
use rate::Rate;
use settings::Settings;
pub(crate) use variant::Variant;
use wf2q::Wf2q;

const MS: u64 = 1_000_000;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "bfq",
    origin: Origin::BlkMq,
    help: "shares the device's sectors among processes by weight, idles for them, favours interactive ones",
    source: "Linux 6.1 and 6.12 block/bfq-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: settings::TUNABLES,
    build,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Queued,
    InFlight,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    request: BlockRequest,
    queue: u32,
    place: State,
    fifo: u64,
    expires: Time,
}

#[derive(Debug)]
struct Bfq {
    variant: Variant,
    /// The core's flows; Linux has a queue per process.
    flows: Flows,
    clock: Clock,
    /// The time of the last call; also in jiffies.
    now: Time,
    jiffies: i64,
    rotational: bool,
    nr_tags: u64,
    settings: Settings,

    queues: Vec<BfqQueue>,
    spare: Vec<u32>,
    /// Flows in the core.
    processes: Vec<Process>,
    /// By group, class and weight.
    asynchronous: BTreeMap<(u32, usize, u64), u32>,
    /// Groups by the flow's declared number.
    groups: BTreeMap<u32, u32>,
    /// last_bfqq_created, by group.
    last_created: BTreeMap<u32, u32>,
    /// rq_pos_tree, by group.
    positions: Ordered<(u32, u64)>,

    tree: Wf2q,
    in_service: Option<u32>,
    /// 0: none yet.
    served_position: u64,
    busy: [u32; 3],
    raised_busy: u32,

    slots: Vec<Option<Slot>>,
    head: VecDeque<u32>,
    held: usize,
    in_driver: u32,
    fifo_numbers: u64,
    /// The one-hit merge cache.
    last_merge: Option<u32>,

    rate: Rate,
    max_budget: u64,
    /// Decayed count of assigned budgets × 256; converges.
    budgets_given: u64,
    budget_start: Time,

    burst: Burst,
    queueing: idle::Queueing,
    injection: Injection,
    /// The queue of the last completion, unless shared.
    last_completed: Option<u32>,
    /// End of idling.
    timer: Option<Time>,
    idling_start: Time,
    idling_start_jiffies: i64,
    anticipation: Anticipation,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Variant::Linux.boxed(build)
}

impl Bfq {
    fn new(build: &Build) -> Bfq {
        let clock = Clock::new(build.hz);
        Bfq {
            variant: Variant::Linux,
            flows: Flows::default(),
            clock,
            now: Time::ZERO,
            jiffies: 0,
            rotational: build.rotational,
            nr_tags: u64::from(build.tags_of_queue()),
            settings: Settings::new(clock, build.tags_of_queue().into()),
            queues: Vec::new(),
            spare: Vec::new(),
            processes: Vec::new(),
            asynchronous: BTreeMap::new(),
            groups: BTreeMap::new(),
            last_created: BTreeMap::new(),
            positions: Ordered::default(),
            tree: Wf2q::new(clock.hz() / 5),
            in_service: None,
            served_position: 0,
            busy: [0; 3],
            raised_busy: 0,
            slots: vec![None; build.nr_tags as usize],
            head: VecDeque::new(),
            held: 0,
            in_driver: 0,
            fifo_numbers: 0,
            last_merge: None,
            rate: Rate::new(build.rotational),
            max_budget: budget::DEFAULT_MAX_BUDGET,
            budgets_given: 0,
            budget_start: Time::ZERO,
            burst: Burst::default(),
            queueing: idle::Queueing::default(),
            injection: Injection::default(),
            last_completed: None,
            timer: None,
            idling_start: Time::ZERO,
            idling_start_jiffies: 0,
            anticipation: Anticipation::default(),
        }
    }

    fn tick(&mut self, now: Time) {
        self.now = now;
        let jiffies = self.clock.jiffies(now);
        self.jiffies = i64::try_from(jiffies).unwrap_or(i64::MAX / 4);
        self.tree.jiffies = jiffies;
    }

    /// Rounded up.
    fn ticks(&self, ms: u64) -> i64 {
        self.clock.from_ms(ms) as i64
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

    fn pin(&mut self, id: u32) {
        self.queue_mut(id).refs += 1;
        self.tree.allocated(id, 1);
    }

    fn unpin(&mut self, id: u32) {
        self.queue_mut(id).refs -= 1;
        self.tree.allocated(id, -1);
        self.release(id);
    }

    fn leave_driver(&mut self, id: u32) {
        self.in_driver -= 1;
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        queue.dispatched -= 1;
        if queue.dispatched == 0 && !queue.busy {
            queue.budget_timeout = jiffies;
            self.tree.remove_pending(id);
            self.tree.uncount_weight(id);
        }
    }

    /// bfq_finish_requeue_request.
    fn finish_request(&mut self, request: &BlockRequest) {
        if self.variant.is_linux() {
            let process = self.process(request.process);
            process.requests = process.requests.saturating_sub(1);
        }
    }

    /// bfq_completed_request; also for requeues.
    fn completed(&mut self, now: Time, slot: &Slot) {
        let id = slot.queue;
        self.measure(now, id, slot.request.tag);
        self.observe_queueing();
        self.leave_driver(id);
        let habits = &mut self.queue_mut(id).habits;
        (habits.last_end, habits.completed) = (now, true);
        if self.rate.completed(now) {
            self.resize_budget();
        }
        let queue = self.queue(id);
        let drained = queue.dispatched == 0 && queue.sorted.is_empty();
        let updates = drained && queue.raising.updates_soft_start;
        self.last_completed = (!queue.merging.shared).then_some(id);
        if updates && self.tree.get(id).coefficient != raising::COEFFICIENT {
            self.set_next_soft_start(id);
        }
        if self.in_service == Some(id) {
            self.idle_or_expire(now, id);
        }
        self.finish_request(&slot.request);
        self.unpin(id);
    }
}
