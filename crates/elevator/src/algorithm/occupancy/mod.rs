//! occupancy: fair queueing by the time that requests occupy the device, learned from completions.
//! The laboratory's own scheduler.
//!
//! A flow (process or declared group) has a start tag, moved by each request's predicted occupancy.
//! Where the device seeks, or a flow is privileged, no flow may run ahead of another with a request,
//! queued or in the device, by more than the slack. Within the slack decide class and, where the
//! device has positions, one-way sector order; and waiting for a process that is behind, or near.
//! Nothing depends on a rotational flag.
//!
//! Sources: start-time fair queueing (SFQ), FlashFQ (throttle, occupancy as cost), BFQ (one-way
//! order in budgets, raising of new processes), anticipatory (expected gain). The combination is
//! [P]; see `research/occupancy.md`.
//!
//! Nothing is for users to set; `settings.rs` has the constants. Integers only, with tables by tag,
//! flow and process, so that a kernel module can have the same rules (`kernel/core/occupancy*.c`).
//! O(log n) per request; a flow that crosses the slack moves at most 64 requests.

mod choice;
mod elevator;
mod model;
mod requests;
mod settings;
mod shares;
#[cfg(test)]
mod tests;
mod think;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::request::{BlockRequest, PrioClass};
use crate::scheduler::{Anticipation, Elevator};
use crate::vocabulary::{Op, Time};
use model::{FAR, Model, Sample, bucket};
use requests::{ASYNC, Position, Process, REAL_TIME, Requests, SYNC, Slot};
use settings::{Key, Settings, TUNABLES};
use shares::Shares;
use think::Thinks;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "occupancy",
    origin: Origin::BlkMq,
    help: "schedlab's own: fair shares of learned device time, idling only where it pays",
    source: "this laboratory; parts from SFQ, FlashFQ, BFQ and the anticipatory scheduler",
    evidence: Evidence::Proposed,
    guarantees: &[
        Guarantee::IdlesWithTimer,
        Guarantee::LagAtMost { costs: 4, slack_kib: 8192 },
        Guarantee::WaitsAtMostMs(60_000),
        Guarantee::AnyClock,
    ],
    tunables: TUNABLES,
    build,
};

/// Internal units; an idle-class request counts 1 per unit.
const WEIGHT_SCALE: u64 = 64;
/// The weight for which the slack is defined.
const USUAL_WEIGHT: u64 = 100 * WEIGHT_SCALE;
const VIRTUAL_BITS: u32 = 10;
/// Beyond this, tags restart from 0 when no flow is active.
const REBASE: u64 = 1 << 48;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Wait {
    process: u32,
    since: u64,
}

#[derive(Debug)]
struct Occupancy {
    settings: Settings,
    /// Nanoseconds of occupancy at the usual weight.
    slack: u64,
    nr_tags: u32,
    model: Model,
    requests: Requests,
    shares: Shares,
    /// Requeued tags, the next one last.
    requeued: Vec<u32>,
    /// Requests in the device.
    in_flight: u32,
    writes_in_flight: u32,
    /// Reads far from their process's last.
    random_in_flight: u32,
    /// A second after the last request of the real-time class.
    real_time_until: u64,
    /// A second after the last read.
    read_until: u64,
    /// Whether there are reads, to which writes leave a quarter of the tags.
    leaves_tags: bool,
    /// The last completion, or the first issue to an idle device.
    mark: u64,
    head: u64,
    /// The process of the last dispatch, if synchronous, or of a completion since, if its flow is
    /// behind.
    last: Option<u32>,
    /// For processes without history.
    thinks: Thinks,
    /// Remainder of the asynchronous turn.
    turn: u64,
    /// Other requests' occupancy since the last turn.
    since_turn: u64,
    /// Dispatches since the last one because of age.
    since_overdue: u64,
    wait: Option<Wait>,
    timer: Option<u64>,
    /// Time left for failed waits, and when last credited.
    idle_tokens: u64,
    idle_since: u64,
    counts: Anticipation,
    /// The latest time on a monotonic clock, and its lead over the caller's.
    latest: u64,
    ahead: u64,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Occupancy::new(build.nr_tags))
}

impl Occupancy {
    fn new(nr_tags: u32) -> Occupancy {
        let mut occupancy = Occupancy {
            settings: Settings::new(),
            slack: 0,
            nr_tags,
            model: Model::new(),
            requests: Requests::new(nr_tags),
            shares: Shares::new(),
            requeued: Vec::new(),
            in_flight: 0,
            writes_in_flight: 0,
            random_in_flight: 0,
            real_time_until: 0,
            read_until: 0,
            leaves_tags: false,
            mark: 0,
            head: u64::MAX >> 1,
            last: None,
            thinks: Thinks::default(),
            turn: 0,
            since_turn: 0,
            since_overdue: 0,
            wait: None,
            timer: None,
            idle_tokens: SECOND / 8,
            idle_since: 0,
            counts: Anticipation::default(),
            latest: 0,
            ahead: 0,
        };
        occupancy.refresh();
        occupancy
    }

    /// A clock that jumps back is treated as stopped and continues from there.
    fn now(&mut self, now: Time) -> u64 {
        let now = now.as_ns().saturating_add(self.ahead);
        if now < self.latest {
            self.ahead += self.latest - now;
        }
        self.latest = self.latest.max(now);
        self.latest
    }

    /// After a change of model or settings.
    fn refresh(&mut self) {
        self.slack = self.settings.value(Key::SlackCosts) * self.model.random_ns();
        let may_seek = self.model.seeks() != Some(false);
        self.requests.set_exposes(self.latest, may_seek, self.most());
    }

    /// Whether flows may be too far ahead. A device without seeks takes what it can, unless a flow is
    /// privileged. While it is unknown whether it seeks, a random read among writes is to show it,
    /// and has to be served for that.
    fn is_bounded(&self) -> bool {
        self.model.seeks().unwrap_or(self.random_in_flight > 0 && self.writes_in_flight > 0)
            || self.shares.nr_privileged > 0
            || self.latest < self.real_time_until
    }

    fn most(&self) -> u32 {
        self.settings.value(Key::Exposed) as u32
    }

    /// Samples the think time: arrival minus the last completion. Returns whether it is a read far
    /// from its process's last request: no drive has read it ahead.
    fn learn_arrival(&mut self, now: u64, request: &BlockRequest) -> bool {
        let process = request.process as usize;
        if self.requests.processes.len() <= process {
            self.requests.processes.resize(process + 1, Process::default());
        }
        let of = &mut self.requests.processes[process];
        of.queued += 1;
        if !request.sync {
            return false;
        }
        if of.done > 0 {
            self.thinks.add(now.saturating_sub(of.done));
            of.thinks.add(now.saturating_sub(of.done));
            of.done = 0;
        }
        let distance = bucket(of.last_end, request.sector);
        if of.last_end > 0 {
            of.own_position.add(self.model.positional_ns(distance), 8);
        }
        of.last_end = request.end();
        distance >= FAR && request.op == Op::Read
    }

    fn give(&mut self, now: u64, tag: u32, overdue: bool) {
        let most = self.most();
        self.requests.unqueue(now, tag, most);
        let slot = *self.requests.slot(tag);
        let (flow, class) = (slot.flow as usize, usize::from(slot.class));
        self.end_wait(now, slot.request.process);
        self.requests.flows[flow].in_flight += 1;
        let predicted = self.account(now, tag);
        let others = self.requests.backlogged() > 0;
        if class == ASYNC {
            let turn = self.slack * self.settings.value(Key::Turn) / 100;
            let left = if self.turn > 0 { self.turn } else { turn };
            self.turn = if others { left.saturating_sub(predicted) } else { 0 };
            self.since_turn = 0;
        } else {
            self.turn = 0;
            self.since_turn = self.since_turn.saturating_add(predicted);
        }
        self.since_overdue = if overdue { 0 } else { self.since_overdue.saturating_add(1) };
        self.issue(now, tag);
    }

    fn account(&mut self, now: u64, tag: u32) -> u64 {
        let slot = *self.requests.slot(tag);
        let (flow, distance) = (slot.flow as usize, bucket(self.head, slot.request.sector));
        let predicted = self.predict(&slot.request, distance);
        let weight = self.shares.weight_of(&self.settings, &self.requests.flows[flow], &slot);
        let of = self.requests.slot_mut(tag);
        (of.bucket, of.predicted) = (distance as u8, predicted);
        self.charge(now, flow, predicted, weight);
        self.shares.spend(
            &self.model,
            flow,
            &mut self.requests.flows[flow],
            usize::from(slot.class),
            predicted,
        );
        predicted
    }

    fn predict(&self, request: &BlockRequest, distance: usize) -> u64 {
        self.model.predict(&self.settings, request.op, request.nr_sectors, distance)
    }

    fn charge(&mut self, now: u64, flow: usize, occupancy: u64, weight: u64) {
        if self.settings.on(Key::Fairness) {
            let by = (occupancy << VIRTUAL_BITS) / weight;
            let start = self.requests.flows[flow].start.saturating_add(by);
            self.requests.restart(flow, start);
            self.shares.restarted(flow, &self.requests.flows[flow]);
        }
        self.bound(now, flow);
    }

    /// How far start tags may be for a flow to be eligible.
    fn limit(&self) -> u64 {
        if !self.is_bounded() {
            return u64::MAX;
        }
        let least = self.shares.least_active().filter(|_| self.settings.on(Key::Holds));
        let from =
            least.map_or(self.shares.virtual_time, |least| least.min(self.shares.virtual_time));
        from.saturating_add((self.slack << VIRTUAL_BITS) / USUAL_WEIGHT)
    }

    /// Throttles it if too far ahead, and releases others.
    fn bound(&mut self, now: u64, flow: usize) {
        self.shares.follow(&self.requests);
        let (most, limit) = (self.most(), self.limit());
        let of = &self.requests.flows[flow];
        if of.eligible && of.start > limit {
            self.requests.set_eligible(now, flow, false, most);
        } else if !of.eligible && of.start <= limit {
            self.requests.set_eligible(now, flow, true, most);
        }
        self.free(now, limit);
    }

    /// Releases throttled flows that virtual time has caught up with.
    fn free(&mut self, now: u64, limit: u64) {
        let most = self.most();
        while let Some((_, flow)) =
            self.requests.first_throttled().filter(|(start, _)| *start <= limit)
        {
            self.requests.set_eligible(now, flow as usize, true, most);
        }
    }

    fn issue(&mut self, now: u64, tag: u32) {
        let in_flight = self.in_flight;
        if in_flight == 0 {
            self.mark = now;
        }
        let slot = self.requests.slot_mut(tag);
        slot.position = Position::InFlight;
        slot.since = now;
        slot.with_writes = self.writes_in_flight > 0;
        let is_random = slot.reads > 0;
        slot.reads = if is_random { in_flight + 1 - self.writes_in_flight } else { 0 };
        let request = slot.request;
        let of = &mut self.requests.processes[request.process as usize];
        of.queued = of.queued.saturating_sub(1);
        of.busy += 1;
        self.in_flight += 1;
        self.writes_in_flight += u32::from(request.op == Op::Write);
        self.random_in_flight += u32::from(is_random);
        self.head = request.end();
        self.last = request.sync.then_some(request.process);
        self.timer = None;
    }

    fn end_wait(&mut self, now: u64, process: u32) {
        let Some(wait) = self.wait.take() else { return };
        let waited = now.saturating_sub(wait.since);
        if wait.process == process {
            self.counts.successes += 1;
            self.counts.success_wait_ns += waited;
        } else {
            self.counts.failures += 1;
            self.counts.failure_wait_ns += waited;
            self.idle_tokens = self.idle_tokens.saturating_sub(waited);
        }
    }

    fn measure(&mut self, now: u64, tag: u32, before: u64) {
        let slot = *self.requests.slot(tag);
        let gap = now.saturating_sub(before);
        let Slot { predicted, bucket, reads, request, .. } = slot;
        let BlockRequest { op, nr_sectors, .. } = request;
        let with_writes = self.writes_in_flight > 0;
        self.model.completed(
            Sample { op, nr_sectors, bucket: usize::from(bucket), predicted, with_writes },
            slot.since < before,
            gap,
        );
        if reads > 0 {
            let with_writes = with_writes || slot.with_writes;
            self.model.random_read(nr_sectors, reads, with_writes, now - slot.since);
        }
        self.refresh();
    }
}

fn plain_class(request: &BlockRequest) -> usize {
    match (request.priority.class, request.sync) {
        (PrioClass::RealTime, _) => REAL_TIME,
        (PrioClass::Idle, _) | (_, false) => ASYNC,
        _ => SYNC,
    }
}
