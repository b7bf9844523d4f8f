//! B-WF2Q+: who is served next, by virtual times.
//!
//! Source: Linux 6.12 block/bfq-wf2q.c; confirmed. Virtual time is sectors divided by weight, in fixed point with 22
//! fractional bits; 128 bits of it never wrap.
//!
//! The kernel keeps one augmented tree for each class. Here those that are eligible (start ≤ virtual time) and those that are
//! not yet are kept apart: virtual time only grows, so each crosses once, and every step is logarithmic. Departures: all that
//! are due are forgotten at once, the kernel forgets one at each step; virtual time is never set back when a tree runs empty.

use std::collections::{BTreeMap, BTreeSet};

const FRACTION_BITS: u32 = 22;

/// Virtual time that `sectors` take at a weight.
pub(super) fn delta(sectors: u64, weight: u64) -> u128 {
    (u128::from(sectors) << FRACTION_BITS) / u128::from(weight)
}

/// The state of a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entity {
    /// Virtual start.
    pub(super) start: u128,
    /// Virtual finish: of the whole budget while it waits, of the service received afterwards.
    pub(super) finish: u128,
    /// Sectors that it may be charged.
    pub(super) budget: u64,
    /// Sectors that it was charged of it.
    pub(super) service: u64,
    /// Its effective weight in the tree.
    pub(super) weight: u64,
    /// Which insertion into the tree it was: breaks ties.
    pub(super) order: u64,
}

impl Entity {
    /// Sectors left of the budget.
    pub(super) fn left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }

    fn eligible_key(&self, id: u32) -> (u128, u64, u32) {
        (self.finish, self.order, id)
    }

    fn future_key(&self, id: u32) -> (u128, u128, u64, u32) {
        (self.start, self.finish, self.order, id)
    }
}

/// The queues of one class that have requests, and those that had some until lately.
#[derive(Debug, Default)]
pub(super) struct ServiceTree {
    vtime: u128,
    /// Weights of all: waiting, in service, and remembered.
    weights: u64,
    /// By finish.
    eligible: BTreeSet<(u128, u64, u32)>,
    /// By start, then finish.
    future: BTreeSet<(u128, u128, u64, u32)>,
    /// Without requests, but their finish is ahead of virtual time; by finish, with the weight.
    remembered: BTreeMap<(u128, u32), u64>,
    inserted: u64,
}

impl ServiceTree {
    /// Whether no queue waits for service.
    pub(super) fn is_empty(&self) -> bool {
        self.eligible.is_empty() && self.future.is_empty()
    }

    /// A queue has got its first request. `recover`: it left of its own will and came back in time, so it goes on from its old
    /// finish even if virtual time has passed it; how far it is moved up then is divided by `coefficient`.
    pub(super) fn activate(&mut self, id: u32, entity: &mut Entity, weight: u64, recover: bool, coefficient: u64) {
        let shifted = recover && self.vtime > entity.finish;
        let floor = if shifted { entity.finish } else { self.vtime };
        entity.start = if self.forget(id, entity) { floor.max(entity.finish) } else { floor };
        entity.weight = weight;
        self.weights += weight;
        entity.finish = entity.start + delta(entity.budget, weight);
        if shifted && self.vtime > entity.finish {
            let late = (self.vtime - entity.finish) / u128::from(coefficient);
            entity.start += late;
            entity.finish += late;
        }
        self.insert(id, entity);
    }

    /// The queue in service waits again, after the service that it has received.
    pub(super) fn requeue_served(&mut self, id: u32, entity: &mut Entity) {
        entity.start += delta(entity.service, entity.weight);
        entity.finish = entity.start + delta(entity.budget, entity.weight);
        self.insert(id, entity);
    }

    /// The budget of a waiting queue has changed to `budget`.
    pub(super) fn rebudget(&mut self, id: u32, entity: &mut Entity, budget: u64) {
        self.remove(id, entity);
        entity.budget = budget;
        entity.finish = entity.start + delta(budget, entity.weight);
        self.insert(id, entity);
    }

    /// The queue in service has no requests any more.
    pub(super) fn retire_served(&mut self, id: u32, entity: &mut Entity) {
        entity.finish = entity.start + delta(entity.service, entity.weight);
        self.remember(id, entity);
    }

    /// A waiting queue has no requests any more.
    pub(super) fn retire_waiting(&mut self, id: u32, entity: &Entity) {
        self.remove(id, entity);
        self.remember(id, entity);
    }

    /// Drops the memory of a queue; false if there was none.
    pub(super) fn forget(&mut self, id: u32, entity: &Entity) -> bool {
        let weight = self.remembered.remove(&(entity.finish, id));
        self.weights -= weight.unwrap_or(0);
        weight.is_some()
    }

    /// The queue in service leaves for another tree.
    pub(super) fn drop_served(&mut self, entity: &Entity) {
        self.weights -= entity.weight;
    }

    /// The weight of the queue in service changes.
    pub(super) fn reweigh_served(&mut self, entity: &mut Entity, weight: u64) {
        self.weights = self.weights - entity.weight + weight;
        entity.weight = weight;
    }

    /// The weight of a waiting queue changes.
    pub(super) fn reweigh_waiting(&mut self, id: u32, entity: &mut Entity, weight: u64) {
        self.remove(id, entity);
        self.reweigh_served(entity, weight);
        entity.finish = entity.start + delta(entity.budget, weight);
        self.insert(id, entity);
    }

    /// The queue to serve next: the smallest finish of those that are eligible, of equal ones the first inserted. If none is,
    /// virtual time jumps to the smallest start.
    pub(super) fn choose(&mut self) -> Option<u32> {
        if self.eligible.is_empty()
            && let Some(&(start, ..)) = self.future.first()
            && start > self.vtime
        {
            self.vtime = start;
            self.forget_passed();
        }
        self.promote();
        self.eligible.first().map(|&(.., id)| id)
    }

    /// Takes a queue out for service.
    pub(super) fn remove(&mut self, id: u32, entity: &Entity) {
        let found = self.eligible.remove(&entity.eligible_key(id)) || self.future.remove(&entity.future_key(id));
        assert!(found, "queue {id} waits in the tree");
    }

    /// The queue in service is charged.
    pub(super) fn charge(&mut self, entity: &mut Entity, sectors: u64) {
        entity.service += sectors;
        self.vtime += delta(sectors, self.weights);
        self.forget_passed();
    }

    fn insert(&mut self, id: u32, entity: &mut Entity) {
        entity.order = self.inserted;
        self.inserted += 1;
        if entity.start <= self.vtime {
            self.eligible.insert(entity.eligible_key(id));
        } else {
            self.future.insert(entity.future_key(id));
        }
    }

    fn promote(&mut self) {
        while let Some(&(start, finish, order, id)) = self.future.first()
            && start <= self.vtime
        {
            self.future.pop_first();
            self.eligible.insert((finish, order, id));
        }
    }

    fn remember(&mut self, id: u32, entity: &Entity) {
        if entity.finish > self.vtime {
            self.remembered.insert((entity.finish, id), entity.weight);
        } else {
            self.weights -= entity.weight;
        }
    }

    fn forget_passed(&mut self) {
        while let Some(first) = self.remembered.first_entry()
            && first.key().0 <= self.vtime
        {
            self.weights -= first.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        tree: ServiceTree,
        entities: Vec<Entity>,
        served: Vec<u64>,
    }

    impl World {
        fn new(weights: &[u64], budget: u64) -> World {
            let entities: Vec<Entity> = weights.iter().map(|_| Entity { budget, ..Entity::default() }).collect();
            let mut world = World { tree: ServiceTree::default(), served: vec![0; weights.len()], entities };
            for (id, weight) in weights.iter().enumerate() {
                world.tree.activate(id as u32, &mut world.entities[id], *weight, false, 1);
            }
            world
        }

        /// Serves the next one for `sectors`; it waits again.
        fn serve(&mut self, sectors: u64) -> u32 {
            let id = self.tree.choose().expect("somebody waits");
            let entity = &mut self.entities[id as usize];
            self.tree.remove(id, entity);
            self.tree.charge(entity, sectors);
            self.served[id as usize] += sectors;
            self.tree.requeue_served(id, entity);
            entity.service = 0;
            id
        }
    }

    #[test]
    fn equal_finishes_are_served_in_order_of_insertion() {
        let mut world = World::new(&[40, 40, 40], 1000);
        assert_eq!([(); 6].map(|()| world.serve(1000)), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn service_follows_the_weights_within_one_budget_at_every_moment() {
        let mut world = World::new(&[40, 80, 10], 1000);
        for _ in 0..2000 {
            world.serve(1000);
            let shares: Vec<u64> =
                world.served.iter().zip([40, 80, 10]).map(|(served, weight)| served / weight).collect();
            let spread = shares.iter().max().unwrap() - shares.iter().min().unwrap();
            assert!(spread <= 1000 / 10 + 1, "shares {shares:?}");
        }
    }

    #[test]
    fn service_below_the_budget_is_what_counts() {
        let mut world = World::new(&[40, 40], 1000);
        for _ in 0..1000 {
            let id = world.tree.choose().unwrap();
            world.serve(if id == 0 { 100 } else { 1000 });
        }
        assert!(world.served[0].abs_diff(world.served[1]) <= 1000, "{:?}", world.served);
    }

    #[test]
    fn virtual_time_jumps_to_the_smallest_start_when_no_queue_is_eligible() {
        let mut world = World::new(&[40], 1000);
        world.serve(10_000);
        // Served alone, its start is ahead of virtual time by nothing; make it so.
        world.tree.vtime = 0;
        world.tree.eligible.clear();
        let entity = &mut world.entities[0];
        world.tree.insert(0, entity);
        assert!(world.tree.eligible.is_empty());
        assert_eq!((world.tree.choose(), world.tree.vtime), (Some(0), delta(10_000, 40)));
    }

    #[test]
    fn who_returns_while_remembered_starts_at_its_old_finish_and_a_stranger_at_virtual_time() {
        let mut world = World::new(&[40, 40], 1000);
        let id = world.tree.choose().unwrap();
        world.tree.remove(id, &world.entities[0]);
        world.tree.charge(&mut world.entities[0], 1000);
        world.tree.retire_served(id, &mut world.entities[0]);
        let (old, vtime) = (world.entities[0].finish, world.tree.vtime);
        assert_eq!((old, vtime, world.tree.weights), (delta(1000, 40), delta(1000, 80), 80));
        world.tree.activate(0, &mut world.entities[0], 40, false, 1);
        assert_eq!((world.entities[0].start, world.tree.weights), (old, 80));
        let mut stranger = Entity { budget: 10, ..Entity::default() };
        world.tree.activate(9, &mut stranger, 40, false, 1);
        assert_eq!((stranger.start, world.tree.weights), (vtime, 120));
    }

    #[test]
    fn the_weight_of_a_queue_counts_until_virtual_time_has_passed_its_finish() {
        let mut world = World::new(&[40, 40], 1000);
        let id = world.tree.choose().unwrap();
        world.tree.remove(id, &world.entities[0]);
        world.tree.charge(&mut world.entities[0], 1000);
        world.tree.retire_served(id, &mut world.entities[0]);
        let weights: Vec<u64> = [998, 3, 1000].map(|sectors| (world.serve(sectors), world.tree.weights).1).into();
        assert_eq!(weights, [80, 40, 40]);
    }

    #[test]
    fn who_is_passed_by_virtual_time_is_forgotten_and_may_recover_its_hole_if_it_came_in_time() {
        for (recover, coefficient, start) in [(false, 1, 50), (true, 1, 49), (true, 2, 29)] {
            let mut tree = ServiceTree { vtime: delta(50 * 40, 40), ..ServiceTree::default() };
            let mut entity = Entity { finish: delta(10 * 40, 40), budget: 40, ..Entity::default() };
            tree.activate(0, &mut entity, 40, recover, coefficient);
            // Recovering: start 10, finish 11, late by 39, or 19.5 for a raised one.
            let expected = if coefficient == 2 { delta(59, 2) } else { delta(start, 1) };
            assert_eq!(entity.start, expected);
        }
    }
}
