//! The variants: Linux's bfq, and the core it grew from: B-WF2Q+ over flows with budgets in
//! sectors, where each flow has the device to itself in its turn and is idled for.
//!
//! The core has one queue per flow ([`crate::Flows`]), for all its requests, in one class. It has
//! no weight raising, bursts, classes, preemption, extra charges or depth limits, and always idles.
//! `bfq-2010` adds feedback on budgets and a time limit that charges the whole budget (recalled);
//! `hybrid` has neither (proposed).

use super::{Bfq, budget};
use crate::kind::Build;
use crate::request::BlockRequest;
use crate::scheduler::Elevator;
use crate::vocabulary::Time;

/// In sectors: 2 MiB.
const CORE_BUDGET: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Linux,
    Paper,
    Hybrid,
}

impl Variant {
    pub(crate) fn boxed(self, build: &Build) -> Box<dyn Elevator> {
        let mut bfq = Bfq::new(build);
        bfq.variant = self;
        if self != Variant::Linux {
            bfq.tree.plain = true;
            bfq.settings.low_latency = false;
            bfq.set_max_budget(CORE_BUDGET);
        }
        Box::new(bfq)
    }

    pub(super) fn is_linux(self) -> bool {
        self == Variant::Linux
    }

    pub(super) fn times_out(self) -> bool {
        self != Variant::Hybrid
    }

    pub(super) fn feeds_back(self) -> bool {
        self != Variant::Hybrid
    }
}

impl Bfq {
    /// None: unknown flow.
    pub(super) fn flow_of(&self, request: &BlockRequest) -> Option<u32> {
        self.flows.known_flow(request.process).map(|flow| flow as u32)
    }

    pub(super) fn queue_in_core(&mut self, now: Time, request: &BlockRequest) -> u32 {
        let flow = self.flows.flow_of(request.process);
        let wanted = (1, self.flows.weight(flow));
        if let Some(id) = self.process(flow as u32).sync {
            let entity = self.tree.get_mut(id);
            entity.changed |= entity.wanted != wanted;
            entity.wanted = wanted;
            return id;
        }
        let id = self.create(now, true, 0, wanted);
        self.queue_mut(id).users = 1;
        self.assign(flow as u32, Some(id));
        id
    }

    pub(super) fn first_budget(&self) -> u64 {
        if self.variant.feeds_back() { 2 * self.device_budget() / 3 } else { self.device_budget() }
    }

    pub(super) fn core_budget(&self) -> Option<u64> {
        (!self.variant.is_linux() && self.settings.max_budget > 0)
            .then_some(self.settings.max_budget)
    }

    /// A timed-out turn costs the whole budget.
    pub(super) fn charge_core(&mut self, id: u32, why: budget::Expiry) {
        if why == budget::Expiry::Timeout {
            self.charge(id, self.tree.get(id).left());
        }
    }
}
