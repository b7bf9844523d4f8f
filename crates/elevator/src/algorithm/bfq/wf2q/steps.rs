//! The steps of B-WF2Q+'s operations: entities enter and leave trees, and the next one is found.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-wf2q.c; confirmed.

use super::tree::{ServiceTree, delta};
use super::{Entity, GROUPS, Id, TreeState, Wf2q};

impl Wf2q {
    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        let group = self.get(id).group;
        (group > 0).then_some(GROUPS + group)
    }

    pub(super) fn tree(&mut self, id: Id) -> &mut ServiceTree {
        let Entity { group, class, .. } = *self.get(id);
        &mut self.groups[group as usize].trees[class]
    }

    /// bfq_activate_requeue_entity.
    pub(super) fn enter(&mut self, id: Id, recover: bool, served: bool, expires: bool) {
        let mut current = Some(id);
        while let Some(id) = current {
            let group = self.get(id).group as usize;
            if self.groups[group].in_service == Some(id) || self.get(id).state == TreeState::Active
            {
                self.put_back(id);
            } else {
                self.wake(id, recover);
            }
            if !self.update_next(group, Some(id), expires) && !served {
                break;
            }
            current = self.parent(id);
        }
    }

    /// __bfq_activate_entity.
    fn wake(&mut self, id: Id, recover: bool) {
        let vtime = self.tree(id).vtime;
        let entity = *self.get(id);
        let shifted = recover && vtime > entity.finish;
        let least = if shifted { entity.finish } else { vtime };
        if entity.state == TreeState::Idle {
            self.tree(id).recall(id, &entity);
            self.get_mut(id).start = least.max(entity.finish);
        } else {
            self.get_mut(id).start = least;
            self.tree(id).weights += entity.weight;
        }
        if self.old && id >= GROUPS && !entity.pending {
            self.get_mut(id).pending = true;
            self.pending_groups += 1;
        }
        self.sort_in(id, shifted);
    }

    /// __bfq_requeue_entity.
    pub(super) fn put_back(&mut self, id: Id) {
        let entity = *self.get(id);
        if entity.state == TreeState::Active {
            self.extract(id);
        }
        if self.groups[entity.group as usize].in_service == Some(id) {
            let entity = self.get_mut(id);
            entity.start += delta(entity.service, entity.weight);
        }
        self.sort_in(id, false);
    }

    /// bfq_update_fin_time_enqueue.
    fn sort_in(&mut self, id: Id, shifted: bool) {
        self.update_weight(id, true);
        let vtime = self.tree(id).vtime;
        let order = self.inserted;
        self.inserted += 1;
        let entity = self.get_mut(id);
        entity.finish = entity.start + delta(entity.budget, entity.weight);
        if shifted && vtime > entity.finish {
            let late = (vtime - entity.finish) / entity.coefficient;
            entity.start += late;
            entity.finish += late;
        }
        entity.state = TreeState::Active;
        entity.order = order;
        let entity = *entity;
        let group = &mut self.groups[entity.group as usize];
        group.active += 1;
        group.trees[entity.class].insert(id, &entity);
    }

    pub(super) fn extract(&mut self, id: Id) {
        let entity = *self.get(id);
        let group = &mut self.groups[entity.group as usize];
        group.active -= 1;
        group.trees[entity.class].extract(id);
    }

    /// __bfq_deactivate_entity. Returns false if it was in no tree.
    pub(super) fn leave(&mut self, id: Id) -> bool {
        let entity = *self.get(id);
        if !entity.is_known() {
            return false;
        }
        let group = entity.group as usize;
        let served = self.groups[group].in_service == Some(id);
        match entity.state {
            TreeState::Active => self.extract(id),
            TreeState::Idle if !served => self.tree(id).recall(id, &entity),
            _ => {}
        }
        let entity = self.get_mut(id);
        entity.finish = entity.start + delta(entity.service, entity.weight);
        if served {
            self.groups[group].in_service = None;
        } else {
            entity.service = 0;
        }
        if self.get(id).finish > self.tree(id).vtime {
            let order = self.inserted;
            self.inserted += 1;
            let entity = self.get_mut(id);
            (entity.state, entity.order) = (TreeState::Idle, order);
            let entity = *entity;
            self.tree(id).remember(id, &entity);
        } else {
            self.forget(id, served);
        }
        true
    }

    /// bfq_forget_entity.
    fn forget(&mut self, id: Id, served: bool) {
        let weight = self.get(id).weight;
        self.tree(id).weights -= weight;
        self.get_mut(id).state = TreeState::Out;
        // The entity in service is still referenced.
        if id < GROUPS && !served {
            self.forgotten.push(id);
        }
    }

    /// bfq_forget_idle, repeated for the published algorithm.
    pub(super) fn forget_idle(&mut self, id: Id) {
        let plain = self.plain;
        while let Some(passed) = self.tree(id).passed(plain) {
            let entity = *self.get(passed);
            self.tree(id).recall(passed, &entity);
            let served = self.groups[entity.group as usize].in_service == Some(passed);
            self.forget(passed, served);
            if !plain {
                break;
            }
        }
    }

    /// bfq_update_next_in_service. Returns whether the group's own place may change.
    pub(super) fn update_next(&mut self, group: usize, new: Option<Id>, expires: bool) -> bool {
        let before = self.groups[group].next;
        let mut next = None;
        if let Some(new) = new.filter(|_| new != before) {
            let entity = *self.get(new);
            let overtakes = before.is_none_or(|before| {
                let other = self.get(before);
                entity.class == other.class
                    && entity.start <= self.groups[group].trees[entity.class].vtime
                    && other.finish > entity.finish
            });
            next = overtakes.then_some(new);
        }
        let next = if self.plain { None } else { next.or_else(|| self.look_up(group, expires)) };
        let mut changes = false;
        if let Some(next) = next {
            changes = before.is_none();
            if group > 0 {
                let budget = self.get(next).budget;
                let own = &mut self.groups[group].entity;
                changes |= own.budget > budget;
                own.budget = budget;
            }
        }
        self.groups[group].next = next;
        changes
    }

    /// bfq_lookup_next_entity.
    pub(super) fn look_up(&mut self, group: usize, expires: bool) -> Option<Id> {
        let mut first = 0;
        let of = &mut self.groups[group];
        if self.jiffies > of.idle_class_mark + self.idle_class_ticks {
            first = if of.trees[2].is_empty() { 0 } else { 2 };
            of.idle_class_mark = self.jiffies;
        }
        let busy = of.in_service.is_some() && !expires;
        for class in first..3 {
            let tree = &mut self.groups[group].trees[class];
            if tree.is_empty() {
                continue;
            }
            // Virtual time does not jump while an entity is in service.
            if let Some(jump) = tree.jump().filter(|_| !busy) {
                tree.vtime = jump;
                let plain = self.plain;
                while let Some(passed) = self.groups[group].trees[class].passed(plain) {
                    let entity = *self.get(passed);
                    self.groups[group].trees[class].recall(passed, &entity);
                    self.forget(passed, self.groups[group].in_service == Some(passed));
                    if !plain {
                        break;
                    }
                }
            }
            return self.groups[group].trees[class].first(self.plain);
        }
        None
    }
}
