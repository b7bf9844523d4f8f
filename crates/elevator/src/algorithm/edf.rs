//! edf: earliest deadline first.
//!
//! The released request with the smallest deadline is next, the older on a tie. It meets every
//! deadline that any order meets if all services take equally long and releases coincide, but it
//! ignores seeks. Requests without a deadline go in LOOK order when no other is available
//! (proposed).
//!
//! Source: Liu and Layland, JACM 20(1), 1973, and textbooks; recalled. Parameters: none.
//! Departures: only released requests compete; s = max(r, f) can also be read as an order by
//! deadline alone, with the disk waiting for an urgent release.

use super::realtime::{Choice, RealTime, Rule, View};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::ordered::Ordered;
use crate::scheduler::Elevator;
use crate::textbook::Held;
use crate::vocabulary::Time;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "edf",
    origin: Origin::Literature,
    help: "earliest deadline first, whatever the seek; requests without a deadline come last",
    source: "Liu and Layland, JACM 20(1) 1973 (recalled)",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::WorkConserving, Guarantee::MeetsFeasibleDeadlines],
    tunables: &[],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    RealTime::boxed(build, Edf::default())
}

/// By deadline, then arrival; the frame stores positions by tag.
#[derive(Debug, Default)]
struct Edf {
    by_deadline: Ordered<(Time, u64, u64)>,
}

fn key(held: &Held) -> (Time, u64, u64) {
    (
        held.request.deadline.expect("a rule orders requests with a deadline"),
        held.rank,
        held.position,
    )
}

impl Rule for Edf {
    const PLANS: bool = false;

    fn insert(&mut self, held: &Held) {
        self.by_deadline.insert(key(held), held.request.tag);
    }

    fn remove(&mut self, held: &Held) {
        self.by_deadline.remove(key(held)).expect("a request is removed from where it was put");
    }

    fn choose(&mut self, _view: &View) -> Option<Choice> {
        self.by_deadline.first().map(|((_, _, position), tag)| Choice {
            tag,
            position,
            released: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::realtime::testing::{Bench, order};
    use super::*;

    #[test]
    fn the_smallest_deadline_goes_first_and_of_equal_ones_the_older() {
        assert_eq!(
            order(&ROW, 50, &[(0, 30, 10), (0, 20, 90), (0, 20, 50), (0, 40, 51)]),
            [1, 2, 0, 3]
        );
    }

    #[test]
    fn requests_without_a_deadline_wait_and_go_in_sweeps() {
        let mut bench = Bench::new(&ROW, 50, &[]);
        [70, 40, 60].into_iter().for_each(|at| bench.plain(at));
        bench.task(0, 100, 199);
        assert_eq!(
            bench.drain(),
            [3, 0, 2, 1],
            "199 is due; from there 70, 60, 40 on the way down"
        );
    }

    #[test]
    fn an_arrival_with_an_earlier_deadline_goes_before_those_that_wait() {
        let mut bench = Bench::new(&ROW, 0, &[]);
        bench.task(0, 90, 10);
        bench.task(0, 80, 20);
        assert_eq!(bench.step(), Some(1));
        bench.task(0, 70, 30);
        assert_eq!(bench.drain(), [2, 0]);
    }

    #[test]
    fn requests_of_other_deadlines_do_not_merge() {
        let bench = Bench::new(&ROW, 0, &[]);
        assert!(bench.merges(Some(5), Some(5)) && bench.merges(None, None));
        assert!(!bench.merges(Some(5), Some(6)) && !bench.merges(None, Some(6)));
    }
}
