//! dm-scan: sweeps over groups of an EDF schedule whose members all finish before the first one's
//! deadline.
//!
//! A maximum scannable group from task i is the longest run k = i … j in EDF order with f_k ≤ d_i
//! and r_k ≤ s_i: in any order, all finish before the group's smallest deadline. Each group is
//! swept from its end nearer to the head. To restore EDF order, deadlines are then modified
//! backwards, d'_k = min(d_k, d'_(k+1)), and groups are sought again until nothing improves.
//! Requests without a deadline go, in LOOK order, when no released request has one; with `slack` as
//! in rg-scan (proposed).
//!
//! Source: Chang, Shih and Chang, RTSS 1998: groups, modified deadlines and repetition confirmed in
//! the abstract, their definitions recalled; partitioning from the start, and modifying original
//! deadlines in each round, proposed.
//!
//! Parameters: `slack` (switch, default 0), `margin_us` (µs, default a revolution),
//! `replan_percent` (percent, default 50), `rotation_us` (µs, default half a revolution),
//! `transfer_ns` (ns per sector, default the disk's mean); all proposed.
//!
//! Departures: online use (`realtime/planned.rs`). The abstract's claim to meet what EDF meets does
//! not hold: seek times are not additive, and a shorter schedule can delay a request after a group
//! (see the test). O(n·log n) per round; taking in an arrival is linear.

use super::realtime::RealTime;
use super::realtime::jobs::{Free, Job, edf_order, finish, serve, sweep};
use super::realtime::planned::{Planned, Planner, TUNABLES};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::realtime::ServiceModel;
use crate::scheduler::Elevator;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "dm-scan",
    origin: Origin::Literature,
    help: "sweeps over groups of an EDF schedule that end before their first deadline, repeated with modified deadlines",
    source: "Chang, Shih and Chang, RTSS 1998 (abstract; definitions recalled)",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::LinearTime],
    tunables: TUNABLES,
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    RealTime::boxed(build, Planned::new(build, DmScan, false, 50))
}

#[derive(Debug)]
struct DmScan;

impl Planner for DmScan {
    fn plan(&self, model: &ServiceModel, free: Free, jobs: &mut Vec<Job>) {
        edf_order(model, free, jobs);
        let mut ends = finish(model, free, jobs);
        let mut due = Vec::new();
        loop {
            let mut next = jobs.clone();
            let after = round(model, free, &mut next, &mut due);
            if after >= ends {
                return;
            }
            (*jobs, ends) = (next, after);
        }
    }
}

/// Sweeps every group; returns the last finish.
fn round(model: &ServiceModel, mut free: Free, jobs: &mut [Job], due: &mut Vec<u64>) -> u64 {
    due.clear();
    due.extend(jobs.iter().map(|job| job.deadline));
    for at in (1..due.len()).rev() {
        due[at - 1] = due[at - 1].min(due[at]);
    }
    let mut from = 0;
    while from < jobs.len() {
        let nr = scannable(model, free, &jobs[from..], due[from]);
        let group = &mut jobs[from..from + nr];
        sweep(group, free.head);
        free = group.iter().fold(free, |free, job| serve(model, free, job));
        from += nr;
    }
    free.now
}

/// Length of the first group, at least 1.
fn scannable(model: &ServiceModel, free: Free, jobs: &[Job], due: u64) -> usize {
    let mut at = serve(model, free, &jobs[0]);
    // s_i: a task starts at its release at the earliest.
    let starts = free.now.max(jobs[0].release);
    let mut nr = 1;
    while let Some(job) = jobs.get(nr).filter(|job| job.release <= starts && at.now <= due) {
        at = serve(model, at, job);
        if at.now > due {
            break;
        }
        nr += 1;
    }
    nr
}

#[cfg(test)]
mod tests {
    use super::super::realtime::testing::{Bench, order};
    use super::*;
    use crate::algorithm::edf;

    #[test]
    fn a_group_that_ends_before_its_first_deadline_is_swept() {
        let tasks = [(0, 30, 50), (0, 41, 10), (0, 42, 60), (0, 90, 0)];
        assert_eq!(order(&edf::ROW, 0, &tasks), [0, 1, 2, 3]);
        assert_eq!(
            order(&ROW, 0, &tasks),
            [1, 0, 2, 3],
            "EDF ends at 10, 19, 29 and 40 ms: three by the first deadline"
        );
    }

    #[test]
    fn groups_are_sought_again_in_the_result_as_far_as_the_first_deadline_lets_them_grow() {
        // EDF ends at 6, 29 and 53 ms; the second and third form a group, swept to 6, 12 and 36 ms.
        let tasks = |first| [(0, first, 10), (0, 90, 190), (0, 91, 0)];
        assert_eq!(order(&ROW, 0, &tasks(8)), [0, 2, 1]);
        assert_eq!(
            order(&ROW, 0, &tasks(20)),
            [2, 0, 1],
            "in the result the first two are a group"
        );
    }

    #[test]
    fn a_request_that_is_not_released_at_the_beginning_of_a_group_is_not_in_it() {
        let mut bench = Bench::new(&ROW, 0, &[]);
        bench.task(0, 90, 100);
        bench.task(3, 95, 0);
        bench.task(0, 96, 50);
        assert_eq!(bench.drain(), [0, 2, 1], "else the sweep would begin at 0");
    }

    #[test]
    fn requests_without_a_deadline_wait_while_one_with_a_deadline_is_released() {
        let mut bench = Bench::new(&ROW, 0, &[]);
        bench.plain(0);
        bench.task(0, 900, 100);
        bench.task(500, 900, 0);
        bench.plain(50);
        assert_eq!(bench.drain(), [1, 3, 0, 2]);
        assert!(bench.late.is_empty());
    }
}
