//! Orders of real-time requests on one actuator: finish times, EDF order, and sweeps over groups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::realtime::ServiceModel;

/// A request with a deadline, for planners. Times in nanoseconds, positions as in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) tag: u32,
    pub(crate) nr_sectors: u32,
    pub(crate) rank: u64,
    pub(crate) release: u64,
    pub(crate) deadline: u64,
    /// Position of the first sector.
    pub(crate) start: u64,
    /// Position of the last sector.
    pub(crate) end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Free {
    pub(crate) now: u64,
    pub(crate) head: u64,
}

/// c(i, j) with the actuator at `head`.
#[inline]
pub(crate) fn cost(model: &ServiceModel, head: u64, job: &Job) -> u64 {
    model.seek_ns(head.abs_diff(job.start)) + model.least_ns(job.nr_sectors)
}

/// Serves a request: s = max(r, previous f), f = s + c.
#[inline]
pub(crate) fn serve(model: &ServiceModel, free: Free, job: &Job) -> Free {
    Free { now: free.now.max(job.release) + cost(model, free.head, job), head: job.end }
}

pub(crate) fn finish(model: &ServiceModel, free: Free, jobs: &[Job]) -> u64 {
    jobs.iter().fold(free, |free, job| serve(model, free, job)).now
}

pub(crate) fn misses(model: &ServiceModel, mut free: Free, jobs: &[Job]) -> usize {
    let late = |job: &&Job| {
        free = serve(model, free, job);
        free.now > job.deadline
    };
    jobs.iter().filter(late).count()
}

/// EDF order: at each decision the smallest released deadline, the older on a tie.
pub(crate) fn edf_order(model: &ServiceModel, mut free: Free, jobs: &mut Vec<Job>) {
    let key = |job: &Job| (job.deadline, job.rank);
    if jobs.iter().all(|job| job.release <= free.now) {
        return jobs.sort_unstable_by_key(key);
    }
    jobs.sort_unstable_by_key(|job| (job.release, job.rank));
    let mut order = Vec::with_capacity(jobs.len());
    let mut ready = BinaryHeap::new();
    let mut next = 0;
    while order.len() < jobs.len() {
        if ready.is_empty() {
            free.now = free.now.max(jobs[next].release);
        }
        while jobs.get(next).is_some_and(|job| job.release <= free.now) {
            ready.push(Reverse((key(&jobs[next]), next)));
            next += 1;
        }
        let Reverse((_, at)) = ready.pop().expect("a job is ready");
        free = serve(model, free, &jobs[at]);
        order.push(jobs[at]);
    }
    *jobs = order;
}

/// Sweeps from the group's end nearer to the head; upwards on a tie.
pub(crate) fn sweep(group: &mut [Job], head: u64) {
    let starts = || group.iter().map(|job| job.start);
    let (Some(low), Some(high)) = (starts().min(), starts().max()) else { return };
    if is_upward(head, low, high) {
        group.sort_unstable_by_key(|job| (job.start, job.rank));
    } else {
        group.sort_unstable_by_key(|job| (Reverse(job.start), job.rank));
    }
}

pub(crate) fn is_upward(head: u64, low: u64, high: u64) -> bool {
    head.abs_diff(low) <= head.abs_diff(high)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, model};
    use super::*;

    const FREE: Free = Free { now: 0, head: 0 };

    fn ranks(jobs: &[Job]) -> Vec<u64> {
        jobs.iter().map(|job| job.rank).collect()
    }

    #[test]
    fn edf_order_serves_what_is_released_when_the_disk_is_free() {
        let mut jobs =
            vec![job(0, 0, 90, 0), job(1, 3, 10, 0), job(2, 0, 95, 0), job(3, 60, 61, 0)];
        edf_order(&model(), FREE, &mut jobs);
        assert_eq!(
            ranks(&jobs),
            [0, 1, 2, 3],
            "a service takes 5 ms: 1 is released during the first"
        );
        let mut jobs = vec![job(0, 9, 90, 0), job(1, 9, 90, 0), job(2, 8, 99, 0)];
        edf_order(&model(), FREE, &mut jobs);
        assert_eq!(ranks(&jobs), [2, 0, 1], "the disk waits for the first release only");
    }

    #[test]
    fn a_sweep_begins_at_the_end_that_is_nearer() {
        let group = [job(0, 0, 1, 30), job(1, 0, 1, 10), job(2, 0, 1, 30), job(3, 0, 1, 50)];
        let swept = |head| {
            let mut group = group;
            sweep(&mut group, head);
            ranks(&group)
        };
        assert_eq!(
            [swept(0), swept(30), swept(31)],
            [vec![1, 0, 2, 3], vec![1, 0, 2, 3], vec![3, 0, 2, 1]]
        );
    }

    #[test]
    fn times_add_up_with_waits_for_releases() {
        let jobs = [job(0, 0, 6, 10), job(1, 20, 25, 10), job(2, 0, 30, 0)];
        assert_eq!(
            finish(&model(), FREE, &jobs),
            31_000_000,
            "6 ms, then 20 to 25, then 6 of seek and service"
        );
        assert_eq!(misses(&model(), FREE, &jobs), 1);
    }
}
