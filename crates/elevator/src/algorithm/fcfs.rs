//! fcfs: first come, first served, the baseline of disk scheduling. Unlike `none` it merges bios of
//! any process; unlike `noop` it has a blk-mq queue.
//!
//! Source: textbooks. Parameters: none. Departures: none; a merged request has the older one's
//! position (proposed).

use std::collections::BTreeMap;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::scheduler::Elevator;
use crate::textbook::{Held, Rule, Textbook, View};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "fcfs",
    origin: Origin::Literature,
    help: "first come, first served: fair by arrival, ignores seek times",
    source: "textbooks",
    evidence: Evidence::Confirmed,
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::ArrivalOrder,
        Guarantee::PassedAtMost { requests: 0 },
    ],
    tunables: &[],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, Fcfs::default())
}

#[derive(Debug, Default)]
struct Fcfs {
    by_rank: BTreeMap<u64, u32>,
}

impl Rule for Fcfs {
    fn insert(&mut self, held: &Held) {
        self.by_rank.insert(held.rank, held.request.tag);
    }

    fn remove(&mut self, held: &Held) {
        self.by_rank.remove(&held.rank);
    }

    fn choose(&mut self, _view: &View<'_>) -> u32 {
        *self.by_rank.first_key_value().expect("something is held").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::textbook::vectors::{QUEUE, movement, order};

    #[test]
    fn the_textbooks_queue_is_served_as_it_came() {
        let served = order(&ROW, 53, &[], &QUEUE);
        assert_eq!(served, QUEUE);
        assert_eq!(movement(53, &served), 640);
    }
}
