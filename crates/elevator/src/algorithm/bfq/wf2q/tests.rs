//! Tests of B-WF2Q+: shares of queues and groups, virtual time, and idle queues.

use super::*;

/// Queues that always have requests.
struct World {
    tree: Wf2q,
    budget: u64,
    served: Vec<u64>,
}

impl World {
    fn new(weights: &[u64], budget: u64) -> World {
        let mut world = World { tree: Wf2q::new(200), budget, served: Vec::new() };
        for weight in weights {
            world.join(0, *weight);
        }
        world
    }

    /// Adds a queue to a group; returns its number.
    fn join(&mut self, group: u32, weight: u64) -> Id {
        let id = self.served.len() as Id;
        self.tree.add(id, group, (1, weight));
        self.tree.get_mut(id).budget = self.budget;
        self.tree.activate(id, false);
        self.served.push(0);
        id
    }

    /// Serves the next queue for `sectors`; it waits again.
    fn serve(&mut self, sectors: u64) -> Id {
        let id = self.tree.serve_next().expect("somebody waits");
        self.tree.charge(id, sectors);
        self.served[id as usize] += sectors;
        self.tree.requeue(id, true, true);
        self.tree.end_service(id);
        self.tree.get_mut(id).service = 0;
        self.tree.reset_group_service(id);
        id
    }

    /// Serves the next queue for `sectors`; it has no requests left.
    fn drain(&mut self, sectors: u64) -> Id {
        let id = self.tree.serve_next().expect("somebody waits");
        self.tree.charge(id, sectors);
        self.tree.retire(id, true);
        self.tree.end_service(id);
        self.tree.get_mut(id).service = 0;
        id
    }

    fn root(&self) -> &ServiceTree {
        &self.tree.groups[0].trees[1]
    }
}

#[test]
fn equal_finishes_are_served_in_order_of_insertion() {
    let mut world = World::new(&[40, 40, 40], 1000);
    assert_eq!([(); 6].map(|()| world.serve(1000)), [0, 1, 2, 0, 1, 2]);
    assert_eq!(world.tree.waiting(), [2, 1, 0], "the last one sorted in first");
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
        let id = world.tree.groups[0].next.unwrap();
        world.serve(if id == 0 { 100 } else { 1000 });
    }
    assert!(world.served[0].abs_diff(world.served[1]) <= 1000, "{:?}", world.served);
}

#[test]
fn virtual_time_jumps_to_the_smallest_start_when_a_turn_ends_and_no_queue_is_eligible() {
    let mut world = World::new(&[40, 40], 1000);
    assert_eq!([world.serve(10_000), world.serve(10_000)], [0, 1]);
    // Both got more than virtual time advanced: it jumps.
    world.serve(30_000);
    assert_eq!(world.root().vtime, delta(10_000, 80) * 2 + delta(30_000, 80));
    world.serve(10);
    world.serve(40_000);
    assert!(world.root().vtime >= delta(40_000, 40));
}

#[test]
fn who_returns_while_remembered_starts_at_its_old_finish_and_a_stranger_at_virtual_time() {
    let mut world = World::new(&[40, 40], 1000);
    assert_eq!(world.drain(1000), 0);
    let (old, vtime) = (world.tree.get(0).finish, world.root().vtime);
    assert_eq!((old, vtime, world.root().weights), (delta(1000, 40), delta(1000, 80), 80));
    world.tree.activate(0, false);
    assert_eq!((world.tree.get(0).start, world.root().weights), (old, 80));
    let stranger = world.join(0, 40);
    assert_eq!((world.tree.get(stranger).start, world.root().weights), (vtime, 120));
}

#[test]
fn the_weight_of_a_queue_counts_until_virtual_time_has_passed_its_finish_and_then_it_is_let_go() {
    let mut world = World::new(&[40, 40], 1000);
    world.drain(1000);
    let seen = [998, 3, 1000].map(|sectors| {
        world.serve(sectors);
        (world.root().weights, world.tree.forgotten.len())
    });
    assert_eq!(seen, [(80, 0), (40, 1), (40, 1)]);
    assert_eq!(world.tree.forgotten, [0]);
}

#[test]
fn of_several_queues_that_are_passed_one_is_forgotten_at_each_step() {
    let mut world = World::new(&[40, 40, 40], 1000);
    for _ in 0..2 {
        let id = world.drain(10);
        assert!(world.tree.get(id).is_known());
    }
    let weights = [1000, 1, 1].map(|sectors| (world.serve(sectors), world.root().weights).1);
    // At the jump when a turn ends, another may be eligible.
    assert_eq!(weights, [80, 40, 40]);
}

#[test]
fn who_is_passed_by_virtual_time_may_recover_its_hole_if_it_came_in_time() {
    for (recover, coefficient, start) in [(false, 1, 50), (true, 1, 49), (true, 2, 29)] {
        let mut tree = Wf2q::new(200);
        tree.groups[0].trees[1].vtime = delta(50 * 40, 40);
        tree.add(0, 0, (1, 40));
        *tree.get_mut(0) =
            Entity { finish: delta(10 * 40, 40), budget: 40, coefficient, ..*tree.get(0) };
        tree.activate(0, recover);
        // Recovering: start 10, finish 11, late by 39; raised: half as long, late by 39.5, half of
        // which counts.
        let expected = if coefficient == 2 {
            delta(10, 1) + (delta(50, 1) - delta(10, 1) - delta(1, 2)) / 2
        } else {
            delta(start, 1)
        };
        assert_eq!(tree.get(0).start, expected);
    }
}

#[test]
fn groups_share_by_their_weights_whatever_the_number_of_their_queues() {
    let mut world = World::new(&[], 1000);
    let [one, two] = [100, 300].map(|weight| world.tree.add_group(weight));
    let lone = world.join(two, 40);
    for weight in [40, 40, 80] {
        world.join(one, weight);
    }
    for _ in 0..4000 {
        world.serve(1000);
    }
    assert!(world.served[lone as usize].abs_diff(3_000_000) <= 4000, "{:?}", world.served);
    assert!(world.served[1].abs_diff(250_000) <= 4000 && world.served[3].abs_diff(500_000) <= 4000);
    world.tree.reweigh_group(one, 300);
    world.served.fill(0);
    for _ in 0..4000 {
        world.serve(1000);
    }
    assert!(world.served[lone as usize].abs_diff(2_000_000) <= 4000, "{:?}", world.served);
}

#[test]
fn a_group_is_counted_while_it_has_requests_and_in_6_1_one_is_enough() {
    for old in [false, true] {
        let mut world = World::new(&[], 1000);
        world.tree.count_groups_as(old);
        let group = world.tree.add_group(100);
        let id = world.join(group, 40);
        world.tree.add_pending(id);
        assert_eq!((world.tree.pending_groups, world.tree.groups_differ()), (1, old));
        let root = world.join(0, 40);
        world.tree.add_pending(root);
        assert!(world.tree.groups_differ());
        for _ in 0..2 {
            let id = world.drain(10);
            world.tree.remove_pending(id);
        }
        assert_eq!((world.tree.pending_groups, world.tree.groups_differ()), (0, false));
    }
}

#[test]
fn a_group_without_queues_that_wait_keeps_its_place_while_one_of_them_is_served() {
    let mut world = World::new(&[1000], 1000);
    let group = world.tree.add_group(100);
    let id = world.join(group, 40);
    assert_eq!(world.serve(1000), 0);
    assert_eq!(world.tree.serve_next(), Some(id));
    world.tree.charge(id, 100);
    // The root reconsiders other entities only when the turn ends.
    assert!(!world.tree.may_preempt());
    world.tree.requeue(id, true, true);
    world.tree.end_service(id);
    assert_eq!(world.tree.groups[1].entity.state, TreeState::Active);
}
