//! A plan over all requests with deadlines, which a [`Planner`] makes: a rule of the frame for
//! dm-scan, rg-scan and gsr.
//!
//! Problem: planning looks at every request many times; a scheduler that plans at every arrival
//! serves some thousand requests a second. Approach: the plan is kept and followed. For each of its
//! requests the latest end is known at which all behind it still meet their deadlines: LF_k =
//! min(d_k, LF_(k+1) − c_(k+1)). These are points in time, so they stay right when requests are
//! dispatched from the front, whenever that is, and the slack for a request without a deadline is
//! one comparison.
//!
//! Online (proposed; the papers plan a set that is known): arrivals are taken in when the next
//! dispatch is asked for, at the place that the planner gives them; when arrivals since the last
//! plan are `replan_percent` of the requests held, a new plan is made. While the next request of
//! the plan is not released, its release is waited for, unless there were arrivals: then a new plan
//! is made. With a queue depth above 1 the plan begins at the dispatch, not at the end of what the
//! device has.

use std::collections::VecDeque;

use super::jobs::{Free, Job, cost, is_upward, serve};
use super::{Choice, Rule, View, position};
use crate::geometry::Geometry;
use crate::kind::{Build, Evidence, Role, Tunable};
use crate::realtime::ServiceModel;
use crate::textbook::Held;
use crate::vocabulary::Time;

/// How a scheduler plans.
pub(crate) trait Planner: std::fmt::Debug + Send {
    /// Orders all requests.
    fn plan(&self, model: &ServiceModel, free: Free, jobs: &mut Vec<Job>);

    /// Where in the plan an arrival goes; `due` of a request is the earliest deadline from it on.
    fn place(
        &self,
        _model: &ServiceModel,
        _free: Free,
        plan: &VecDeque<Entry>,
        job: &Job,
    ) -> usize {
        plan.partition_point(|entry| entry.due <= job.deadline)
    }
}

/// A request in the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) job: Job,
    /// The earliest deadline of this one and all behind it.
    pub(crate) due: u64,
    /// When it must end at the latest, so that it and all behind it meet their deadlines.
    pub(crate) latest: u64,
}

const fn tunable(
    name: &'static str,
    unit: &'static str,
    max: u64,
    help: &'static str,
    role: Role,
) -> Tunable {
    Tunable { name, unit, min: 0, max, evidence: Evidence::Proposed, help, role }
}

/// The tunables of all planners.
pub(crate) const TUNABLES: &[Tunable] = &[
    tunable(
        "slack",
        "switch",
        1,
        "requests without a deadline are served: 0 when no request with one is released, 1 in the slack of the plan",
        Role::Knob,
    ),
    tunable(
        "margin_us",
        "µs",
        10_000_000,
        "time that a request without a deadline leaves unused of the slack",
        Role::Knob,
    ),
    tunable(
        "replan_percent",
        "percent",
        100_000,
        "a new plan is made when so many of the requests arrived since the last one; 0: at every arrival",
        Role::Knob,
    ),
    tunable(
        "rotation_us",
        "µs",
        1_000_000,
        "rotational latency of each request; half a revolution of the disk",
        Role::Disk,
    ),
    tunable(
        "transfer_ns",
        "ns",
        10_000_000,
        "transfer time of a sector; the mean of the disk",
        Role::Disk,
    ),
];

/// The rule.
#[derive(Debug)]
pub(crate) struct Planned<P> {
    planner: P,
    geometry: Geometry,
    model: ServiceModel,
    plan: VecDeque<Entry>,
    /// Requests that are not in the plan yet.
    arrivals: Vec<Job>,
    /// Requests that were taken into the plan since it was made.
    changes: u64,
    slack: bool,
    margin_ns: u64,
    replan_percent: u64,
}

impl<P: Planner> Planned<P> {
    pub(crate) fn new(build: &Build, planner: P, slack: bool, replan_percent: u64) -> Planned<P> {
        Planned {
            planner,
            model: ServiceModel::of(&build.geometry),
            geometry: build.geometry.clone(),
            plan: VecDeque::new(),
            arrivals: Vec::new(),
            changes: 0,
            slack,
            margin_ns: build.geometry.revolution_ns,
            replan_percent,
        }
    }

    fn job(&self, held: &Held) -> Job {
        let request = &held.request;
        Job {
            tag: request.tag,
            nr_sectors: request.nr_sectors,
            rank: held.rank,
            release: request.release.map_or(0, Time::as_ns),
            deadline: request.deadline.expect("a planned request has a deadline").as_ns(),
            start: held.position,
            end: position(&self.geometry, request.end() - 1),
        }
    }

    /// Takes arrivals in, or plans anew.
    fn update(&mut self, free: Free) {
        let held = (self.plan.len() + self.arrivals.len()) as u64;
        self.changes += self.arrivals.len() as u64;
        if self.plan.is_empty() || self.changes * 100 >= self.replan_percent * held {
            return self.plan_all(free);
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for job in arrivals.drain(..) {
            let at = self.planner.place(&self.model, free, &self.plan, &job);
            self.plan.insert(at, Entry { job, due: u64::MAX, latest: u64::MAX });
            self.bound(at);
        }
        self.arrivals = arrivals;
    }

    fn plan_all(&mut self, free: Free) {
        let mut jobs = std::mem::take(&mut self.arrivals);
        jobs.extend(self.plan.drain(..).map(|entry| entry.job));
        self.planner.plan(&self.model, free, &mut jobs);
        self.plan.extend(jobs.drain(..).map(|job| Entry { job, due: u64::MAX, latest: u64::MAX }));
        self.arrivals = jobs;
        self.changes = 0;
        self.bound_all();
    }

    fn bound_all(&mut self) {
        for at in (0..self.plan.len()).rev() {
            self.bound_one(at);
        }
    }

    /// The bounds of this one, and of those before it as far as they change.
    fn bound(&mut self, at: usize) {
        self.bound_one(at);
        for at in (0..at).rev() {
            if !self.bound_one(at) {
                return;
            }
        }
    }

    /// The bounds of one from those of the next. Whether they have changed.
    fn bound_one(&mut self, at: usize) -> bool {
        let mut entry = self.plan[at];
        (entry.due, entry.latest) = (entry.job.deadline, entry.job.deadline);
        if let Some(next) = self.plan.get(at + 1) {
            let start = next.latest.saturating_sub(cost(&self.model, entry.job.end, &next.job));
            (entry.due, entry.latest) = (entry.due.min(next.due), entry.latest.min(start));
        }
        let before = std::mem::replace(&mut self.plan[at], entry);
        (before.due, before.latest) != (entry.due, entry.latest)
    }

    /// Leaves the plan; the bounds of those before may be too early until the next plan, never too
    /// late.
    fn take(&mut self, tag: u32) {
        if self.plan.front().is_some_and(|entry| entry.job.tag == tag) {
            self.plan.pop_front();
        } else if let Some(at) = self.plan.iter().position(|entry| entry.job.tag == tag) {
            self.plan.remove(at);
        } else {
            let at = self.arrivals.iter().position(|job| job.tag == tag);
            self.arrivals
                .swap_remove(at.expect("a planned request is in the plan or has just arrived"));
        }
    }
}

impl<P: Planner> Rule for Planned<P> {
    const PLANS: bool = true;

    fn insert(&mut self, held: &Held) {
        self.arrivals.push(self.job(held));
    }

    fn remove(&mut self, held: &Held) {
        self.take(held.request.tag);
    }

    fn choose(&mut self, view: &View) -> Option<Choice> {
        let free = Free { now: view.now.as_ns(), head: view.arm.head };
        if !self.arrivals.is_empty() {
            self.update(free);
        }
        if self.changes > 0 && self.plan.front().is_some_and(|entry| entry.job.release > free.now) {
            self.plan_all(free);
        }
        let job = self.plan.front()?.job;
        Some(Choice { tag: job.tag, position: job.start, released: job.release <= free.now })
    }

    fn has_slack_for(&self, view: &View, other: &Held) -> bool {
        let Some(front) = self.plan.front().filter(|_| self.slack) else { return false };
        let end = position(&self.geometry, other.request.end() - 1);
        let first = self.model.seek_ns(view.arm.head.abs_diff(other.position))
            + self.model.least_ns(other.request.nr_sectors);
        let after = Free { now: view.now.as_ns() + first, head: end };
        serve(&self.model, after, &front.job).now + self.margin_ns <= front.latest
    }

    fn guards_the_unreleased(&self) -> bool {
        self.slack
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "slack" => u64::from(self.slack),
            "margin_us" => self.margin_ns / 1000,
            "replan_percent" => self.replan_percent,
            "rotation_us" => self.model.rotation_ns() / 1000,
            "transfer_ns" => self.model.sector_ns(),
            _ => unreachable!("planners have no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "slack" => self.slack = value != 0,
            "margin_us" => self.margin_ns = value * 1000,
            "replan_percent" => self.replan_percent = value,
            "rotation_us" => self.model.set_rotation_ns(value * 1000),
            "transfer_ns" => self.model.set_sector_ns(value),
            _ => unreachable!("planners have no tunable {tunable}"),
        }
        self.bound_all();
    }
}

/// A sweep over a growing group: members by position.
#[derive(Debug, Default)]
pub(crate) struct Group {
    ascending: Vec<Job>,
}

impl Group {
    pub(crate) fn clear(&mut self) {
        self.ascending.clear();
    }

    /// Of equal positions the older is first in an upward sweep.
    pub(crate) fn add(&mut self, job: Job) {
        let at = self
            .ascending
            .partition_point(|other| (other.start, other.rank) < (job.start, job.rank));
        self.ascending.insert(at, job);
    }

    pub(crate) fn remove(&mut self, job: &Job) {
        let at = self
            .ascending
            .partition_point(|other| (other.start, other.rank) < (job.start, job.rank));
        self.ascending.remove(at);
    }

    /// Visits the members in the order of the sweep from `head`, while `visit` says so.
    pub(crate) fn sweep(&self, head: u64, mut visit: impl FnMut(&Job) -> bool) -> bool {
        let (Some(low), Some(high)) = (self.ascending.first(), self.ascending.last()) else {
            return true;
        };
        if is_upward(head, low.start, high.start) {
            self.ascending.iter().all(visit)
        } else {
            self.ascending
                .chunk_by(|one, two| one.start == two.start)
                .rev()
                .all(|chunk| chunk.iter().all(&mut visit))
        }
    }
}
