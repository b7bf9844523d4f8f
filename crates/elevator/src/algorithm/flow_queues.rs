//! What the schedulers of flows have in common, so that the file of each holds its rule and nothing
//! else.
//!
//! Papers know flows, each with a queue, and a rule that says whose request is next. The rest
//! (which process belongs to which flow, merges, requeued requests, counts of what the device has)
//! is bookkeeping that papers leave out, and it is the same for all of them. [`FlowQueues`] are its
//! data; `flow_elevator.rs` is an elevator around them and a rule.
//!
//! A queue is in order of arrival. A rule that groups requests takes them out of their queues by
//! [`FlowQueues::detach`] and keeps their tags itself. Proposed, as no paper speaks of it: requests
//! of different flows never join; nothing joins a request that was detached or requeued; a requeued
//! request goes first and is not charged again; a flow outlives its processes.
//!
//! Cost: constant for each request, and what the rule needs.

use crate::chain::{Chain, Links};
use crate::flows::Flows;
use crate::request::BlockRequest;

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// In the queue of its flow.
    Queued,
    /// In a group of the rule.
    Detached,
    /// Requeued: before everything else.
    Head,
    InFlight,
}

/// What is known of a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) request: BlockRequest,
    pub(super) flow: usize,
    /// Order of arrival; a request that took a neighbour in has the earlier of the two.
    pub(super) rank: u64,
    pub(super) position: Position,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowQueue {
    pub(super) chain: Chain,
    pub(super) queued: usize,
    pub(super) in_flight: u32,
}

/// The requests of all flows, and where they are.
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

    /// Without requests, with flows of these weights.
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

    /// The flows: their weights and guarantees.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// The request of a tag that is held or in flight.
    #[inline]
    pub(crate) fn request(&self, tag: u32) -> &BlockRequest {
        &self.slot(tag).request
    }

    /// The flow of a request that is held or in flight.
    #[inline]
    pub(crate) fn flow_of(&self, tag: u32) -> usize {
        self.slot(tag).flow
    }

    /// The first in the queue of a flow.
    #[inline]
    pub(crate) fn oldest(&self, flow: usize) -> Option<u32> {
        self.queues.get(flow).and_then(|queue| queue.chain.oldest())
    }

    /// How many requests stand in the queue of a flow.
    #[inline]
    pub(crate) fn queued(&self, flow: usize) -> usize {
        self.queues.get(flow).map_or(0, |queue| queue.queued)
    }

    /// How many requests stand in the queues of all flows.
    pub(crate) fn all_queued(&self) -> usize {
        self.queued
    }

    /// How many requests of a flow the device has.
    #[inline]
    pub(crate) fn in_flight(&self, flow: usize) -> u32 {
        self.queues.get(flow).map_or(0, |queue| queue.in_flight)
    }

    /// How many requests the device has.
    pub(crate) fn all_in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Takes a request out of the queue of its flow, into a group of the rule; the rule returns it
    /// from its choice later.
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

    /// Room for the flow of this number.
    pub(super) fn reach(&mut self, flow: usize) {
        if self.queues.len() <= flow {
            self.queues.resize(flow + 1, FlowQueue::default());
        }
    }

    /// Enters a request; true if its tag was in flight.
    pub(super) fn enter(&mut self, request: BlockRequest, position: Position) -> bool {
        let tag = request.tag as usize;
        if self.slots.len() <= tag {
            self.slots.resize(tag + 1, None);
        }
        let was = self.slots[tag];
        let flow = was.map_or_else(|| self.flows.of(request.process), |was| was.flow);
        self.reach(flow);
        self.slots[tag] = Some(Slot { request, flow, rank: self.arrived, position });
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
        let slot = *self.slot(tag);
        debug_assert_eq!(
            slot.position,
            Position::Queued,
            "request {tag} stands in the queue of its flow"
        );
        let queue = &mut self.queues[slot.flow];
        self.links.remove(&mut queue.chain, tag);
        queue.queued -= 1;
        self.queued -= 1;
    }

    /// Gives a request to the device.
    pub(super) fn send(&mut self, tag: u32) -> BlockRequest {
        let slot = *self.slot(tag);
        match slot.position {
            Position::Queued => self.unlink(tag),
            Position::Detached => self.detached -= 1,
            Position::Head => {}
            Position::InFlight => unreachable!("request {tag} is not in flight yet"),
        }
        self.queues[slot.flow].in_flight += 1;
        self.in_flight += 1;
        self.slot_mut(tag).position = Position::InFlight;
        slot.request
    }

    /// The survivor takes the place of `gone` if that is the earlier; `gone` is held no more.
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
