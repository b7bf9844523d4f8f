//! The next request, and whether to wait instead.
//!
//! Among flows within the slack: 1. by class; 2. asynchronous requests, if nothing else is eligible,
//! or for a turn when the flow at virtual time has only these or the others have had a slack of
//! occupancy since the last turn. Within a class: one-way sector order if positions matter or are
//! unknown, otherwise the least start tag. Where a device may seek, an overdue request goes first,
//! once in 17 dispatches: a stream ahead of it might never end.
//!
//! Waiting for the last process pays if the expected gain exceeds the expected idle time: it saves
//! the way back where positions matter and, for a flow that is behind, the other request's time.
//! While the process has a request in the device, waiting is free. Failed waits take at
//! most 12 % of the time.

use crate::algorithm::occupancy::model::bucket;
use crate::algorithm::occupancy::requests::{ASYNC, CLASSES, ON_CREDIT, REAL_TIME, SYNC};
use crate::algorithm::occupancy::settings::Key;
use crate::algorithm::occupancy::{Occupancy, SECOND, Wait};

impl Occupancy {
    /// The next request, and whether it is overdue.
    pub(super) fn choose(&self, now: u64) -> Option<(u32, bool)> {
        let positions = self.settings.on(Key::Positions);
        if positions
            && self.since_overdue >= self.settings.value(Key::OverdueEvery)
            && let Some(tag) = self.overdue(now)
        {
            return Some((tag, true));
        }
        let class = self.class_in_turn()?;
        let tag = if positions && self.model.positions_matter() != Some(false) {
            self.requests.next_up(class, self.head)
        } else {
            self.requests.first_by_start(class)
        };
        tag.map(|tag| (tag, false))
    }

    fn class_in_turn(&self) -> Option<usize> {
        let first = (0..CLASSES).find(|class| self.requests.is_eligible(*class))?;
        if first == ASYNC || !self.requests.is_eligible(ASYNC) {
            return Some(first);
        }
        let least = (0..ASYNC).filter_map(|class| self.requests.least_start(class)).min();
        let due = first != REAL_TIME && self.since_turn > self.slack;
        let in_turn = self.turn > 0 || due || self.requests.least_start(ASYNC) < least;
        Some(if in_turn { ASYNC } else { first })
    }

    fn overdue(&self, now: u64) -> Option<u32> {
        let rounds = self.slack.saturating_mul(2 * u64::from(self.requests.backlogged()));
        let limit = (self.settings.value(Key::OverdueMs) * 1_000_000).saturating_add(rounds);
        (0..CLASSES).find_map(|class| {
            let tag = self.requests.oldest(class)?;
            (now - self.requests.slot(tag).since > limit).then_some(tag)
        })
    }

    /// Whether to wait for the last process; sets the timer.
    pub(super) fn waits(&mut self, now: u64, tag: u32) -> bool {
        let Some(last) = self.last else { return false };
        let positions = self.model.positions_matter() == Some(true);
        let of = &self.requests.processes[last as usize];
        let slot = self.requests.slot(tag);
        let Some(flow) = self.shares.known_flow(last).filter(|_| positions) else { return false };
        if slot.request.process == last || of.queued > 0 || !self.requests.flows[flow].eligible {
            return false;
        }
        let own_class = if self.requests.flows[flow].credit > 0 { ON_CREDIT } else { SYNC };
        if usize::from(slot.class) < own_class {
            return false;
        }
        let gain = self.gain(last as usize, flow, tag);
        if gain == 0 {
            return false;
        }
        let of = &self.requests.processes[last as usize];
        let thinks = if of.thinks.is_known() { of.thinks } else { self.thinks };
        let (busy, since) = (of.busy, of.done);
        if busy > 0 {
            return thinks.best_wait(0, gain).is_some();
        }
        if since == 0 {
            return false;
        }
        self.earn_idle(now);
        let until = thinks.best_wait(now.saturating_sub(since), gain).map(|edge| since + edge);
        let Some(until) = until.filter(|_| self.idle_tokens > 0) else { return false };
        if self.wait.is_some_and(|wait| wait.process != last) {
            self.end_wait(now, last);
        }
        if self.wait.is_none() {
            self.counts.started += 1;
            self.wait = Some(Wait { process: last, since });
        }
        self.timer = Some(until);
        true
    }

    /// Nanoseconds saved if a request of the process arrives.
    fn gain(&self, last: usize, flow: usize, tag: u32) -> u64 {
        let (slot, process, of) =
            (self.requests.slot(tag), &self.requests.processes[last], &self.requests.flows[flow]);
        let other = &self.requests.flows[slot.flow as usize];
        let mut gain = 0;
        if self.settings.on(Key::Anticipation) {
            let back = self.model.positional_ns(bucket(slot.request.end(), process.last_end));
            gain = u64::try_from(back - process.own_position.value).unwrap_or(0);
            // Less than half of a far seek is noise of the model.
            gain = if gain > self.model.far_ns() / 2 { gain } else { 0 };
        }
        if self.settings.on(Key::Holds) && of.start < other.start {
            gain += self.predict(&slot.request, bucket(self.head, slot.request.sector));
        }
        gain
    }

    fn earn_idle(&mut self, now: u64) {
        let earned = (now - self.idle_since) / 100 * self.settings.value(Key::IdlePercent);
        if earned > 0 {
            self.idle_tokens = self.idle_tokens.saturating_add(earned).min(SECOND / 8);
            self.idle_since = now;
        }
    }
}
