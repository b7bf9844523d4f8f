//! bfq-2010: budget fair queueing as first published: B-WF2Q+ over budgets in sectors, with
//! feedback and idling.
//!
//! A flow has the device to itself until its budget or time is used up, or it has been idle for
//! `slice_idle`. The next has the earliest finish of its whole budget. A used-up budget grows;
//! going idle shrinks it. A variant of bfq. O(log n) per request.
//!
//! Source: Checconi, Valente: "High throughput disk scheduling with fair bandwidth distribution",
//! IEEE Transactions on Computers 59(9), 2010; recalled, through its remains in Linux 6.12
//! block/bfq-iosched.c.
//!
//! Parameters: `max_budget` (sectors, default 4096, proposed; 0: peak rate × `timeout_sync`),
//! `timeout_sync` (ms, 125), `slice_idle` (ms, 8), `back_seek_max` (KiB, 16384),
//! `back_seek_penalty` (factor, 2).
//!
//! Departures: budget feedback and order within a flow are those of Linux 6.12; a timed-out turn is
//! charged its whole budget (recalled). Service of two flows differs by two largest budgets at
//! most.

use crate::algorithm::bfq::Variant;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::scheduler::Elevator;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "bfq-2010",
    origin: Origin::Literature,
    help: "budget fair queueing as first published, without Linux's heuristics: shares sectors by weight, and idles",
    source: "Checconi, Valente: High throughput disk scheduling with fair bandwidth distribution, IEEE TC 59(9), 2010",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LagAtMost { costs: 2, slack_kib: 4096 }],
    tunables: &[
        Tunable::proposed(
            "max_budget",
            "sectors",
            0,
            INT_MAX,
            "largest budget of a flow; 0: what the device transfers in timeout_sync",
        ),
        Tunable::recalled("timeout_sync", "ms", 1, INT_MAX, "longest service of a flow at a time"),
        Tunable::recalled(
            "slice_idle",
            "ms",
            0,
            INT_MAX,
            "time to idle for the next request of a flow; 0: none",
        ),
        Tunable::recalled("back_seek_max", "KiB", 0, INT_MAX, "longest backward seek"),
        Tunable::recalled(
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
    Variant::Paper.boxed(build)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, MS, of};
    use crate::request::BlockRequest;
    use crate::scheduler::{FlowSpec, InsertAt, NoDisk};

    #[test]
    fn two_sequential_readers_of_weights_40_and_80_are_served_one_to_two() {
        let served = Drive::new(&ROW, &[40, 80], &[]).shares(2, 4, 64, 10_000);
        assert!(served[1].abs_diff(2 * served[0]) <= 2 * 2 * 4096, "{served:?}");
    }

    #[test]
    fn a_flow_has_the_device_until_its_budget_is_used_up() {
        let mut drive = Drive::new(&ROW, &[100, 100], &[("max_budget", 256)]);
        for tag in 0..20 {
            drive.insert(BlockRequest { nr_sectors: 64, ..of(0, tag, u64::from(tag) * 64) });
            drive.insert(BlockRequest {
                nr_sectors: 64,
                ..of(1, 20 + tag, 100_000 + u64::from(tag) * 64)
            });
        }
        // The first budget is two thirds of the maximum.
        assert_eq!(drive.processes(12), [0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn a_flow_that_thinks_is_waited_for_and_asynchronous_requests_are_the_flows_own() {
        let mut drive = Drive::new(&ROW, &[100, 100], &[]);
        [of(0, 0, 0), of(1, 1, 9000)].into_iter().for_each(|request| drive.insert(request));
        assert_eq!(drive.processes(1), [0]);
        assert_eq!(drive.elevator.dispatch(drive.now, &NoDisk), None);
        assert_eq!(drive.elevator.next_timer(), Some(drive.now + 8 * MS));
        drive.now = drive.now + 3 * MS;
        drive.insert(BlockRequest { sync: false, ..of(0, 0, 50_000) });
        assert_eq!(drive.processes(2), [0, 1]);
    }

    #[test]
    fn processes_of_one_flow_share_its_weight() {
        let mut elevator = build(&Build::default());
        let spec = FlowSpec { weight: Some(100), ..FlowSpec::default() };
        [(0, 1), (1, 1), (2, 2)]
            .into_iter()
            .for_each(|(process, flow)| elevator.flow(process, flow, &spec));
        for tag in 0..3 {
            let request = BlockRequest { nr_sectors: 1024, ..of(tag, tag, u64::from(tag) * 5000) };
            elevator.insert(crate::Time::ZERO, &request, InsertAt::Sorted);
        }
        let touching = |process| of(process, 9, 1024);
        let first = BlockRequest { nr_sectors: 1024, ..of(0, 0, 0) };
        let joins = [1, 2]
            .map(|process| elevator.allow_merge(&first, &touching(process), crate::Merge::Back));
        assert_eq!(joins, [true, false]);
    }
}
