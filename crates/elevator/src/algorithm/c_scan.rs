//! c-scan: one way over the whole disk. Orders requests like c-look; C-SCAN continues to the last
//! cylinder and from there to the first before it serves again.
//!
//! Source: textbooks. Parameters: `direction` (switch, default 0: sweeps go up; proposed).
//!
//! Departures: the two strokes are not I/O, and an elevator cannot move the actuator, so c-scan
//! costs the same as c-look. The test adds the strokes to compare with the textbook's sums.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::sweep::{ONLY_DIRECTION, OneWay};
use crate::textbook::Textbook;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "c-scan",
    origin: Origin::Literature,
    help: "sweeps one way; the same order as c-look, because the strokes to the edges are not requests",
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
    use crate::textbook::vectors::{QUEUE, movement, order, with_edge};

    #[test]
    fn the_textbooks_queue_costs_382_cylinders_with_the_return_stroke_and_183_without() {
        let served = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(served, [65, 67, 98, 122, 124, 183, 14, 37]);
        let all = movement(53, &with_edge(53, &served, true, &[199, 0]));
        assert_eq!((all, all - 199), (382, 183));
    }

    #[test]
    fn downward_the_strokes_are_those_to_the_first_and_back_to_the_last_cylinder() {
        let served = order(&ROW, 53, &[("direction", 1)], &QUEUE);
        assert_eq!(served, [37, 14, 183, 124, 122, 98, 67, 65]);
        assert_eq!(movement(53, &with_edge(53, &served, false, &[0, 199])), 53 + 199 + 134);
    }
}
