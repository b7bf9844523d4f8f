//! An elevator around a [`FlowRule`] and [`FlowQueues`]: the common part of flow schedulers.

use crate::algorithm::flow_queues::{FlowQueues, Position};
use crate::algorithm::flow_rule::FlowRule;
use crate::kind::Build;
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Anticipation, Disk, Elevator, FlowSpec, InsertAt, Merge};
use crate::vocabulary::Time;

#[derive(Debug)]
pub(crate) struct FlowElevator<R> {
    rule: R,
    queues: FlowQueues,
    /// The next one last; almost always empty.
    head: Vec<u32>,
}

impl<R: FlowRule + 'static> FlowElevator<R> {
    pub(crate) fn boxed(build: &Build, rule: R) -> Box<dyn Elevator> {
        Box::new(FlowElevator { rule, queues: FlowQueues::new(build.nr_tags), head: Vec::new() })
    }
}

impl<R: FlowRule> Elevator for FlowElevator<R> {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        let position = if at == InsertAt::Head { Position::Head } else { Position::Queued };
        let came_back = self.queues.enter(request, position);
        if position == Position::Queued {
            self.rule.arrived(now, &self.queues, request.tag);
        } else {
            self.head.push(request.tag);
            if came_back {
                self.rule.returned(now, &self.queues, request.tag);
            }
        }
    }

    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        if let Some(tag) = self.head.pop() {
            self.queues.send(tag);
            self.rule.sent_again(now, &self.queues, tag);
            return Some(tag);
        }
        if self.queues.all_queued() + self.queues.detached == 0 {
            return None;
        }
        let tag = self.rule.choose(now, &mut self.queues, disk)?;
        self.queues.send(tag);
        self.rule.sent(now, &self.queues, tag);
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let tag = done.request.tag as usize;
        let slot = self.queues.slots[tag].take().expect("a completed request was dispatched");
        debug_assert_eq!(slot.position, Position::InFlight, "a completed request was dispatched");
        self.queues.queues[slot.flow].in_flight -= 1;
        self.queues.in_flight -= 1;
        self.rule.completed(now, &self.queues, slot.flow, done);
    }

    fn len(&self) -> usize {
        self.queues.queued + self.queues.detached + self.head.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.rule.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.rule.on_timer(now, &self.queues);
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        let slot = self.queues.slot(request.tag);
        slot.position == Position::Queued
            && self.queues.flows.known_flow(bio.process) == Some(slot.flow)
    }

    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.queues.slot_mut(before.tag).request = *after;
        self.rule.grown(now, &self.queues, before, after);
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let flow = self.queues.absorb(survivor.tag, gone.tag);
        self.rule.absorbed(now, &self.queues, flow, survivor, gone);
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        let number = self.queues.flows.declare(process, flow, spec);
        self.queues.reach(number);
        self.rule.declared(&self.queues, number);
    }

    fn get(&self, tunable: &str) -> u64 {
        self.rule.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.rule.set(tunable, value);
    }

    fn anticipation(&self) -> Option<Anticipation> {
        self.rule.anticipation()
    }
}

#[cfg(test)]
mod tests;
