//! The elevator interface.
//!
//! A requeued request goes first and is not charged again. Requests of different flows never merge,
//! and there are no front merges: they alone would need a tree by ends.

use crate::algorithm::occupancy::requests::{Position, REAL_TIME};
use crate::algorithm::occupancy::{Occupancy, SECOND, WEIGHT_SCALE};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Anticipation, DepthLimit, Disk, Elevator, FlowSpec, InsertAt, Merge};
use crate::vocabulary::{Op, Time};

impl Elevator for Occupancy {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        let now = self.now(now);
        if request.op == Op::Read {
            self.read_until = now.saturating_add(SECOND);
        }
        self.leaves_tags = now < self.read_until;
        if at == InsertAt::Head && self.requests.has(request.tag) {
            // The device has returned it.
            let slot = self.requests.slot_mut(request.tag);
            slot.position = Position::Head;
            slot.request = *request;
            let is_random = slot.reads > 0;
            let process = &mut self.requests.processes[request.process as usize];
            process.busy -= 1;
            process.queued += 1;
            self.in_flight -= 1;
            self.writes_in_flight -= u32::from(request.op == Op::Write);
            self.random_in_flight -= u32::from(is_random);
            self.requeued.push(request.tag);
            return;
        }
        let flow = self.shares.flow_of(now, &mut self.requests, request.process);
        let was_active = self.requests.flows[flow].is_active();
        if !was_active {
            let slack = self.slack;
            self.shares.activate(now, &self.settings, &self.model, &mut self.requests, flow, slack);
        }
        if !self.requests.flows[flow].has_share && !self.requests.flows[flow].is_declared {
            self.requests.flows[flow].weight =
                (8 - u64::from(request.priority.level.min(7))) * 25 * WEIGHT_SCALE;
        }
        let class = self.shares.class_of(&self.settings, &self.requests.flows[flow], request);
        if class == REAL_TIME {
            self.real_time_until = now.saturating_add(SECOND);
        }
        let is_random = self.learn_arrival(now, request);
        self.shares.touched(now, &mut self.requests.flows[flow]);
        if at == InsertAt::Head {
            self.requests.enter(*request, flow as u32, class, Position::Head, is_random);
            self.requests.flows[flow].in_flight += 1;
            self.shares.count(flow, &mut self.requests.flows[flow]);
            self.requeued.push(request.tag);
            return;
        }
        self.requests.enter(*request, flow as u32, class, Position::Queued, is_random);
        let most = self.most();
        self.requests.queue(now, request.tag, most);
        self.shares.count(flow, &mut self.requests.flows[flow]);
        self.bound(now, flow);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        let now = self.now(now);
        if let Some(tag) = self.requeued.pop() {
            self.end_wait(now, self.requests.slot(tag).request.process);
            if self.requests.slot(tag).predicted == 0 {
                self.account(now, tag);
            }
            self.issue(now, tag);
            return Some(tag);
        }
        if self.requests.queued == 0 {
            return None;
        }
        self.timer = None;
        let limit = self.limit();
        self.free(now, limit);
        let (tag, overdue) = self.choose(now)?;
        if !overdue && self.waits(now, tag) {
            return None;
        }
        self.give(now, tag, overdue);
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let (now, tag) = (self.now(now), done.request.tag);
        let before = self.mark;
        let slot = *self.requests.slot(tag);
        self.mark = now;
        debug_assert_eq!(slot.position, Position::InFlight, "a completed request was dispatched");
        let flow = slot.flow as usize;
        self.in_flight -= 1;
        self.writes_in_flight -= u32::from(slot.request.op == Op::Write);
        self.random_in_flight -= u32::from(slot.reads > 0);
        self.requests.flows[flow].in_flight -= 1;
        self.measure(now, tag, before);
        self.requests.forget(tag);
        let process = &mut self.requests.processes[slot.request.process as usize];
        process.busy -= 1;
        if slot.request.sync && process.queued == 0 && process.busy == 0 {
            process.done = now.max(1);
            if self.requests.flows[flow].start < self.shares.virtual_time {
                self.last = Some(slot.request.process);
            }
        }
        let of = &mut self.requests.flows[flow];
        self.shares.touched(now, of);
        self.shares.count(flow, of);
        self.shares.release(&mut self.requests, flow);
    }

    fn len(&self) -> usize {
        self.requests.queued + self.requeued.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer.map(|timer| Time::from_ns(timer.saturating_sub(self.ahead)))
    }

    fn on_timer(&mut self, now: Time) {
        self.now(now);
        self.timer = None;
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        match request.op {
            Op::Write if self.leaves_tags => DepthLimit::OfKind(self.nr_tags - self.nr_tags / 4),
            _ => DepthLimit::None,
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, how: Merge) -> bool {
        let slot = self.requests.slot(request.tag);
        how == Merge::Back
            && slot.position == Position::Queued
            && self.shares.known_flow(bio.process) == Some(slot.flow as usize)
            && (request.sync, request.priority.class) == (bio.sync, bio.priority.class)
    }

    fn merged(&mut self, _now: Time, _before: &BlockRequest, after: &BlockRequest) {
        self.requests.grow(after);
        if after.sync {
            self.requests.processes[after.process as usize].last_end = after.end();
        }
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let now = self.now(now);
        let of = &mut self.requests.processes[gone.process as usize];
        of.queued = of.queued.saturating_sub(1);
        let most = self.most();
        self.requests.absorb(now, survivor.tag, gone.tag, most);
    }

    fn exited(&mut self, _now: Time, process: u32) {
        self.shares.exited(&mut self.requests, process);
        self.last = self.last.filter(|last| *last != process);
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        self.shares.declare(&mut self.requests, process, flow, spec);
    }

    fn get(&self, tunable: &str) -> u64 {
        self.settings.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.settings.set(tunable, value);
        self.refresh();
    }

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.counts)
    }
}
