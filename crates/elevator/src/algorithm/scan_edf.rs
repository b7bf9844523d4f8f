//! scan-edf: earliest deadline first, and among equal deadlines sweep order.
//!
//! Released requests with the smallest deadline form a group; the nearest ahead is next, and
//! without one ahead the sweep turns. Ties result from clients that round deadlines to periods, or
//! `round_us`; without ties it is EDF. Requests without a deadline go in LOOK order when no other
//! is available (proposed).
//!
//! Source: Reddy and Wyllie, ACM Multimedia 1993; rule confirmed in the abstract. The paper's
//! perturbed deadlines D + f(N), f(N) = N/N_max − 1, are recalled: they sweep only upwards.
//! Parameters: `round_us` (µs, default 0; recalled), to whose multiples deadlines are rounded down;
//! `direction` (switch, default 0: up first; proposed).
//!
//! Departures: sweeps both ways. A sweep in the wrong direction can miss tied deadlines that EDF
//! meets.

use super::realtime::{Choice, RealTime, Rule, View};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::ordered::Ordered;
use crate::scheduler::Elevator;
use crate::sweep::{Direction, FIRST_DIRECTION};
use crate::textbook::Held;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "scan-edf",
    origin: Origin::Literature,
    help: "earliest deadline first, sweeping over requests of one deadline",
    source: "Reddy and Wyllie, ACM Multimedia 1993 (abstract; the perturbation of deadlines recalled)",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::MeetsFeasibleDeadlines],
    tunables: &[
        Tunable {
            name: "round_us",
            unit: "µs",
            min: 0,
            max: 60_000_000,
            evidence: Evidence::Recalled,
            help: "deadlines are rounded down to a multiple of this; 0: not rounded",
            role: Role::Knob,
        },
        FIRST_DIRECTION,
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    RealTime::boxed(build, ScanEdf::default())
}

/// Deadline (rounded), position, rank.
type Key = (u64, u64, u64);

/// By deadline, then position, then arrival.
#[derive(Debug, Default)]
struct ScanEdf {
    groups: Ordered<Key>,
    /// By tag: unrounded deadlines.
    deadlines: Vec<u64>,
    round_ns: u64,
    direction: Direction,
    first: Direction,
}

impl ScanEdf {
    fn rounded(&self, deadline: u64) -> u64 {
        deadline.checked_div(self.round_ns).map_or(deadline, |periods| periods * self.round_ns)
    }

    fn round_to(&mut self, round_ns: u64) {
        let before = std::mem::take(&mut self.groups);
        self.round_ns = round_ns;
        let mut at = before.first();
        while let Some((key, tag)) = at {
            self.groups.insert((self.rounded(self.deadlines[tag as usize]), key.1, key.2), tag);
            at = before.above(key);
        }
    }

    /// The oldest at one position.
    fn ahead(&self, deadline: u64, from: u64) -> Option<(Key, u32)> {
        let inside = |found: &(Key, u32)| found.0.0 == deadline;
        match self.direction {
            Direction::Up => self.groups.at_or_after((deadline, from, 0)).filter(inside),
            Direction::Down => {
                let ((_, position, _), _) =
                    self.groups.at_or_below((deadline, from, u64::MAX)).filter(inside)?;
                self.groups.at_or_after((deadline, position, 0))
            }
        }
    }
}

impl Rule for ScanEdf {
    const PLANS: bool = false;

    fn insert(&mut self, held: &Held) {
        let tag = held.request.tag as usize;
        if self.deadlines.len() <= tag {
            self.deadlines.resize(tag + 1, 0);
        }
        self.deadlines[tag] = deadline(held);
        self.groups
            .insert((self.rounded(deadline(held)), held.position, held.rank), held.request.tag);
    }

    fn remove(&mut self, held: &Held) {
        let key = (self.rounded(deadline(held)), held.position, held.rank);
        self.groups.remove(key).expect("a request is removed from where it was put");
    }

    fn choose(&mut self, view: &View) -> Option<Choice> {
        let ((deadline, _, _), _) = self.groups.first()?;
        let ((_, position, _), tag) = self.ahead(deadline, view.arm.start).or_else(|| {
            self.direction = self.direction.reversed();
            self.ahead(deadline, view.arm.start)
        })?;
        Some(Choice { tag, position, released: true })
    }

    fn get(&self, tunable: &str) -> u64 {
        if tunable == "round_us" { self.round_ns / 1000 } else { self.first.switch() }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        if tunable == "round_us" {
            self.round_to(value * 1000);
        } else {
            self.first = Direction::of_switch(value);
            self.direction = self.first;
        }
    }
}

fn deadline(held: &Held) -> u64 {
    held.request.deadline.expect("a rule orders requests with a deadline").as_ns()
}

#[cfg(test)]
mod tests {
    use super::super::realtime::testing::{Bench, order};
    use super::*;
    use crate::algorithm::edf;

    #[test]
    fn equal_deadlines_are_swept_and_smaller_ones_go_first() {
        let tasks = [(0, 30, 90), (0, 30, 20), (0, 30, 60), (0, 10, 50), (0, 40, 51)];
        assert_eq!(order(&ROW, 0, &tasks), [3, 2, 0, 1, 4]);
        assert_eq!(order(&edf::ROW, 0, &tasks), [3, 0, 1, 2, 4]);
    }

    #[test]
    fn the_sweep_turns_where_nothing_of_the_deadline_is_ahead() {
        assert_eq!(
            order(&ROW, 50, &[(0, 9, 40), (0, 9, 60), (0, 9, 40), (0, 9, 30)]),
            [1, 0, 2, 3]
        );
    }

    #[test]
    fn rounded_deadlines_tie() {
        let mut bench = Bench::new(&ROW, 0, &[("round_us", 10_000)]);
        [(11, 90), (19, 20), (12, 60), (20, 10)]
            .into_iter()
            .for_each(|(due, at)| bench.task(0, due, at));
        assert_eq!(bench.drain(), [1, 2, 0, 3]);
        let mut bench = Bench::new(&ROW, 0, &[]);
        [(11, 90), (19, 20), (12, 60), (20, 10)]
            .into_iter()
            .for_each(|(due, at)| bench.task(0, due, at));
        bench.set("round_us", 10_000);
        assert_eq!(bench.drain(), [1, 2, 0, 3], "also those that are held when it is set");
    }
}
