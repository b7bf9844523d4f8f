//! A plan over all requests with deadlines, made by a [`Planner`]: the rule of dm-scan, rg-scan and
//! gsr.
//!
//! Planning inspects each request many times, so a plan is kept and followed. Each request has a
//! latest finish at which all after it meet their deadlines: LF_k = min(d_k, LF_(k+1) − c_(k+1)).
//! These are absolute times, so dispatching from the front keeps them valid, and the slack for a
//! request without a deadline is one comparison.
//!
//! Online use (proposed; the papers plan known sets): arrivals are inserted at the next dispatch,
//! at the planner's place; at `replan_percent` of the held requests a new plan is made. The device
//! waits for the next release unless there were arrivals: then it replans. With a queue depth above
//! 1 the plan starts at dispatch.

use std::collections::VecDeque;

use super::jobs::{Free, Job, cost, is_upward, serve};
use super::{Choice, Rule, View, position};
use crate::geometry::Geometry;
use crate::kind::{Build, Evidence, Role, Tunable};
use crate::realtime::ServiceModel;
use crate::textbook::Held;
use crate::vocabulary::Time;

pub(crate) trait Planner: std::fmt::Debug + Send {
    fn plan(&self, model: &ServiceModel, free: Free, jobs: &mut Vec<Job>);

    /// `due`: the earliest deadline from each request on.
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) job: Job,
    /// The earliest deadline of this and all later requests.
    pub(crate) due: u64,
    /// The latest finish at which this and all later requests are in time.
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

#[derive(Debug)]
pub(crate) struct Planned<P> {
    planner: P,
    geometry: Geometry,
    model: ServiceModel,
    plan: VecDeque<Entry>,
    arrivals: Vec<Job>,
    /// Since the plan was made.
    changes: u64,
    slack: bool,
    margin_ns: u64,
    replan_percent: u64,
}

impl<P: Planner> Planned<P> {
    pub(crate) fn new(build: &Build, planner: P, slack: bool, replan_percent: u64) -> Planned<P> {
        Planned {
            planner,
            model: ServiceModel::from_geometry(&build.geometry),
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

    /// Updates the bounds of this request, and of earlier ones as far as they change.
    fn bound(&mut self, at: usize) {
        self.bound_one(at);
        for at in (0..at).rev() {
            if !self.bound_one(at) {
                return;
            }
        }
    }

    /// Computes the bounds from the next one's. Returns whether they changed.
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

    /// Earlier bounds may be too early until the next plan, never too late.
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

/// A sweep over a growing group, by position.
#[derive(Debug, Default)]
pub(crate) struct Group {
    ascending: Vec<Job>,
}

impl Group {
    pub(crate) fn clear(&mut self) {
        self.ascending.clear();
    }

    /// Adds a member; on a tie the older is first upwards.
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

    /// Visits members while `visit` returns true.
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
