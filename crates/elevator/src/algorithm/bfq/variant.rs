//! Which scheduler of the family this is: Linux's bfq, or the core that it grew from.
//!
//! The core is B-WF2Q+ over flows with budgets in sectors, each flow alone with the device while it
//! is in service, and waited for. A flow is what [`crate::Flows`] says, of all its requests,
//! synchronous or not, in one class. Without: raised weights, bursts, classes, preemption, charges
//! for asynchronous or scattered requests, limits of depth, and idling where it pays.
//!
//! `bfq-2010` has the feedback on budgets and a time limit for a turn, after which the whole budget
//! is charged (recalled). `hybrid` has neither (proposed).

use super::{Bfq, budget};
use crate::kind::Build;
use crate::request::BlockRequest;
use crate::scheduler::Elevator;
use crate::vocabulary::Time;

/// The largest budget of the core by default, in sectors: 2 MiB.
const CORE_BUDGET: u64 = 4096;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Linux 6.1 or 6.12.
    Linux,
    /// The paper of 2010.
    Paper,
    /// Fixed budgets.
    Hybrid,
}

impl Variant {
    /// An elevator of this variant, with its defaults.
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

    /// Whether a turn ends after a time.
    pub(super) fn times_out(self) -> bool {
        self != Variant::Hybrid
    }

    /// Whether the next budget depends on how the last was used.
    pub(super) fn feeds_back(self) -> bool {
        self != Variant::Hybrid
    }
}

impl Bfq {
    /// The number under which the core keeps the queue of a request's flow; None: the flow is not
    /// known yet.
    pub(super) fn flow_of(&self, request: &BlockRequest) -> Option<u32> {
        self.flows.known(request.process).map(|flow| flow as u32)
    }

    /// The queue of a new request, in the core.
    pub(super) fn queue_in_core(&mut self, now: Time, request: &BlockRequest) -> u32 {
        let flow = self.flows.of(request.process);
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

    /// The largest budget before feedback and observation have had their say.
    pub(super) fn first_budget(&self) -> u64 {
        if self.variant.feeds_back() { 2 * self.device_budget() / 3 } else { self.device_budget() }
    }

    /// The largest budget that is set, if the core has one.
    pub(super) fn core_budget(&self) -> Option<u64> {
        (!self.variant.is_linux() && self.settings.max_budget > 0)
            .then_some(self.settings.max_budget)
    }

    /// What the core charges for a turn besides its sectors: a turn that took its whole time is
    /// charged its whole budget.
    pub(super) fn charge_core(&mut self, id: u32, why: budget::Expiry) {
        if why == budget::Expiry::Timeout {
            self.charge(id, self.tree.get(id).left());
        }
    }
}
