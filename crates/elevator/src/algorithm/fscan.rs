//! fscan: sweeps over a closed group of requests while arrivals wait for the next group.
//!
//! The group is served in LOOK order. With `step` = 0 a new group is all waiting requests (FSCAN),
//! with N > 0 the oldest N (N-step-SCAN).
//!
//! Source: textbooks. Parameters: `step` (requests, default 0), `direction` (switch, default 0: up
//! first; proposed). Departures (proposed): a bio can merge into a request of the closed group; a
//! merged request belongs to the older one's group.

use std::collections::BTreeMap;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::scheduler::Elevator;
use crate::sweep::{FIRST_DIRECTION, TwoWay};
use crate::textbook::{Held, Rule, Textbook, View};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "fscan",
    origin: Origin::Literature,
    help: "sweeps over a closed group of requests; arrivals wait for the next group (N-step-SCAN with step = N)",
    source: "textbooks",
    evidence: Evidence::Confirmed,
    // Only requests of the same group pass a request, and a literature queue holds at most 256.
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::Sweeping { turns: 1 },
        Guarantee::PassedAtMost { requests: 255 },
    ],
    tunables: &[
        Tunable {
            name: "step",
            unit: "requests",
            min: 0,
            max: 65536,
            evidence: Evidence::Confirmed,
            help: "requests per group: 0 all waiting ones (FSCAN), N the oldest N (N-step-SCAN)",
            role: Role::Knob,
        },
        FIRST_DIRECTION,
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, Fscan::default())
}

/// The current group, and the requests waiting for the next.
#[derive(Debug, Default)]
struct Fscan {
    step: u64,
    group: TwoWay,
    /// Earlier arrivals belong to the group, so merges need no bookkeeping.
    closed: u64,
    waiting: BTreeMap<u64, Held>,
}

impl Fscan {
    fn next_group(&mut self) {
        let size = if self.step == 0 { usize::MAX } else { self.step as usize };
        for _ in 0..size {
            let Some((rank, held)) = self.waiting.pop_first() else { break };
            self.closed = rank + 1;
            self.group.insert(&held);
        }
    }
}

impl Rule for Fscan {
    fn insert(&mut self, held: &Held) {
        if held.rank < self.closed {
            self.group.insert(held);
        } else {
            self.waiting.insert(held.rank, *held);
        }
    }

    fn remove(&mut self, held: &Held) {
        if held.rank < self.closed {
            self.group.remove(held);
        } else {
            self.waiting.remove(&held.rank);
        }
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        if self.group.places.is_empty() {
            self.next_group();
        }
        self.group.choose(view)
    }

    fn get(&self, tunable: &str) -> u64 {
        if tunable == "step" { self.step } else { self.group.get(tunable) }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        if tunable == "step" {
            self.step = value;
        } else {
            self.group.set(tunable, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{InsertAt, NoDisk};
    use crate::textbook::vectors::{QUEUE, cylinder, drain, movement, order, scheduler_at};
    use crate::vocabulary::Time;

    #[test]
    fn groups_of_four_cost_409_cylinders_on_the_textbooks_queue() {
        let served = order(&ROW, 53, &[("step", 4)], &QUEUE);
        assert_eq!(served, [98, 122, 183, 37, 14, 65, 67, 124]);
        assert_eq!(movement(53, &served), 409);
    }

    #[test]
    fn groups_of_one_are_first_come_first_served_and_one_group_of_all_is_look() {
        assert_eq!(order(&ROW, 53, &[("step", 1)], &QUEUE), QUEUE);
        for set in [&[("step", 8)][..], &[]] {
            assert_eq!(movement(53, &order(&ROW, 53, set, &QUEUE)), 299);
        }
        assert_eq!(movement(53, &order(&ROW, 53, &[("direction", 1)], &QUEUE)), 208);
    }

    #[test]
    fn arrivals_on_the_arms_own_cylinder_do_not_join_the_group() {
        for step in [0, 5] {
            let mut elevator = scheduler_at(&ROW, 200, 50, &[("step", step)]);
            [(0, 60), (1, 90)].into_iter().for_each(|(tag, place)| {
                elevator.insert(Time::ZERO, cylinder(tag, place, 200), InsertAt::Sorted);
            });
            assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag, 0);
            [(2, 60), (3, 70), (4, 95)].into_iter().for_each(|(tag, place)| {
                elevator.insert(Time::ZERO, cylinder(tag, place, 200), InsertAt::Sorted);
            });
            let tags: Vec<u32> = drain(&mut elevator).iter().map(|request| request.tag).collect();
            assert_eq!(tags, [1, 4, 3, 2]);
        }
    }

    #[test]
    fn a_waiting_request_that_takes_one_of_the_group_in_joins_the_group() {
        let mut elevator = scheduler_at(&ROW, 200, 50, &[]);
        let [a, b, c, d] =
            [(0, 60), (1, 90), (2, 80), (3, 70)].map(|(tag, place)| cylinder(tag, place, 200));
        [a, b]
            .into_iter()
            .for_each(|request| elevator.insert(Time::ZERO, request, InsertAt::Sorted));
        assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag, 0);
        [c, d]
            .into_iter()
            .for_each(|request| elevator.insert(Time::ZERO, request, InsertAt::Sorted));
        elevator.coalesced(Time::ZERO, &c, &b);
        let tags: Vec<u32> = drain(&mut elevator).iter().map(|request| request.tag).collect();
        assert_eq!(tags, [2, 3]);
    }
}
