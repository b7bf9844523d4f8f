//! sstf: shortest seek time first.
//!
//! The request on the nearest cylinder is next; on a tie the one in the direction of the last
//! movement, then the older (proposed). Distant requests starve under a steady load near the
//! actuator, as a test shows.
//!
//! Source: textbooks. Parameters: none. Departures: none.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::sweep::{Direction, Places};
use crate::textbook::{Actuator, Held, Rule, Textbook, View};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "sstf",
    origin: Origin::Literature,
    help: "shortest seek first: the nearest cylinder next; requests far away may starve",
    source: "textbooks",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving],
    tunables: &[],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, Sstf::default())
}

#[derive(Debug, Default)]
struct Sstf {
    places: Places,
    direction: Direction,
}

impl Rule for Sstf {
    fn insert(&mut self, held: &Held) {
        self.places.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.places.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        let Actuator { head, .. } = view.arm;
        let ahead = self.places.ahead(head, self.direction);
        match (ahead, self.places.behind(head, self.direction)) {
            (Some((near, tag)), Some((far, _))) if near.abs_diff(head) <= far.abs_diff(head) => tag,
            (Some((_, tag)), None) => tag,
            (_, Some((_, tag))) => {
                self.direction = self.direction.reversed();
                tag
            }
            (None, None) => unreachable!("something is held"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{fcfs, look};
    use crate::request::BlockRequest;
    use crate::scheduler::{InsertAt, NoDisk};
    use crate::textbook::vectors::{QUEUE, cylinder, movement, order, scheduler_at};
    use crate::vocabulary::Time;

    #[test]
    fn the_textbooks_queue_costs_236_cylinders() {
        let served = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(served, [65, 67, 37, 14, 98, 122, 124, 183]);
        assert_eq!(movement(53, &served), 236);
    }

    #[test]
    fn of_two_equally_near_the_one_in_the_direction_of_the_last_movement_is_next_and_on_one_cylinder_the_older()
     {
        assert_eq!(order(&ROW, 50, &[], &[40, 60]), [60, 40], "the arm came from below");
        assert_eq!(order(&ROW, 100, &[], &[90, 80, 100]), [100, 90, 80]);
        assert_eq!(order(&ROW, 100, &[], &[90, 80, 104, 100, 70, 96]), [100, 104, 96, 90, 80, 70]);
        assert_eq!(
            order(&ROW, 100, &[], &[98, 97, 99, 106, 90]),
            [99, 98, 97, 90, 106],
            "97 to 90 and 106: 7 and 9"
        );
        assert_eq!(order(&ROW, 100, &[], &[95, 90, 100]), [100, 95, 90]);
        assert_eq!(
            order(&ROW, 100, &[], &[95, 92, 98]),
            [98, 95, 92],
            "downward, at 95 the tie of none"
        );
        assert_eq!(
            order(&ROW, 100, &[], &[99, 94, 104]),
            [99, 94, 104],
            "equally near: on downward"
        );
        let mut elevator = scheduler_at(&ROW, 200, 10, &[]);
        [3, 1, 2]
            .into_iter()
            .for_each(|tag| elevator.insert(Time::ZERO, cylinder(tag, 10, 200), InsertAt::Sorted));
        let tags: Vec<u32> =
            (0..3).map(|_| elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag).collect();
        assert_eq!(tags, [3, 1, 2], "order of arrival, not of sectors");
    }

    #[test]
    fn the_arm_is_where_the_last_request_ended() {
        let mut elevator = scheduler_at(&ROW, 200, 10, &[]);
        let long = BlockRequest { nr_sectors: 100, ..cylinder(0, 50, 200) };
        [long, cylinder(1, 48, 200), cylinder(2, 62, 200)]
            .into_iter()
            .for_each(|request| elevator.insert(Time::ZERO, request, InsertAt::Sorted));
        let tags = [(); 3].map(|()| elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag);
        assert_eq!(tags, [1, 0, 2], "48 is nearest to 10");
        let mut elevator = scheduler_at(&ROW, 200, 50, &[]);
        [long, cylinder(1, 47, 200), cylinder(2, 62, 200)]
            .into_iter()
            .for_each(|request| elevator.insert(Time::ZERO, request, InsertAt::Sorted));
        let tags = [(); 3].map(|()| elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag);
        assert_eq!(tags, [0, 2, 1], "from 59, 62 is nearer than 47");
    }

    /// Mean over 4000 requests at random cylinders.
    fn mean_movement(row: &ElevatorKind, held: u32) -> u64 {
        let mut elevator = scheduler_at(row, 200, 53, &[]);
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % 200
        };
        (0..held).for_each(|tag| {
            elevator.insert(Time::ZERO, cylinder(tag, random(), 200), InsertAt::Sorted)
        });
        let (mut head, mut moved) = (53_u64, 0);
        for _ in 0..4000 {
            let served = elevator.dispatch(Time::ZERO, &NoDisk).expect("the queue is full");
            moved += head.abs_diff(served.sector / 10);
            head = served.sector / 10;
            elevator.insert(Time::ZERO, cylinder(served.tag, random(), 200), InsertAt::Sorted);
        }
        moved
    }

    #[test]
    fn seeks_are_shorter_than_in_order_of_arrival_as_soon_as_there_is_a_choice() {
        assert_eq!(mean_movement(&ROW, 1), mean_movement(&fcfs::ROW, 1));
        for held in [2, 3, 8, 40] {
            let (ours, theirs) = (mean_movement(&ROW, held), mean_movement(&fcfs::ROW, held));
            assert!(ours < theirs, "{held} waiting: {ours} cylinders against {theirs}");
        }
    }

    /// Others served before a request at cylinder 150 while three always wait in 40 to 60.
    fn passed(row: &ElevatorKind) -> Option<u64> {
        let mut elevator = scheduler_at(row, 200, 50, &[]);
        elevator.insert(Time::ZERO, cylinder(0, 150, 200), InsertAt::Sorted);
        (1..4).for_each(|tag| {
            elevator.insert(
                Time::ZERO,
                cylinder(tag, 38 + 5 * u64::from(tag), 200),
                InsertAt::Sorted,
            )
        });
        for (served, hot) in (0..10_000).zip((40..=60).cycle().step_by(8)) {
            match elevator.dispatch(Time::ZERO, &NoDisk).expect("work is there").tag {
                0 => return Some(served),
                tag => elevator.insert(Time::ZERO, cylinder(tag, hot, 200), InsertAt::Sorted),
            }
        }
        None
    }

    #[test]
    fn a_request_far_from_a_hot_zone_starves_where_look_would_serve_it() {
        assert_eq!(passed(&ROW), None);
        assert!(passed(&look::ROW).is_some_and(|others| others < 50), "{:?}", passed(&look::ROW));
    }
}
