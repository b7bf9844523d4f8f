//! gsr: global seek-optimising real time: moves single tasks of a schedule to wherever they are on
//! the way.
//!
//! Starting from RG-SCAN's schedule, a task moves to another place if total service time falls and
//! every release and deadline is kept; the best move goes first, until none saves anything.
//! Requests without a deadline use the slack, as in rg-scan.
//!
//! Source: Journal of Systems and Software 80(2), 2007; recalled, no text available. Runs of one
//! direction are not represented (proposed).
//!
//! Parameters: as rg-scan, but `replan_percent` (percent, default 100000; proposed): an arrival
//! goes where it adds the least seek without a miss, or by its deadline; a new plan is made when
//! the old one is used up or the disk would wait.
//!
//! Departures: online use (`realtime/planned.rs`). O(n²) per move, usually at most n moves; taking
//! in an arrival is linear.

use std::collections::VecDeque;

use super::realtime::RealTime;
use super::realtime::jobs::{Free, Job, misses, serve};
use super::realtime::planned::{Entry, Planned, Planner, TUNABLES};
use super::rg_scan;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::realtime::ServiceModel;
use crate::scheduler::Elevator;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "gsr",
    origin: Origin::Literature,
    help: "reorders a real-time schedule by position as long as all deadlines are met",
    source: "Journal of Systems and Software 80(2) 2007 (recalled)",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::MeetsWhatEdfMeets, Guarantee::LinearTime],
    tunables: TUNABLES,
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    RealTime::boxed(build, Planned::new(build, Gsr, true, 100_000))
}

#[derive(Debug)]
struct Gsr;

impl Planner for Gsr {
    fn plan(&self, model: &ServiceModel, free: Free, jobs: &mut Vec<Job>) {
        rg_scan::plan(model, free, jobs);
        // Only orders that meet every deadline are improved: for others, moves cannot be verified.
        if is_feasible(model, free, jobs) {
            while let Some((from, to)) = best_move(model, free, jobs) {
                shift(jobs, from, to);
            }
        }
    }

    fn place(&self, model: &ServiceModel, free: Free, plan: &VecDeque<Entry>, job: &Job) -> usize {
        let mut at = free;
        let mut best: Option<(u64, usize)> = None;
        for nr in 0..=plan.len() {
            let here = serve(model, at, job);
            if here.now > job.deadline {
                break;
            }
            let next = plan.get(nr);
            let saved = next.map_or(0, |next| model.seek_ns(at.head.abs_diff(next.job.start)));
            let onward = next.map_or(0, |next| model.seek_ns(job.end.abs_diff(next.job.start)));
            let added = (model.seek_ns(at.head.abs_diff(job.start)) + onward).saturating_sub(saved);
            let keeps = next.is_none_or(|next| serve(model, here, &next.job).now <= next.latest);
            if keeps && job.release <= at.now && best.is_none_or(|(least, _)| added < least) {
                best = Some((added, nr));
            }
            let Some(next) = next else { break };
            at = serve(model, at, &next.job);
        }
        best.map_or_else(|| plan.partition_point(|entry| entry.due <= job.deadline), |(_, nr)| nr)
    }
}

fn is_feasible(model: &ServiceModel, free: Free, jobs: &[Job]) -> bool {
    misses(model, free, jobs) == 0
}

fn shift(jobs: &mut [Job], from: usize, to: usize) {
    if from < to { jobs[from..=to].rotate_left(1) } else { jobs[to..=from].rotate_right(1) }
}

/// The feasible move that saves most; the first on a tie.
fn best_move(model: &ServiceModel, free: Free, jobs: &[Job]) -> Option<(usize, usize)> {
    let ends = |at: usize| at.checked_sub(1).map_or(free.head, |at| jobs[at].end);
    let seek =
        |from: u64, job: Option<&Job>| job.map_or(0, |job| model.seek_ns(from.abs_diff(job.start)));
    let before: Vec<Free> = std::iter::once(free)
        .chain(jobs.iter().scan(free, |at, job| {
            *at = serve(model, *at, job);
            Some(*at)
        }))
        .collect();
    // The current seek to each place.
    let seeks: Vec<u64> = (0..=jobs.len()).map(|at| seek(ends(at), jobs.get(at))).collect();
    let mut best: Option<(u64, usize, usize)> = None;
    for (from, job) in jobs.iter().enumerate() {
        let without = seek(ends(from), jobs.get(from + 1));
        let now = seeks[from] + seeks[from + 1];
        // Gap g precedes the job at g; the two gaps around the job are its own place.
        for gap in (0..=jobs.len()).filter(|gap| *gap != from && *gap != from + 1) {
            let added = seek(ends(gap), Some(job)) + seek(job.end, jobs.get(gap));
            // Both sides are exact: each move shortens the sum of seeks, so the search terminates.
            let saved = (now + seeks[gap]).saturating_sub(without + added);
            let to = if gap > from { gap - 1 } else { gap };
            if saved > best.map_or(0, |(most, _, _)| most) && keeps(model, &before, jobs, from, to)
            {
                best = Some((saved, from, to));
            }
        }
    }
    best.map(|(_, from, to)| (from, to))
}

/// Whether a move keeps all deadlines, given that the order before it does. `before` is the
/// actuator before each job.
fn keeps(model: &ServiceModel, before: &[Free], jobs: &[Job], from: usize, to: usize) -> bool {
    let (first, last) = (from.min(to), from.max(to));
    let mut free = before[first];
    let mut in_time = |job: &Job| {
        free = serve(model, free, job);
        free.now <= job.deadline
    };
    let moved = if from < to {
        jobs[first + 1..=last].iter().all(&mut in_time) && in_time(&jobs[from])
    } else {
        in_time(&jobs[from]) && jobs[first..last].iter().all(&mut in_time)
    };
    if !moved {
        return false;
    }
    for (job, after) in jobs[last + 1..].iter().zip(&before[last + 2..]) {
        free = serve(model, free, job);
        // An earlier end delays nothing after it.
        if free.now <= after.now || free.now > job.deadline {
            return free.now <= job.deadline;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::realtime::jobs::finish;
    use super::super::realtime::testing::{Bench, job, model, order};
    use super::*;
    use crate::algorithm::rg_scan as rg;

    const FREE: Free = Free { now: 0, head: 0 };

    #[test]
    fn a_task_moves_to_where_the_head_passes_it() {
        let tasks = [(0, 30, 100), (0, 31, 190), (0, 900, 50)];
        assert_eq!(
            order(&rg::ROW, 0, &tasks),
            [0, 1, 2],
            "a sweep over all would make the first late"
        );
        assert_eq!(order(&ROW, 0, &[(0, 30, 100), (0, 37, 190), (0, 900, 50)]), [2, 0, 1]);
    }

    #[test]
    fn a_move_that_would_make_another_late_is_not_made() {
        assert_eq!(order(&ROW, 0, &[(0, 15, 100), (0, 29, 190), (0, 900, 50)]), [0, 1, 2]);
    }

    #[test]
    fn the_schedule_is_never_longer_than_that_of_rg_scan_and_meets_what_it_meets() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut shorter = 0;
        for _ in 0..300 {
            let of = |rank| job(rank, random(60), 60 + random(300), random(200));
            let jobs: Vec<Job> = (0..12).map(of).collect();
            let [mut ours, mut theirs] = [jobs.clone(), jobs];
            rg_scan::plan(&model(), FREE, &mut theirs);
            Gsr.plan(&model(), FREE, &mut ours);
            let ends = [&ours, &theirs].map(|jobs| finish(&model(), FREE, jobs));
            assert!(misses(&model(), FREE, &ours) <= misses(&model(), FREE, &theirs));
            shorter += u32::from(ends[0] < ends[1]);
        }
        assert!(shorter > 30, "{shorter} of 300");
    }

    #[test]
    fn an_arrival_goes_where_it_is_on_the_way_if_no_deadline_suffers() {
        let mut bench = Bench::new(&ROW, 0, &[]);
        [(200, 50), (210, 100), (220, 150)]
            .into_iter()
            .for_each(|(due, at)| bench.task(0, due, at));
        assert_eq!(bench.step(), Some(0));
        bench.task(0, 900, 120);
        bench.task(0, 901, 60);
        assert_eq!(bench.drain(), [4, 1, 3, 2]);
        assert!(bench.late.is_empty());
    }
}
