//! The common part of flow schedulers, so that each file holds only its rule: flows, merges,
//! requeues and counts of requests in flight. `flow_elevator.rs` combines these queues with a rule.
//!
//! A queue is in order of arrival. A rule that groups requests removes them by
//! [`FlowQueues::detach`] and keeps their tags. Proposed: requests of different flows never merge;
//! nothing merges with a detached or requeued request; a requeued request goes first and is not
//! charged again; a flow outlives its processes. Constant time per request.

use crate::chain::{Chain, Links};
use crate::flows::Flows;
use crate::request::BlockRequest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Queued,
    Detached,
    Head,
    InFlight,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) request: BlockRequest,
    pub(super) flow: usize,
    /// Order of arrival; the earlier one after a merge.
    pub(super) rank: u64,
    pub(super) position: Position,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowQueue {
    pub(super) chain: Chain,
    pub(super) queued: usize,
    pub(super) in_flight: u32,
}

#[derive(Debug)]
pub(crate) struct FlowQueues {
    pub(super) flows: Flows,
    pub(super) queues: Vec<FlowQueue>,
    pub(super) slots: Vec<Option<Slot>>,
    pub(super) links: Links,
    pub(super) arrived: u64,
    pub(super) queued: usize,
    pub(super) detached: usize,
    pub(super) in_flight: u32,
}

impl FlowQueues {
    pub(super) fn new(nr_tags: u32) -> FlowQueues {
        FlowQueues {
            flows: Flows::default(),
            queues: Vec::new(),
            slots: vec![None; nr_tags as usize],
            links: Links::new(nr_tags),
            arrived: 0,
            queued: 0,
            detached: 0,
            in_flight: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_weights(weights: &[u32]) -> FlowQueues {
        let mut queues = FlowQueues::new(1);
        for (number, weight) in (0..).zip(weights) {
            let spec = crate::scheduler::FlowSpec { weight: Some(*weight), ..Default::default() };
            queues.flows.declare(number, number, &spec);
            queues.reach(number as usize);
        }
        queues
    }

    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    #[inline]
    pub(crate) fn request(&self, tag: u32) -> &BlockRequest {
        &self.slot(tag).request
    }

    #[inline]
    pub(crate) fn flow_of(&self, tag: u32) -> usize {
        self.slot(tag).flow
    }

    #[inline]
    pub(crate) fn oldest(&self, flow: usize) -> Option<u32> {
        self.queues.get(flow).and_then(|queue| queue.chain.oldest())
    }

    #[inline]
    pub(crate) fn queued(&self, flow: usize) -> usize {
        self.queues.get(flow).map_or(0, |queue| queue.queued)
    }

    pub(crate) fn all_queued(&self) -> usize {
        self.queued
    }

    #[inline]
    pub(crate) fn in_flight(&self, flow: usize) -> u32 {
        self.queues.get(flow).map_or(0, |queue| queue.in_flight)
    }

    pub(crate) fn all_in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Moves a request to a group of the rule, which returns it later.
    pub(crate) fn detach(&mut self, tag: u32) {
        self.unlink(tag);
        self.slot_mut(tag).position = Position::Detached;
        self.detached += 1;
    }

    #[inline]
    pub(super) fn slot(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag belongs to a request of the elevator")
    }

    pub(super) fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    pub(super) fn reach(&mut self, flow: usize) {
        if self.queues.len() <= flow {
            self.queues.resize(flow + 1, FlowQueue::default());
        }
    }

    /// Returns whether its tag was in flight.
    pub(super) fn enter(&mut self, request: &BlockRequest, position: Position) -> bool {
        let tag = request.tag as usize;
        if self.slots.len() <= tag {
            self.slots.resize(tag + 1, None);
        }
        let was = self.slots[tag].map(|was| was.flow);
        let flow = was.unwrap_or_else(|| self.flows.flow_of(request.process));
        self.reach(flow);
        self.slots[tag] = Some(Slot { request: *request, flow, rank: self.arrived, position });
        self.arrived += 1;
        if position == Position::Queued {
            let queue = &mut self.queues[flow];
            self.links.push_back(&mut queue.chain, request.tag);
            queue.queued += 1;
            self.queued += 1;
        }
        if was.is_some() {
            self.queues[flow].in_flight -= 1;
            self.in_flight -= 1;
        }
        was.is_some()
    }

    fn unlink(&mut self, tag: u32) {
        let Slot { flow, position, .. } = *self.slot(tag);
        debug_assert_eq!(
            position,
            Position::Queued,
            "request {tag} stands in the queue of its flow"
        );
        let queue = &mut self.queues[flow];
        self.links.remove(&mut queue.chain, tag);
        queue.queued -= 1;
        self.queued -= 1;
    }

    pub(super) fn send(&mut self, tag: u32) {
        let Slot { flow, position, .. } = *self.slot(tag);
        match position {
            Position::Queued => self.unlink(tag),
            Position::Detached => self.detached -= 1,
            Position::Head => {}
            Position::InFlight => unreachable!("request {tag} is not in flight yet"),
        }
        self.queues[flow].in_flight += 1;
        self.in_flight += 1;
        self.slot_mut(tag).position = Position::InFlight;
    }

    /// Removes `gone`; the survivor takes the earlier place.
    pub(super) fn absorb(&mut self, survivor: u32, gone: u32) -> usize {
        let (kept, lost) = (*self.slot(survivor), *self.slot(gone));
        if lost.rank < kept.rank {
            let chain = &mut self.queues[kept.flow].chain;
            self.links.remove(chain, survivor);
            self.links.insert_before(chain, survivor, gone);
            self.slot_mut(survivor).rank = lost.rank;
        }
        self.unlink(gone);
        self.slots[gone as usize] = None;
        kept.flow
    }
}
