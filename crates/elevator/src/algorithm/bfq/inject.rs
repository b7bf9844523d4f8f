//! Injection: requests of other queues that the device gets while the queue in service is waited
//! for.
//!
//! Problem: idling preserves shares and sequences, but the device has nothing to do meanwhile; and
//! a process that waits for another's I/O (a journal, a database's writer) is idled for in vain
//! until that I/O is done.
//!
//! Approach: while the queue in service has no request but is waited for, these are served instead,
//! the first that there is: its own process's asynchronous requests; those of its waker, the queue
//! whose completions were three times in a row soon followed by its own requests although it thinks
//! for long; those of the queue that it wakes; and those of any other queue, as long as fewer
//! requests than a limit are in the device. The limit of a queue follows from measurements: the
//! time from an arrival at an empty device to the completion is its baseline; with injection, half
//! as much again lowers the limit by one and anything less raises it.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c (bfq_check_waker, bfq_select_queue,
//! bfq_choose_bfqq_for_injection, bfq_update_inject_limit); confirmed. Queues are tried in the
//! order in which they came into their trees, the last first. A limit of 0 should count as 1 after
//! a long idle time, but the source adds nanoseconds to jiffies there, so that it hardly ever does.

use super::{Bfq, MS};
use crate::vocabulary::Time;

/// Only soon after a completion does an arrival tell who woke its process.
const WOKEN_WITHIN_NS: u64 = 4 * MS;
/// Detections in a row that make a waker.
const DETECTIONS: u32 = 3;
/// They have to come within this many idle slices.
const DETECTION_SLICES: u64 = 128;
/// A limit is set anew at least this often.
const RESET_MS: u64 = 1000;
/// The least time between a decrease of the limit and the next measurement.
const SETTLE_MS: u64 = 10;
/// On a device without a geometry, requests of so many sectors are large.
const LARGE: u32 = 64;

/// Who wakes a queue, and how many requests may be injected while it is waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Waking {
    pub(super) waker: Option<u32>,
    tentative: Option<u32>,
    detections: u32,
    detecting_since: Time,
    /// Queues that it wakes, the last found first.
    woken: Vec<u32>,
    pub(super) inject_limit: u32,
    /// Time from arrival to completion without injection; 0: not known.
    pub(super) last_service_ns: u64,
    /// The jiffy of the last decrease of the limit.
    pub(super) inject_mark: i64,
}

/// The measurement that is on.
#[derive(Debug, Default)]
pub(super) struct Injection {
    /// A request has arrived that is to be measured; it waits for its dispatch.
    pub(super) awaits_dispatch: bool,
    /// Its tag, once it was dispatched.
    pub(super) measured: Option<u32>,
    pub(super) arrived: Time,
    /// Whether requests were injected meanwhile.
    pub(super) injected: bool,
}

impl Bfq {
    /// A synchronous request has arrived of a process that has no other.
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

    /// A queue is let go.
    pub(super) fn forget_waker(&mut self, id: u32) {
        self.drop_waker(id);
        for woken in std::mem::take(&mut self.queue_mut(id).waking.woken) {
            self.queue_mut(woken).waking.waker = None;
        }
    }

    /// A queue has become busy: it is the first of those that its waker wakes.
    pub(super) fn refresh_woken(&mut self, id: u32) {
        if let Some(waker) = self.queue(id).waking.waker {
            let woken = &mut self.queue_mut(waker).waking.woken;
            if let Some(at) = woken.iter().position(|woken| *woken == id) {
                woken[..=at].rotate_right(1);
            }
        }
    }

    /// The waker of a queue that is parted, unless nobody uses it, or nobody but its merged users.
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

    pub(super) fn reset_inject_limit(&mut self, id: u32) {
        self.injection.measured = None;
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        queue.waking.last_service_ns = 0;
        queue.waking.inject_limit = u32::from(!queue.habits.thinks_briefly);
        queue.waking.inject_mark = jiffies;
    }

    /// A request is completed: if it is the one measured, the limit of its queue follows.
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

    /// Whether the budget of a queue suffices for its next request.
    fn is_servable(&self, id: u32) -> bool {
        self.queue(id).busy
            && self.next_charge(id).is_some_and(|charge| charge <= self.tree.get(id).left())
    }

    /// The queue to serve while the one in service is waited for.
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
