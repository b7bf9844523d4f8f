//! rg-scan: sweeps over every run of a schedule that can be swept without a miss and without
//! delaying its successor.
//!
//! Starting from EDF order, a reschedulable group is a run that, swept from the actuator's
//! position, meets its deadlines and does not end later. Groups are extended greedily from the
//! first task, swept, and the process is repeated until the schedule no longer shortens. Requests
//! without a deadline use the slack: the nearest on the way to the next task goes first if every
//! deadline is still met.
//!
//! Source: Chang, Chang, Shih and Chang, Journal of Systems and Software 59(2), 2002: the group,
//! without EDF order or modified deadlines, is confirmed in the abstract; its construction is
//! recalled; slack insertion and margin are proposed.
//!
//! Parameters: `slack` (switch, default 1), `margin_us` (µs, default a revolution),
//! `replan_percent` (percent, default 50), `rotation_us` (µs, default half a revolution),
//! `transfer_ns` (ns per sector, default the disk's mean); all proposed.
//!
//! Departures: online use (`realtime/planned.rs`). O(n·g) per round for groups of g; taking in an
//! arrival is linear.

use super::realtime::RealTime;
use super::realtime::jobs::{Free, Job, edf_order, finish, serve};
use super::realtime::planned::{Group, Planned, Planner, TUNABLES};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::realtime::ServiceModel;
use crate::scheduler::Elevator;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "rg-scan",
    origin: Origin::Literature,
    help: "sweeps over those runs of a schedule in which no deadline is missed; other requests in the slack",
    source: "Chang, Chang, Shih and Chang, JSS 59(2) 2002 (abstract; construction recalled)",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::MeetsWhatEdfMeets, Guarantee::LinearTime],
    tunables: TUNABLES,
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    RealTime::boxed(build, Planned::new(build, RgScan, true, 50))
}

#[derive(Debug)]
struct RgScan;

impl Planner for RgScan {
    fn plan(&self, model: &ServiceModel, free: Free, jobs: &mut Vec<Job>) {
        plan(model, free, jobs);
    }
}

/// RG-SCAN's schedule; also the start of GSR's.
pub(crate) fn plan(model: &ServiceModel, free: Free, jobs: &mut Vec<Job>) {
    edf_order(model, free, jobs);
    let mut ends = finish(model, free, jobs);
    let mut group = Group::default();
    loop {
        let after = round(model, free, jobs, &mut group);
        if after >= ends {
            return;
        }
        ends = after;
    }
}

/// Sweeps every group; returns the last finish.
fn round(model: &ServiceModel, mut free: Free, jobs: &mut [Job], group: &mut Group) -> u64 {
    let mut from = 0;
    while from < jobs.len() {
        let nr = reschedulable(model, free, &jobs[from..], group);
        let mut at = from;
        group.sweep(free.head, |job| {
            jobs[at] = *job;
            at += 1;
            true
        });
        free = jobs[from..from + nr].iter().fold(free, |free, job| serve(model, free, job));
        from += nr;
    }
    free.now
}

/// Finds the group at the start of `jobs`; returns its length, at least 1.
fn reschedulable(model: &ServiceModel, free: Free, jobs: &[Job], group: &mut Group) -> usize {
    group.clear();
    group.add(jobs[0]);
    let mut plain = serve(model, free, &jobs[0]);
    for (nr, job) in jobs.iter().enumerate().skip(1) {
        plain = serve(model, plain, job);
        group.add(*job);
        if !fits(model, free, group, plain, jobs.get(nr + 1)) {
            group.remove(job);
            return nr;
        }
    }
    jobs.len()
}

/// Whether a sweep meets all deadlines without delaying its end or the next task.
fn fits(
    model: &ServiceModel,
    free: Free,
    group: &Group,
    plain: Free,
    behind: Option<&Job>,
) -> bool {
    let mut at = free;
    let in_time = group.sweep(free.head, |job| {
        at = serve(model, at, job);
        at.now <= job.deadline
    });
    in_time
        && match behind {
            Some(job) => serve(model, at, job).now <= serve(model, plain, job).now,
            None => at.now <= plain.now,
        }
}

#[cfg(test)]
mod tests {
    use super::super::realtime::testing::{Bench, order};
    use super::*;
    use crate::algorithm::dm_scan;

    #[test]
    fn a_group_may_end_after_its_first_deadline_if_each_member_meets_its_own() {
        // EDF ends at 7, 18, 28 and 38 ms. DM-SCAN's groups from the first task end before 18 ms.
        let tasks = [(0, 18, 20), (0, 40, 80), (0, 41, 30), (0, 42, 90)];
        assert_eq!(order(&dm_scan::ROW, 0, &tasks)[0], 0);
        assert_eq!(order(&ROW, 0, &tasks), [0, 2, 1, 3]);
    }

    #[test]
    fn a_group_that_would_delay_the_task_behind_it_is_not_swept() {
        // Swept, 50 and 20 end farther from the third.
        let tasks = [(0, 90, 50), (0, 91, 20), (0, 92, 20)];
        assert_eq!(order(&ROW, 40, &tasks), [0, 1, 2]);
    }

    #[test]
    fn requests_without_a_deadline_are_served_in_the_slack_and_not_beyond_it() {
        let set = [("margin_us", 0)];
        let mut bench = Bench::new(&ROW, 0, &set);
        // The task takes 15 ms from 0; each other on the way 5 ms.
        bench.task(0, 26, 100);
        [50, 60, 70].into_iter().for_each(|at| bench.plain(at));
        assert_eq!(bench.drain(), [1, 2, 0, 3], "two fit into 11 ms");
        assert!(bench.late.is_empty());
        let mut bench = Bench::new(&ROW, 0, &[("margin_us", 2000)]);
        bench.task(0, 26, 100);
        [50, 60, 70].into_iter().for_each(|at| bench.plain(at));
        assert_eq!(bench.drain(), [1, 0, 3, 2], "with 2 ms to spare only one does");
    }

    #[test]
    fn requests_without_a_deadline_fill_the_time_until_a_release() {
        let mut bench = Bench::new(&ROW, 0, &[("margin_us", 0)]);
        bench.task(30, 36, 10);
        [10, 10, 10, 10, 10, 10].into_iter().for_each(|at| bench.plain(at));
        let order = bench.drain();
        assert_eq!(
            order.iter().position(|tag| *tag == 0),
            Some(6),
            "{order:?}: 6, 11, 16, 21, 26, 31 and 36 ms"
        );
        assert!(bench.late.is_empty());
    }

    #[test]
    fn an_arrival_that_is_due_earlier_goes_before_the_planned_ones() {
        for replan in [0, 50, 100_000] {
            let mut bench = Bench::new(&ROW, 0, &[("replan_percent", replan)]);
            [(800, 10), (801, 20), (802, 30), (803, 40)]
                .into_iter()
                .for_each(|(due, at)| bench.task(0, due, at));
            assert_eq!(bench.step(), Some(0));
            bench.task(0, 26, 150);
            assert_eq!(bench.step(), Some(4), "after 1 it would be late by 4 ms; {replan}");
            assert_eq!(bench.drain().len(), 3);
            assert!(bench.late.is_empty());
        }
    }

    #[test]
    fn while_a_planned_release_is_waited_for_an_arrival_is_served() {
        let mut bench = Bench::new(&ROW, 0, &[]);
        bench.task(50, 60, 10);
        assert_eq!(
            bench.elevator.dispatch(crate::vocabulary::Time::ZERO, &crate::scheduler::NoDisk),
            None
        );
        bench.task(0, 900, 20);
        assert_eq!(bench.drain(), [1, 0]);
    }
}
