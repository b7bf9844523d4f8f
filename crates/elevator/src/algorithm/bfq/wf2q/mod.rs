//! Hierarchical B-WF2Q+: shares by weight among groups and then within a group, by virtual times.
//!
//! An entity is a queue, or a group that represents its next queue. The root and each group have a
//! service tree per class (`tree`), an entity in service, and a next entity. The next one is looked
//! up on changes, not when it is needed, because virtual time jumps at the look-up.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-wf2q.c; confirmed. Departure: one level of groups.

mod steps;
mod tree;
mod waiting;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tree::ServiceTree;
pub(super) use tree::delta;

/// A queue, or a group from [`GROUPS`] on.
pub(super) type Id = u32;
const GROUPS: Id = 1 << 31;
const MAX_WEIGHT: u64 = 1000;
/// The class of groups: best effort.
const GROUP_CLASS: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TreeState {
    #[default]
    Out,
    /// In the active tree.
    Active,
    /// In the idle tree, without requests.
    Idle,
    /// In service, in no tree.
    Served,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entity {
    pub(super) start: u64,
    /// Finish of the whole budget while waiting, of the service received afterwards.
    pub(super) finish: u64,
    /// In sectors.
    pub(super) budget: u64,
    /// In sectors.
    pub(super) service: u64,
    pub(super) weight: u64,
    /// The weight without raising.
    pub(super) base: u64,
    /// wr_coeff; 1: not raised.
    pub(super) coefficient: u64,
    /// In force: 0 real time, 1 best effort, 2 idle.
    pub(super) class: usize,
    /// Class and weight, not yet in force.
    pub(super) wanted: (usize, u64),
    /// prio_changed.
    pub(super) changed: bool,
    pub(super) state: TreeState,
    /// 0: the root.
    pub(super) group: u32,
    /// Its weight in `weights`, if it has requests held or in flight.
    pub(super) counted: Option<u64>,
    /// Counts as having pending requests.
    pending: bool,
    /// Breaks ties by insertion.
    pub(super) order: u64,
}

impl Entity {
    pub(super) fn left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }

    /// Whether it is in a tree or in service.
    pub(super) fn is_known(&self) -> bool {
        self.state != TreeState::Out
    }
}

#[derive(Debug, Default)]
struct Group {
    /// Unused for the root.
    entity: Entity,
    trees: [ServiceTree; 3],
    in_service: Option<Id>,
    next: Option<Id>,
    idle_class_mark: u64,
    active: u32,
    /// Its queues with pending requests.
    pending_queues: u32,
    allocated: u32,
}

#[derive(Debug)]
pub(super) struct Wf2q {
    entities: Vec<Entity>,
    groups: Vec<Group>,
    /// queue_weights_tree: queues with requests per weight, without raised ones.
    pub(super) weights: BTreeMap<u64, u32>,
    pub(super) pending_groups: u32,
    /// Whether groups are counted as in 6.1.
    pub(super) old: bool,
    /// The published algorithm: looks up the next entity when needed, forgets all passed ones at
    /// once, and never sets virtual time back.
    pub(super) plain: bool,
    /// No longer referenced here.
    pub(super) forgotten: Vec<Id>,
    inserted: u64,
    /// In jiffies.
    idle_class_ticks: u64,
    pub(super) jiffies: u64,
}

impl Wf2q {
    pub(super) fn new(idle_class_ticks: u64) -> Wf2q {
        Wf2q {
            entities: Vec::new(),
            groups: vec![Group::default()],
            weights: BTreeMap::new(),
            pending_groups: 0,
            old: false,
            plain: false,
            forgotten: Vec::new(),
            inserted: 0,
            idle_class_ticks,
            jiffies: 0,
        }
    }

    pub(super) fn add(&mut self, id: Id, group: u32, wanted: (usize, u64)) {
        if self.entities.len() <= id as usize {
            self.entities.resize(id as usize + 1, Entity::default());
        }
        let (class, weight) = wanted;
        self.entities[id as usize] = Entity {
            group,
            wanted,
            class,
            weight,
            base: weight,
            coefficient: 1,
            changed: true,
            ..Entity::default()
        };
    }

    /// Returns the group's number.
    pub(super) fn add_group(&mut self, weight: u64) -> u32 {
        let wanted = (GROUP_CLASS, weight);
        let entity = Entity {
            wanted,
            class: GROUP_CLASS,
            weight,
            base: weight,
            coefficient: 1,
            ..Entity::default()
        };
        self.groups.push(Group { entity, idle_class_mark: self.jiffies, ..Group::default() });
        self.groups.len() as u32 - 1
    }

    pub(super) fn reweigh_group(&mut self, group: u32, weight: u64) {
        let entity = &mut self.groups[group as usize].entity;
        entity.changed = entity.changed || entity.wanted.1 != weight;
        entity.wanted.1 = weight;
    }

    #[inline]
    pub(super) fn get(&self, id: Id) -> &Entity {
        if id < GROUPS {
            &self.entities[id as usize]
        } else {
            &self.groups[(id - GROUPS) as usize].entity
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: Id) -> &mut Entity {
        if id < GROUPS {
            &mut self.entities[id as usize]
        } else {
            &mut self.groups[(id - GROUPS) as usize].entity
        }
    }

    pub(super) fn allocated(&mut self, id: Id, change: i32) {
        let group = self.get(id).group as usize;
        let allocated = &mut self.groups[group].allocated;
        *allocated =
            allocated.checked_add_signed(change).expect("a group has the requests of its queues");
    }

    /// None: the root.
    pub(super) fn group_of(&self, id: Id) -> Option<(&Entity, u32)> {
        let group = &self.groups[self.get(id).group as usize];
        (self.get(id).group > 0).then_some((&group.entity, group.allocated))
    }

    /// Total weight in a queue's group, or the root.
    pub(super) fn class_weights(&self, id: Option<Id>, class: usize) -> u64 {
        let group = id.map_or(0, |id| self.get(id).group as usize);
        self.groups[group].trees[class].weights
    }

    pub(super) fn group_weight(&self, id: Id) -> u64 {
        self.parent(id).map_or(self.get(id).weight, |group| self.get(group).weight)
    }

    /// bfq_activate_bfqq. `recover`: continues from its old finish.
    pub(super) fn activate(&mut self, id: Id, recover: bool) {
        self.enter(id, recover, false, false);
    }

    /// bfq_requeue_bfqq. `served`: in service; `expires`: its turn is over.
    pub(super) fn requeue(&mut self, id: Id, served: bool, expires: bool) {
        self.enter(id, false, served, expires);
    }

    /// bfq_deactivate_entity.
    pub(super) fn retire(&mut self, id: Id, expires: bool) {
        let mut current = Some(id);
        let mut upper = None;
        while let Some(id) = current {
            upper = self.parent(id);
            if !self.leave(id) {
                return;
            }
            let group = self.get(id).group as usize;
            if self.groups[group].next == Some(id) {
                self.update_next(group, None, expires);
            }
            if self.groups[group].next.is_some() || self.groups[group].in_service.is_some() {
                break;
            }
            current = upper;
        }
        while let Some(id) = upper {
            self.put_back(id);
            let group = self.get(id).group as usize;
            if !self.update_next(group, Some(id), expires) && !expires {
                break;
            }
            upper = self.parent(id);
        }
    }

    /// bfq_bfqq_served.
    pub(super) fn charge(&mut self, id: Id, sectors: u64) {
        let mut current = Some(id);
        while let Some(id) = current {
            self.get_mut(id).service += sectors;
            let tree = self.tree(id);
            tree.vtime += delta(sectors, tree.weights);
            self.forget_idle(id);
            current = self.parent(id);
        }
    }

    /// bfq_get_next_queue.
    pub(super) fn serve_next(&mut self) -> Option<Id> {
        let mut group = 0;
        if self.plain {
            self.groups[0].next = self.look_up(0, true);
        }
        let queue = loop {
            let id = self.groups[group].next?;
            self.groups[group].in_service = Some(id);
            // A group with more waiting queues stays in its tree.
            if id < GROUPS || self.groups[(id - GROUPS) as usize].active == 1 {
                self.extract(id);
                self.get_mut(id).state = TreeState::Served;
            }
            if id < GROUPS {
                break id;
            }
            group = (id - GROUPS) as usize;
        };
        let mut current = Some(queue);
        while let Some(id) = current {
            let group = self.get(id).group as usize;
            if !self.update_next(group, None, false) {
                break;
            }
            current = self.parent(id);
        }
        Some(queue)
    }

    /// __bfq_bfqd_reset_in_service.
    pub(super) fn end_service(&mut self, id: Id) {
        let mut current = Some(id);
        while let Some(id) = current {
            let group = self.get(id).group as usize;
            self.groups[group].in_service = None;
            current = self.parent(id);
        }
        if !self.get(id).is_known() {
            self.forgotten.push(id);
        }
    }

    pub(super) fn reset_group_service(&mut self, id: Id) {
        if let Some(group) = self.parent(id) {
            self.get_mut(group).service = 0;
        }
    }

    /// next_queue_may_preempt.
    pub(super) fn may_preempt(&self) -> bool {
        self.groups[0].next != self.groups[0].in_service
    }

    /// __bfq_entity_update_weight_prio.
    pub(super) fn update_weight(&mut self, id: Id, class_too: bool) {
        let entity = *self.get(id);
        if !entity.changed {
            return;
        }
        let is_queue = id < GROUPS;
        self.tree(id).weights -= entity.weight;
        let of = self.get_mut(id);
        if of.wanted.1 != of.base {
            of.base = of.wanted.1.clamp(1, MAX_WEIGHT);
        }
        if is_queue && class_too {
            of.class = of.wanted.0;
        }
        of.changed = is_queue && of.class != of.wanted.0;
        let weight = of.base * of.coefficient;
        if is_queue && weight != entity.weight {
            self.uncount_weight(id);
        }
        let of = self.get_mut(id);
        of.weight = weight;
        if is_queue && weight != entity.weight && of.coefficient == 1 {
            self.count_weight(id);
        }
        let moved = self.get(id).class != entity.class;
        let tree = self.tree(id);
        tree.weights += weight;
        let vtime = tree.vtime;
        if moved {
            self.get_mut(id).start = vtime;
        }
    }

    /// bfq_weights_tree_add.
    pub(super) fn count_weight(&mut self, id: Id) {
        let entity = self.get_mut(id);
        if entity.counted.is_none() {
            entity.counted = Some(entity.weight);
            let weight = entity.weight;
            *self.weights.entry(weight).or_insert(0) += 1;
        }
    }

    /// bfq_weights_tree_remove.
    pub(super) fn uncount_weight(&mut self, id: Id) {
        let Some(weight) = self.get_mut(id).counted.take() else { return };
        let count = self.weights.get_mut(&weight).expect("a counted weight is in the table");
        *count -= 1;
        if *count == 0 {
            self.weights.remove(&weight);
        }
    }

    /// bfq_add_bfqq_in_groups_with_pending_reqs (since 6.2; 6.1 counts groups at activation).
    pub(super) fn add_pending(&mut self, id: Id) {
        if !self.old && !self.get(id).pending {
            self.get_mut(id).pending = true;
            let group = self.get(id).group as usize;
            self.groups[group].pending_queues += 1;
            self.pending_groups += u32::from(self.groups[group].pending_queues == 1);
        }
    }

    /// bfq_del_bfqq_in_groups_with_pending_reqs.
    pub(super) fn remove_pending(&mut self, id: Id) {
        if self.old {
            if let Some(parent) = self.parent(id) {
                let group = &mut self.groups[(parent - GROUPS) as usize];
                if group.next.is_none()
                    && group.in_service.is_none()
                    && std::mem::take(&mut group.entity.pending)
                {
                    self.pending_groups -= 1;
                }
            }
        } else if std::mem::take(&mut self.get_mut(id).pending) {
            let group = self.get(id).group as usize;
            self.groups[group].pending_queues -= 1;
            self.pending_groups -= u32::from(self.groups[group].pending_queues == 0);
        }
    }

    /// Call it only while nothing waits.
    pub(super) fn count_groups_as(&mut self, old: bool) {
        self.old = old;
    }

    /// Waiting queues, most recently inserted first.
    pub(super) fn waiting(&self) -> Vec<Id> {
        let of = |(_, entity): &(Id, &Entity)| entity.state == TreeState::Active;
        let mut waiting: Vec<(Id, &Entity)> = (0..).zip(&self.entities).filter(of).collect();
        waiting.sort_unstable_by_key(|(_, entity)| std::cmp::Reverse(entity.order));
        waiting.into_iter().map(|(id, _)| id).collect()
    }

    /// Whether group counts require idling.
    pub(super) fn groups_differ(&self) -> bool {
        self.pending_groups > u32::from(!self.old)
    }
}
