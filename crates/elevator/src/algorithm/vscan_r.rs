//! vscan-r: V(R), a continuum from SSTF, which starves, to LOOK, which makes longer seeks.
//!
//! A request opposite to the last movement counts as R·N cylinders farther away, with N cylinders
//! in total; the nearest is next. Ties: the request in the direction, then the older (proposed;
//! DiskSim alternates).
//!
//! Source: Geist and Daniel, "A continuum of disk scheduling algorithms", TOCS 5(1), 1987
//! (abstract); DiskSim (disksim_ioqueue.c) implements the rule with R = 0.2. Parameters:
//! `r_percent` (percent, default 20), `direction` (switch, default 0: up first; proposed).
//! Departures (proposed): without a geometry, N is the highest request end so far.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::scheduler::Elevator;
use crate::sweep::{Direction, FIRST_DIRECTION, Places};
use crate::textbook::{Actuator, Held, Rule, Textbook, View};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "vscan-r",
    origin: Origin::Literature,
    help: "V(R): the nearest cylinder, but turning costs R of the disk; 0 percent is sstf, 100 is look",
    source: "Geist and Daniel, TOCS 5(1) 1987 (abstract); DiskSim disksim_ioqueue.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving],
    tunables: &[
        Tunable {
            name: "r_percent",
            unit: "percent",
            min: 0,
            max: 100,
            evidence: Evidence::Confirmed,
            help: "share of the disk's width that a turn costs: 0 is sstf, 100 is look",
            role: Role::Knob,
        },
        FIRST_DIRECTION,
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    let (places, direction) = (Places::default(), Direction::default());
    Textbook::boxed(build, Vscan { r_percent: 20, places, direction, first: direction })
}

#[derive(Debug)]
struct Vscan {
    r_percent: u64,
    places: Places,
    direction: Direction,
    /// The tunable's value; the actuator may have turned since.
    first: Direction,
}

impl Vscan {
    /// Whether to keep the direction; in hundredths of a cylinder, to avoid rounding.
    fn stays(&self, arm: Actuator, ahead: u64, behind: u64) -> bool {
        let hundredths = |position: u64| u128::from(position.abs_diff(arm.head)) * 100;
        hundredths(ahead)
            <= hundredths(behind) + u128::from(self.r_percent) * u128::from(arm.positions)
    }
}

impl Rule for Vscan {
    fn insert(&mut self, held: &Held) {
        self.places.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.places.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        let ahead = self.places.ahead(view.arm.head, self.direction);
        match (ahead, self.places.behind(view.arm.head, self.direction)) {
            (Some((near, tag)), Some((far, _))) if self.stays(view.arm, near, far) => tag,
            (Some((_, tag)), None) => tag,
            (_, Some((_, tag))) => {
                self.direction = self.direction.reversed();
                tag
            }
            (None, None) => unreachable!("something is held"),
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        if tunable == "r_percent" { self.r_percent } else { self.first.switch() }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        if tunable == "r_percent" {
            self.r_percent = value;
        } else {
            self.first = Direction::of_switch(value);
            self.direction = self.first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::sptf::bench::steady;
    use crate::algorithm::{look, sstf};
    use crate::scheduler::{InsertAt, NoDisk};
    use crate::textbook::vectors::{QUEUE, cylinder, movement, order, scheduler_at};
    use crate::vocabulary::Time;

    #[test]
    fn the_textbooks_queue_is_sstfs_at_0_and_looks_from_10_percent_on() {
        let served = order(&ROW, 53, &[("r_percent", 0)], &QUEUE);
        assert_eq!((served, 236), (order(&sstf::ROW, 53, &[], &QUEUE), 236));
        for r_percent in [10, 20, 50, 100] {
            for (direction, moved) in [(0, 299), (1, 208)] {
                let served =
                    order(&ROW, 53, &[("r_percent", r_percent), ("direction", direction)], &QUEUE);
                assert_eq!(movement(53, &served), moved, "R = {r_percent} %");
                assert_eq!(served, order(&look::ROW, 53, &[("direction", direction)], &QUEUE));
            }
        }
    }

    #[test]
    fn a_turn_is_made_when_it_saves_more_than_it_costs_and_a_tie_goes_on() {
        let first = |r_percent| {
            let mut elevator = scheduler_at(&ROW, 200, 100, &[("r_percent", r_percent)]);
            [(0, 90), (1, 140)].into_iter().for_each(|(tag, place)| {
                elevator.insert(Time::ZERO, cylinder(tag, place, 200), InsertAt::Sorted);
            });
            elevator.dispatch(Time::ZERO, &NoDisk).unwrap().sector / 10
        };
        assert_eq!([0, 10, 14, 15, 20, 100].map(first), [90, 90, 90, 140, 140, 140]);
    }

    #[test]
    fn at_its_ends_it_is_sstf_and_look_request_by_request_under_a_steady_load() {
        for (r_percent, other) in [(0, sstf::ROW), (100, look::ROW)] {
            let mut pair = [
                scheduler_at(&ROW, 200, 53, &[("r_percent", r_percent)]),
                scheduler_at(&other, 200, 53, &[]),
            ];
            let mut seed = 7_u64;
            for step in 0..5000_u32 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let place = (seed >> 33) % 200;
                pair.iter_mut().for_each(|elevator| {
                    let request = cylinder(step % 60, place, 200);
                    if step < 60 {
                        elevator.insert(Time::ZERO, request, InsertAt::Sorted);
                    }
                });
                if step >= 20 {
                    let [ours, theirs] =
                        pair.each_mut().map(|elevator| elevator.dispatch(Time::ZERO, &NoDisk));
                    let (ours, theirs) =
                        (ours.expect("work is there"), theirs.expect("work is there"));
                    assert_eq!(ours, theirs, "step {step} at R = {r_percent} %");
                    pair.iter_mut().for_each(|elevator| {
                        elevator.insert(
                            Time::ZERO,
                            cylinder(ours.tag, place, 200),
                            InsertAt::Sorted,
                        )
                    });
                }
            }
        }
    }

    #[test]
    fn a_fifth_of_the_disk_spreads_responses_less_than_sstf_and_more_than_look_at_sstfs_speed() {
        for held in [8, 32] {
            let [ref quick, ref ours, ref even] =
                [0, 20, 100].map(|r_percent| steady(&ROW, &[("r_percent", r_percent)], held));
            let spread = [even, ours, quick].map(|seen| seen.response_sd_ns);
            assert!(spread[0] <= spread[1] && spread[1] < spread[2], "{held} waiting: {spread:?}");
            assert!(
                ours.mean_service_ns.abs_diff(quick.mean_service_ns) * 50 < quick.mean_service_ns,
                "within 2 %"
            );
        }
    }
}
