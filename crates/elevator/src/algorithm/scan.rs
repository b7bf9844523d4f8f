//! scan: up and down over the whole disk. Orders requests like look; SCAN continues to the last
//! cylinder before it turns.
//!
//! Source: textbooks. Parameters: `direction` (switch, default 0: up first; proposed).
//!
//! Departures: the stroke to the last cylinder is not I/O, and an elevator cannot move the
//! actuator, so scan costs the same as look. The test adds the stroke to compare with the
//! textbook's sum.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::sweep::{FIRST_DIRECTION, TwoWay};
use crate::textbook::Textbook;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "scan",
    origin: Origin::Literature,
    help: "sweeps up and down; the same order as look, because the stroke to the last cylinder is not a request",
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
    use crate::textbook::vectors::{QUEUE, movement, order, with_edge};

    #[test]
    fn the_textbooks_queue_costs_331_cylinders_up_first_and_236_down_first_with_the_run_to_the_edge()
     {
        let up = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(up, [65, 67, 98, 122, 124, 183, 37, 14]);
        assert_eq!(movement(53, &with_edge(53, &up, true, &[199])), 331);
        let down = order(&ROW, 53, &[("direction", 1)], &QUEUE);
        assert_eq!(down, [37, 14, 65, 67, 98, 122, 124, 183]);
        assert_eq!(movement(53, &with_edge(53, &down, false, &[0])), 236);
    }
}
