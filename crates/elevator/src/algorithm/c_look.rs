//! c-look: one way over the requests, then back to the first. look serves the middle of the disk
//! twice as often as its ends.
//!
//! Like look, but when nothing is left ahead, the actuator returns to the farthest request behind
//! and sweeps in the same direction. Requests on one cylinder go in order of arrival (proposed).
//!
//! Source: textbooks. Parameters: `direction` (switch, default 0: sweeps go up; proposed).
//! Departures: none.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::sweep::{ONLY_DIRECTION, OneWay};
use crate::textbook::Textbook;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "c-look",
    origin: Origin::Literature,
    help: "sweeps one way, from the last request back to the first",
    source: "textbooks",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::Ascending { descents: 1 }],
    tunables: &[ONLY_DIRECTION],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, OneWay::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::textbook::vectors::{QUEUE, movement, order};

    #[test]
    fn the_textbooks_queue_costs_322_cylinders_of_which_169_are_the_return() {
        let served = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(served, [65, 67, 98, 122, 124, 183, 14, 37]);
        assert_eq!(movement(53, &served), 322);
        assert_eq!(movement(53, &served) - 183_u64.abs_diff(14), 153);
    }

    #[test]
    fn downward_it_returns_to_the_highest() {
        assert_eq!(
            order(&ROW, 53, &[("direction", 1)], &QUEUE),
            [37, 14, 183, 124, 122, 98, 67, 65]
        );
    }
}
