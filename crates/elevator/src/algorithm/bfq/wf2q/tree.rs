//! One service tree of B-WF2Q+: the entities of one class in one group, by virtual times.
//!
//! Virtual time is sectors divided by weight, in fixed point with 22 fractional bits.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-wf2q.c; confirmed. The kernel keeps one augmented tree of those that wait. Here those that are
//! eligible (start ≤ virtual time) and those that are not yet are kept apart: while entities wait virtual time only grows, so each
//! crosses once, and every step is logarithmic.

use std::collections::BTreeSet;

use super::{Entity, Id};

const FRACTION_BITS: u32 = 22;

/// Virtual time that `sectors` take at a weight.
#[inline]
pub(crate) fn delta(sectors: u64, weight: u64) -> u64 {
    (sectors << FRACTION_BITS) / weight
}

/// The entities of one class that wait for service, and those that had something until lately.
#[derive(Debug, Default)]
pub(super) struct ServiceTree {
    pub(super) vtime: u64,
    /// Weights of all: waiting, in service, and remembered.
    pub(super) weights: u64,
    /// By finish.
    eligible: BTreeSet<(u64, u64, Id)>,
    /// By start, then finish.
    future: BTreeSet<(u64, u64, u64, Id)>,
    /// Without requests, but their finish was ahead of virtual time; by finish.
    remembered: BTreeSet<(u64, u64, Id)>,
}

impl ServiceTree {
    /// Whether no entity waits for service.
    pub(super) fn is_empty(&self) -> bool {
        self.eligible.is_empty() && self.future.is_empty()
    }

    pub(super) fn insert(&mut self, id: Id, entity: &Entity) {
        if entity.start <= self.vtime {
            self.eligible.insert((entity.finish, entity.order, id));
        } else {
            self.future.insert((entity.start, entity.finish, entity.order, id));
        }
    }

    pub(super) fn extract(&mut self, id: Id, entity: &Entity) {
        let found = self.eligible.remove(&(entity.finish, entity.order, id))
            || self.future.remove(&(entity.start, entity.finish, entity.order, id));
        assert!(found, "entity {id} waits in the tree");
    }

    pub(super) fn remember(&mut self, id: Id, entity: &Entity) {
        self.remembered.insert((entity.finish, entity.order, id));
    }

    pub(super) fn recall(&mut self, id: Id, entity: &Entity) {
        let found = self.remembered.remove(&(entity.finish, entity.order, id));
        assert!(found, "entity {id} is remembered");
    }

    /// Virtual time has grown: the remembered entity that it has passed, one at each step; it is to be forgotten. If nobody waits and
    /// all are passed, virtual time goes back to the last finish, unless it is `plain`.
    pub(super) fn passed(&mut self, plain: bool) -> Option<Id> {
        let &(first, _, id) = self.remembered.first()?;
        if !plain
            && self.is_empty()
            && let Some(&(last, ..)) = self.remembered.last()
            && last <= self.vtime
        {
            self.vtime = last;
        }
        (first <= self.vtime).then_some(id)
    }

    /// The smallest start of those that wait, if all are ahead of virtual time.
    pub(super) fn jump(&mut self) -> Option<u64> {
        self.promote();
        if self.eligible.is_empty() { self.future.first().map(|&(start, ..)| start) } else { None }
    }

    /// The entity to serve next: the smallest finish of those that are eligible, of equal ones the first inserted; if none is, virtual
    /// time is taken to be the smallest start.
    pub(super) fn first(&mut self) -> Option<Id> {
        self.promote();
        self.eligible.first().map(|&(.., id)| id).or_else(|| self.future.first().map(|&(.., id)| id))
    }

    fn promote(&mut self) {
        while let Some(&(start, finish, order, id)) = self.future.first()
            && start <= self.vtime
        {
            self.future.pop_first();
            self.eligible.insert((finish, order, id));
        }
    }
}
