//! look: up and down over the requests, turning at the last one on each side.
//!
//! The next request is the nearest at the actuator or beyond in its direction; when none is left
//! ahead, it turns. Requests on one cylinder go in order of arrival (proposed). As in textbooks,
//! arrivals on the current cylinder join, so a process that stays there keeps the actuator; `fscan`
//! avoids that.
//!
//! Source: textbooks, many of which call it SCAN. Parameters: `direction` (switch, default 0: up
//! first; proposed).

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::sweep::{FIRST_DIRECTION, TwoWay};
use crate::textbook::Textbook;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "look",
    origin: Origin::Literature,
    help: "sweeps up and down, turning at the last request of each side",
    source: "textbooks",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::Sweeping { turns: 1 }],
    tunables: &[FIRST_DIRECTION],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, TwoWay::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{InsertAt, NoDisk};
    use crate::testing::Keeper;
    use crate::textbook::vectors::{QUEUE, cylinder, drain, movement, order, scheduler_at};
    use crate::vocabulary::Time;

    #[test]
    fn the_textbooks_queue_costs_299_cylinders_up_first_and_208_down_first() {
        let up = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(up, [65, 67, 98, 122, 124, 183, 37, 14]);
        assert_eq!(movement(53, &up), 299);
        let down = order(&ROW, 53, &[("direction", 1)], &QUEUE);
        assert_eq!(down, [37, 14, 65, 67, 98, 122, 124, 183]);
        assert_eq!(movement(53, &down), 208);
    }

    #[test]
    fn arrivals_ahead_join_the_sweep_and_arrivals_behind_wait_for_the_way_back() {
        let mut elevator = scheduler_at(&ROW, 200, 50, &[]);
        let insert = |elevator: &mut Keeper, tag, place| {
            elevator.insert(Time::ZERO, cylinder(tag, place, 200), InsertAt::Sorted);
        };
        insert(&mut elevator, 0, 60);
        insert(&mut elevator, 1, 90);
        assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag, 0);
        insert(&mut elevator, 2, 55);
        insert(&mut elevator, 3, 70);
        insert(&mut elevator, 4, 60);
        let tags: Vec<u32> = drain(&mut elevator).iter().map(|request| request.tag).collect();
        assert_eq!(tags, [4, 3, 1, 2], "the arm's own cylinder first");
    }

    #[test]
    fn requests_of_one_cylinder_go_in_order_of_arrival_on_the_way_down_too() {
        let mut elevator = scheduler_at(&ROW, 200, 50, &[("direction", 1)]);
        [(2, 40), (1, 40), (3, 30), (5, 40)].into_iter().for_each(|(tag, place)| {
            elevator.insert(Time::ZERO, cylinder(tag, place, 200), InsertAt::Sorted)
        });
        let tags: Vec<u32> = drain(&mut elevator).iter().map(|request| request.tag).collect();
        assert_eq!(tags, [2, 1, 5, 3]);
    }
}
