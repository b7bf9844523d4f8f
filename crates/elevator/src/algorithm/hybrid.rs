//! hybrid: fair queueing over fixed budgets with exclusive access.
//!
//! WF2Q+ over budgets: a flow has the device to itself for a fixed number of sectors and is waited
//! for when it has no request. No feedback, time limit or heuristics: a flow of small scattered
//! requests keeps the device for seconds. A variant of bfq.
//!
//! Source: the paper (Rizzo, Valente: "Hybrid: achieving deterministic fairness and high throughput
//! in disk scheduling", CCCT 2004) was not found; this is our reconstruction from the same authors'
//! BFQ.
//!
//! Parameters (proposed): `max_budget` (sectors, default 4096), `slice_idle` (ms, 8),
//! `back_seek_max` (KiB, 16384), `back_seek_penalty` (factor, 2). Departures: unknown.

use crate::algorithm::bfq::Variant;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::scheduler::Elevator;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "hybrid",
    origin: Origin::Literature,
    help: "fair queueing over fixed budgets with exclusive access; reconstructed from its successor BFQ",
    source: "in place of Rizzo, Valente: Hybrid, CCCT 2004, which was not found",
    evidence: Evidence::Proposed,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LagAtMost { costs: 2, slack_kib: 4096 }],
    tunables: &[
        Tunable::proposed("max_budget", "sectors", 1, INT_MAX, "budget of every turn"),
        Tunable::proposed(
            "slice_idle",
            "ms",
            0,
            INT_MAX,
            "time to idle for the next request of a flow; 0: none",
        ),
        Tunable::proposed("back_seek_max", "KiB", 0, INT_MAX, "longest backward seek"),
        Tunable::proposed(
            "back_seek_penalty",
            "factor",
            1,
            INT_MAX,
            "factor by which a backward distance counts more than a forward one",
        ),
    ],
    build,
};

const INT_MAX: u64 = i32::MAX as u64;

fn build(build: &Build) -> Box<dyn Elevator> {
    Variant::Hybrid.boxed(build)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, of};
    use crate::request::BlockRequest;

    #[test]
    fn every_turn_has_the_same_budget() {
        let mut drive = Drive::new(&ROW, &[100, 100], &[("max_budget", 256)]);
        for tag in 0..20 {
            drive.insert(BlockRequest { nr_sectors: 64, ..of(0, tag, u64::from(tag) * 64) });
            drive.insert(BlockRequest {
                nr_sectors: 64,
                ..of(1, 20 + tag, 100_000 + u64::from(tag) * 64)
            });
        }
        assert_eq!(drive.processes(16), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn slow_service_ends_no_turn() {
        let mut drive = Drive::new(&ROW, &[100, 100], &[]);
        drive.service_ns = 100_000_000;
        for tag in 0..20 {
            drive.insert(of(0, tag, u64::from(tag) * 100_000));
            drive.insert(of(1, 20 + tag, u64::from(tag) * 100_000));
        }
        assert_eq!(drive.processes(20), [0; 20]);
    }

    #[test]
    fn shares_are_those_of_the_weights_within_two_budgets() {
        let served = Drive::new(&ROW, &[100, 300], &[]).shares(2, 4, 64, 10_000);
        assert!(served[1].abs_diff(3 * served[0]) <= 2 * 3 * 4096, "{served:?}");
    }
}
