//! One service tree of B-WF2Q+: the entities of one class in one group, by virtual times.
//!
//! Virtual time is sectors divided by weight, in fixed point with 22 fractional bits.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-wf2q.c; confirmed. Those that wait are in one tree
//! (`waiting`); an entity is eligible if its start is not ahead of virtual time.

use std::collections::BTreeSet;

use super::waiting::Waiting;
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
    waiting: Waiting,
    /// Without requests, but their finish was ahead of virtual time; by finish.
    remembered: BTreeSet<(u64, u64, Id)>,
}

impl ServiceTree {
    /// Whether no entity waits for service.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn insert(&mut self, id: Id, entity: &Entity) {
        self.waiting.insert(id, entity.start, entity.finish);
    }

    pub(super) fn extract(&mut self, id: Id) {
        self.waiting.remove(id);
    }

    pub(super) fn remember(&mut self, id: Id, entity: &Entity) {
        self.remembered.insert((entity.finish, entity.order, id));
    }

    pub(super) fn recall(&mut self, id: Id, entity: &Entity) {
        let found = self.remembered.remove(&(entity.finish, entity.order, id));
        assert!(found, "entity {id} is remembered");
    }

    /// Virtual time has grown: the remembered entity that it has passed, one at each step; it is to
    /// be forgotten. If nobody waits and all are passed, virtual time goes back to the last finish,
    /// unless it is `plain`.
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
    pub(super) fn jump(&self) -> Option<u64> {
        self.waiting.least_start().filter(|least| *least > self.vtime)
    }

    /// The entity to serve next: the smallest finish of those that are eligible, of equal ones the
    /// first inserted; if none is, virtual time is taken to be the smallest start. Unless it is
    /// `plain`, the search gives up as the kernel's does.
    pub(super) fn first(&self, plain: bool) -> Option<Id> {
        let vtime = self.vtime.max(self.waiting.least_start()?);
        self.waiting.first(vtime, !plain)
    }
}
