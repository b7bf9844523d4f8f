//! One service tree of B-WF2Q+: the entities of a class in a group, by virtual time (sectors /
//! weight, with 22 fractional bits).
//!
//! Source: Linux 6.1 and 6.12 block/bfq-wf2q.c; confirmed. Active entities are in one tree
//! (`waiting`); one is eligible if its start is not after virtual time.

use std::collections::BTreeSet;

use super::waiting::Waiting;
use super::{Entity, Id};

const FRACTION_BITS: u32 = 22;

/// bfq_delta.
#[inline]
pub(crate) fn delta(sectors: u64, weight: u64) -> u64 {
    (sectors << FRACTION_BITS) / weight
}

/// Active and idle entities of one class.
#[derive(Debug, Default)]
pub(super) struct ServiceTree {
    pub(super) vtime: u64,
    /// Sum over active, in-service and idle entities.
    pub(super) weights: u64,
    waiting: Waiting,
    /// The idle tree, by finish.
    remembered: BTreeSet<(u64, u64, Id)>,
}

impl ServiceTree {
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

    /// bfq_forget_idle: the next passed idle entity, to forget. If all are passed and none is
    /// active, virtual time returns to the last finish, unless `plain`.
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

    /// bfq_calc_vtime_jump.
    pub(super) fn jump(&self) -> Option<u64> {
        self.waiting.least_start().filter(|least| *least > self.vtime)
    }

    /// bfq_first_active_entity, at the smallest start if none is eligible. Only `plain` never gives
    /// up.
    pub(super) fn first(&self, plain: bool) -> Option<Id> {
        let vtime = self.vtime.max(self.waiting.least_start()?);
        self.waiting.first(vtime, !plain)
    }
}
