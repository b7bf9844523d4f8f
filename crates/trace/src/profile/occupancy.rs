//! Numbers of requests waiting and at the disk, and idle periods.

use super::columns::{Cell, Columns};
use super::counts::Counts;
use super::shape::{Depth, Idle, Moment};
use super::terms::{HELD, NEAR};

#[derive(Debug, Clone)]
pub(super) struct Occupancy {
    /// Queued and not issued; at the disk; queued and not completed.
    pub(super) waiting: u32,
    pub(super) at_device: u32,
    queued: u32,
    first: u64,
    counted: u64,
    idle_since: Option<u64>,
    /// When requests began to wait at an idle disk.
    held_since: Option<u64>,
    queued_ns: u128,
    device_ns: u128,
    queued_max: u32,
    device_max: u32,
    at_issue: Counts,
    pub(super) idle: Idle,
    pub(super) series: Columns<Moment>,
}

impl Cell for Moment {
    fn merge(&mut self, other: Moment) {
        for (ours, theirs) in [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.others, other.others),
            (&mut self.read_bytes, other.read_bytes),
            (&mut self.write_bytes, other.write_bytes),
            (&mut self.latency_ns, other.latency_ns),
            (&mut self.completed, other.completed),
            (&mut self.busy_ns, other.busy_ns),
            (&mut self.queued_ns, other.queued_ns),
        ] {
            *ours = ours.saturating_add(theirs);
        }
    }
}

impl Occupancy {
    pub(super) fn new(first: u64) -> Occupancy {
        Occupancy {
            waiting: 0,
            at_device: 0,
            queued: 0,
            first,
            counted: first,
            idle_since: None,
            held_since: None,
            queued_ns: 0,
            device_ns: 0,
            queued_max: 0,
            device_max: 0,
            at_issue: Counts::default(),
            idle: Idle::default(),
            series: Columns::default(),
        }
    }

    /// Queues a request, which waits if its time of issue is known.
    pub(super) fn queue(&mut self, at: u64, waits: bool) {
        self.count_until(at);
        self.queued += 1;
        self.queued_max = self.queued_max.max(self.queued);
        if waits {
            self.waiting += 1;
            if self.at_device == 0 {
                self.held_since.get_or_insert(at);
            }
        }
    }

    /// Issues a request, with the distance if its process was served last.
    pub(super) fn issue(&mut self, at: u64, distance_of_last: Option<u64>) {
        self.count_until(at);
        self.waiting -= 1;
        if self.at_device == 0 {
            self.end_idle(at, distance_of_last);
        }
        self.at_device += 1;
        self.device_max = self.device_max.max(self.at_device);
        self.at_issue.add(u64::from(self.at_device));
    }

    pub(super) fn complete(&mut self, at: u64, was_issued: bool) {
        self.count_until(at);
        self.queued -= 1;
        if was_issued {
            self.at_device -= 1;
            if self.at_device == 0 {
                self.idle_since = Some(at);
                self.held_since = (self.waiting > 0).then_some(at);
            }
        }
    }

    pub(super) fn depth(&self) -> Depth {
        let span = self.counted.saturating_sub(self.first).max(1) as f64;
        Depth {
            queued_mean: self.queued_ns as f64 / span,
            queued_max: self.queued_max,
            device_mean: self.device_ns as f64 / span,
            device_max: self.device_max,
            at_issue: self.at_issue.distribution(),
        }
    }

    fn count_until(&mut self, at: u64) {
        let (from, queued, at_device) = (self.counted, self.queued, self.at_device);
        if at <= from {
            return;
        }
        self.counted = at;
        let ns = u128::from(at - from);
        self.queued_ns += ns * u128::from(queued);
        self.device_ns += ns * u128::from(at_device);
        if queued > 0 {
            self.series.visit(from, at, |moment, ns| {
                moment.busy_ns += if at_device > 0 { ns } else { 0 };
                moment.queued_ns =
                    moment.queued_ns.saturating_add(ns.saturating_mul(u64::from(queued)));
            });
        }
        if at_device > 0 {
            self.idle.busy_ns += at - from;
        }
    }

    fn end_idle(&mut self, at: u64, distance_of_last: Option<u64>) {
        let held = self.held_since.take().map_or(0, |since| at.saturating_sub(since));
        let Some(since) = self.idle_since.take() else { return };
        let idle = at.saturating_sub(since);
        if idle == 0 {
            return;
        }
        let held = held.min(idle);
        self.idle.periods += 1;
        self.idle.idle_ns += idle;
        self.idle.held_ns += held;
        if distance_of_last.is_some_and(|distance| distance <= NEAR) {
            self.idle.deceptive += 1;
            self.idle.deceptive_ns += idle;
        }
        if held >= HELD {
            self.idle.held += 1;
            self.idle.held_for_last += u64::from(distance_of_last.is_some());
        }
    }
}
