//! Injection: other queues' requests served while idling for the queue in service, so that
//! guarantees do not leave the device idle, and a process that waits for another's I/O (journal,
//! database writer) is not idled for without success.
//!
//! Served first: the process's own asynchronous requests, then its waker's (whose completions
//! preceded its requests three times in a row), then those of a queue it wakes, then any, up to a
//! limit in flight. The limit follows measurements: 1.5 × the service time without injection lowers
//! it by one; less raises it. Queues are tried last-inserted first. Source: Linux 6.1 and 6.12
//! block/bfq-iosched.c; confirmed.

use super::{Bfq, MS};
use crate::vocabulary::Time;

/// An arrival identifies a waker only this soon after a completion.
const WOKEN_WITHIN_NS: u64 = 4 * MS;
const DETECTIONS: u32 = 3;
/// Idle slices for all detections.
const DETECTION_SLICES: u64 = 128;
/// Maximum time between resets of a limit.
const RESET_MS: u64 = 1000;
/// Minimum time from a decrease of the limit to the next measurement.
const SETTLE_MS: u64 = 10;
/// In sectors; non-rotational devices.
const LARGE: u32 = 64;

#[derive(Debug, Clone, Default)]
pub(super) struct Waking {
    pub(super) waker: Option<u32>,
    tentative: Option<u32>,
    detections: u32,
    detecting_since: Time,
    /// Queues that it wakes, most recently found first.
    woken: Vec<u32>,
    pub(super) inject_limit: u32,
    /// Time from arrival to completion without injection; 0: unknown.
    pub(super) last_service_ns: u64,
    /// The jiffy of the last decrease of the limit.
    pub(super) inject_mark: i64,
}

#[derive(Debug, Default)]
pub(super) struct Injection {
    /// The request to measure has arrived but is not dispatched.
    pub(super) awaits_dispatch: bool,
    /// Its tag after dispatch.
    pub(super) measured: Option<u32>,
    pub(super) arrived: Time,
    /// Whether requests were injected during the measurement.
    pub(super) injected: bool,
}

impl Bfq {
    /// The injection part of bfq_add_request.
    pub(super) fn observe_arrival(&mut self, now: Time, id: u32) {
        self.detect_waker(now, id);
        let (reset, settle) = (self.ticks(RESET_MS), self.ticks(SETTLE_MS));
        if self.queue(id).waking.inject_mark + reset <= self.jiffies {
            self.reset_inject_limit(id);
        }
        let waking = &self.queue(id).waking;
        let measurable =
            self.in_driver == 0 || waking.last_service_ns > 0 && self.injection.injected;
        if self.in_service == Some(id) && measurable && waking.inject_mark + settle <= self.jiffies
        {
            self.injection.arrived = now;
            self.injection.awaits_dispatch = true;
            if self.in_driver == 0 {
                self.injection.injected = false;
            }
        }
    }

    /// bfq_check_waker.
    fn detect_waker(&mut self, now: Time, id: u32) {
        let Some(last) = self.last_completed.filter(|last| *last != id) else { return };
        if self.queue(id).habits.thinks_briefly
            || self.rate.since_completion(now) >= WOKEN_WITHIN_NS
        {
            return;
        }
        let window = DETECTION_SLICES * self.settings.slice_idle_ns;
        let waking = &mut self.queue_mut(id).waking;
        if waking.tentative == Some(last) && now <= waking.detecting_since + window {
            waking.detections += 1;
        } else {
            (waking.tentative, waking.detections, waking.detecting_since) = (Some(last), 1, now);
        }
        if waking.detections == DETECTIONS {
            self.set_waker(id, last);
        }
    }

    pub(super) fn set_waker(&mut self, id: u32, waker: u32) {
        self.drop_waker(id);
        let waking = &mut self.queue_mut(id).waking;
        (waking.waker, waking.tentative) = (Some(waker), None);
        self.queue_mut(waker).waking.woken.insert(0, id);
    }

    fn drop_waker(&mut self, id: u32) {
        if let Some(waker) = self.queue_mut(id).waking.waker.take() {
            self.queue_mut(waker).waking.woken.retain(|woken| *woken != id);
        }
    }

    pub(super) fn forget_waker(&mut self, id: u32) {
        self.drop_waker(id);
        for woken in std::mem::take(&mut self.queue_mut(id).waking.woken) {
            self.queue_mut(woken).waking.waker = None;
        }
    }

    /// bfq_add_bfqq_busy: moves a queue to the front of its waker's list.
    pub(super) fn refresh_woken(&mut self, id: u32) {
        if let Some(waker) = self.queue(id).waking.waker {
            let woken = &mut self.queue_mut(waker).waking.woken;
            if let Some(at) = woken.iter().position(|woken| *woken == id) {
                woken[..=at].rotate_right(1);
            }
        }
    }

    /// bfq_waker_bfqq: unless only merged users are left.
    pub(super) fn living_waker(&self, id: u32) -> Option<u32> {
        let waker = self.queue(id).waking.waker?;
        let users = self.queue(waker).users;
        let mut into = self.queue(id).merging.into;
        while let Some(other) = into {
            if other == waker {
                return (users != 1).then_some(waker);
            }
            into = self.queue(other).merging.into;
        }
        (users > 0).then_some(waker)
    }

    /// bfq_reset_inject_limit.
    pub(super) fn reset_inject_limit(&mut self, id: u32) {
        self.injection.measured = None;
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        queue.waking.last_service_ns = 0;
        queue.waking.inject_limit = u32::from(!queue.habits.thinks_briefly);
        queue.waking.inject_mark = jiffies;
    }

    /// bfq_update_inject_limit.
    pub(super) fn measure(&mut self, now: Time, id: u32, tag: u32) {
        if self.injection.measured != Some(tag) {
            return;
        }
        let took_ns = now - self.injection.arrived;
        let (injected, alone) = (self.injection.injected, self.in_driver == 1);
        let (most, jiffies) = (self.queueing.most_in_driver, self.jiffies);
        let waking = &mut self.queue_mut(id).waking;
        let (old, baseline) = (waking.inject_limit, waking.last_service_ns);
        if baseline > 0 && injected {
            let threshold = baseline * 3 / 2;
            if took_ns >= threshold && old > 0 {
                waking.inject_limit -= 1;
                waking.inject_mark = jiffies;
            } else if took_ns < threshold && old <= most {
                waking.inject_limit += 1;
            }
        }
        if (baseline == 0 && alone) || took_ns < baseline {
            if baseline == 0 {
                waking.inject_limit = old.max(1);
            }
            waking.last_service_ns = took_ns;
        } else if !injected && alone {
            waking.last_service_ns = took_ns;
        }
        self.injection.measured = None;
        self.injection.injected = false;
    }

    fn is_servable(&self, id: u32) -> bool {
        self.queue(id).busy
            && self.next_charge(id).is_some_and(|charge| charge <= self.tree.get(id).left())
    }

    /// bfq_select_queue: whom to inject from.
    pub(super) fn stand_in(&mut self, id: u32) -> Option<u32> {
        let queue = self.queue(id);
        let own = queue
            .owner
            .and_then(|owner| self.processes[owner as usize].asynchronous.map(|own| (owner, own)));
        if let Some((owner, own)) = own
            && self.is_servable(own)
            && self.queue(own).next.is_some_and(|tag| self.slot(tag).request.process == owner)
        {
            return Some(own);
        }
        let woken = queue.waking.woken.first().copied();
        if let Some(other) =
            [queue.waking.waker, woken].into_iter().flatten().find(|other| self.is_servable(*other))
        {
            return Some(other);
        }
        let raised = self.tree.get(id).coefficient > 1;
        let crowded = !raised || self.raised_busy > 1 || !queue.habits.thinks_briefly;
        if crowded && !self.idling_boosts_throughput(id) {
            self.choose_for_injection(id)
        } else {
            None
        }
    }

    /// bfq_choose_bfqq_for_injection. `overdue` adds nanoseconds to jiffies, as the kernel does, so
    /// a limit of 0 hardly ever counts as 1.
    fn choose_for_injection(&mut self, served: u32) -> Option<u32> {
        let queue = self.queue(served);
        let own = queue.waking.inject_limit;
        let always = self.tree.get(served).coefficient == 1 || !queue.habits.thinks_briefly;
        let mut limit = own;
        let overdue =
            self.idling_start_jiffies.saturating_add_unsigned(self.settings.slice_idle_ns)
                <= self.jiffies;
        if limit == 0 && queue.waking.last_service_ns == 0 && self.timer.is_some() && overdue {
            limit = 1;
        }
        if self.in_driver >= limit {
            return None;
        }
        for id in self.tree.waiting() {
            if !(always || self.tree.get(id).coefficient > 1) || !self.is_servable(id) {
                continue;
            }
            let next = self.queue(id).next.expect("it has a next request");
            let large = !self.rotational && self.slot(next).request.nr_sectors >= LARGE;
            if !self.is_old() {
                if large && self.in_driver >= 1 {
                    continue;
                }
            } else {
                limit = if large { limit.min(1) } else { own };
                if self.in_driver >= limit {
                    continue;
                }
            }
            self.injection.injected = true;
            return Some(id);
        }
        None
    }
}
