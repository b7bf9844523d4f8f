//! Idling: whether to keep the device for a queue without requests, and for how long.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed. Idling increases throughput if the
//! next request is near and soon. It is needed for guarantees if queues differ: a synchronous queue
//! that loses its turn whenever it thinks gets less than its share.

use super::budget::Expiry;
use super::rate::MIN_IDLE_NS;
use super::{Bfq, MS};
use crate::vocabulary::Time;

/// BFQ_HW_QUEUE_THRESHOLD.
const QUEUEING_THRESHOLD: u32 = 3;
const QUEUEING_SAMPLES: u32 = 32;
const RAISED_IDLE_NS: u64 = 20 * MS;

#[derive(Debug)]
pub(super) struct Queueing {
    /// Assumed until observed.
    pub(super) detected: bool,
    /// Queueing was detected, permanently.
    settled: bool,
    samples: u32,
    pub(super) most_in_driver: u32,
}

impl Default for Queueing {
    fn default() -> Queueing {
        Queueing { detected: true, settled: false, samples: 0, most_in_driver: 0 }
    }
}

impl Bfq {
    /// bfq_update_hw_tag, at each completion, before the completed request leaves.
    pub(super) fn observe_queueing(&mut self) {
        let queueing = &mut self.queueing;
        queueing.most_in_driver = queueing.most_in_driver.max(self.in_driver);
        // Too few requests to detect anything.
        if queueing.settled || self.in_driver as usize + self.held <= QUEUEING_THRESHOLD as usize {
            return;
        }
        // Few requests because of idling prove nothing.
        if let Some(queue) = self.in_service.map(|id| &self.queues[id as usize])
            && queue.habits.thinks_briefly
            && queue.dispatched as usize + queue.sorted.len() < QUEUEING_THRESHOLD as usize
            && self.in_driver < QUEUEING_THRESHOLD
        {
            return;
        }
        queueing.samples += 1;
        if queueing.samples > QUEUEING_SAMPLES {
            let detected = queueing.most_in_driver > QUEUEING_THRESHOLD;
            *queueing = Queueing { detected, settled: detected, samples: 0, most_in_driver: 0 };
        }
    }

    /// bfq_asymmetric_scenario.
    pub(super) fn is_asymmetric(&self, id: Option<u32>) -> bool {
        let weights = &self.tree.weights;
        let smallest = id.and_then(|id| self.tree.get(id).counted);
        let is_smallest =
            smallest.is_some() && smallest == weights.first_key_value().map(|(weight, _)| *weight);
        let weights_vary = !is_smallest && weights.len() > 1;
        weights_vary
            || self.busy.iter().filter(|busy| **busy > 0).count() > 1
            || self.tree.groups_differ()
    }

    /// bfq_better_to_idle.
    pub(super) fn better_to_idle(&self, id: u32) -> bool {
        let queue = self.queue(id);
        if queue.users == 0 {
            return false;
        }
        if self.settings.strict_guarantees {
            return true;
        }
        if self.settings.slice_idle_ns == 0 || !queue.sync || self.tree.get(id).class == 2 {
            return false;
        }
        !self.variant.is_linux()
            || self.idling_boosts_throughput(id)
            || self.idling_keeps_guarantees(id)
    }

    /// bfq_bfqq_must_idle.
    pub(super) fn must_idle(&self, id: u32) -> bool {
        self.queue(id).sorted.is_empty() && self.better_to_idle(id)
    }

    /// idling_boosts_thr_without_issues.
    pub(super) fn idling_boosts_throughput(&self, id: u32) -> bool {
        let queue = self.queue(id);
        let one_at_a_time = self.rotational && !self.queueing.detected;
        let streams = !queue.is_seeky() && queue.habits.io_bound && queue.habits.thinks_briefly;
        // Raised queues need a device that is not filled for throughput.
        queue.users > 0
            && self.raised_busy == 0
            && (one_at_a_time || ((self.rotational || !self.queueing.detected) && streams))
    }

    /// idling_needed_for_service_guarantees.
    pub(super) fn idling_keeps_guarantees(&self, id: u32) -> bool {
        let queue = self.queue(id);
        let busy: u32 = self.busy.iter().sum();
        let raised = self.tree.get(id).coefficient > 1
            && (self.raised_busy < busy || self.in_driver >= queue.dispatched + 4);
        queue.users > 0 && (raised || self.is_asymmetric(Some(id)) || busy == 1)
    }

    /// The end of bfq_completed_request.
    pub(super) fn idle_or_expire(&mut self, now: Time, id: u32) {
        let queue = self.queue(id);
        let (empty, drained) = (queue.sorted.is_empty(), queue.dispatched == 0);
        if self.must_idle(id) {
            if drained {
                self.start_idling(now, id);
            }
        } else if self.may_expire_for_timeout(id) {
            self.expire(now, false, Expiry::Timeout);
        } else if empty && (drained || !self.better_to_idle(id)) {
            self.expire(now, false, Expiry::NoMoreRequests);
        }
    }

    /// bfq_arm_slice_timer.
    fn start_idling(&mut self, now: Time, id: u32) {
        let queue = self.queue(id);
        let slice = self.settings.slice_idle_ns;
        let ns = if !self.variant.is_linux() {
            slice
        } else if self.tree.get(id).coefficient > 1 {
            slice.max(RAISED_IDLE_NS)
        } else if queue.is_seeky() && !self.is_asymmetric(Some(id)) {
            slice.min(MIN_IDLE_NS)
        } else {
            slice
        };
        self.idling_start = now;
        self.idling_start_jiffies = self.jiffies;
        self.timer = Some(now + ns);
        self.anticipation.started += 1;
    }

    /// bfq_rq_enqueued.
    pub(super) fn waiting_is_rewarded(&mut self, now: Time, id: u32) {
        let alone = self.queue(id).sorted.len() == 1;
        if alone {
            self.anticipation.successes += 1;
            self.anticipation.success_wait_ns += now - self.idling_start;
        }
        let lone_and_small = alone
            && self
                .queue(id)
                .sorted
                .first()
                .is_some_and(|(_, tag)| self.slot(tag).request.nr_sectors < 32);
        let timed_out = self.is_timed_out(id);
        // More of a stream may arrive and merge; the next dispatch ends the wait anyway.
        if self.variant.is_linux()
            && lone_and_small
            && self.idling_boosts_throughput(id)
            && !timed_out
        {
            return;
        }
        self.timer = None;
        if timed_out {
            self.expire(now, false, Expiry::Timeout);
        }
    }

    /// bfq_idle_slice_timer_body.
    pub(super) fn idling_is_over(&mut self, now: Time) {
        self.timer = None;
        let id = self.in_service.expect("only a queue in service is waited for");
        let empty = self.queue(id).sorted.is_empty();
        if empty {
            self.anticipation.failures += 1;
            self.anticipation.failure_wait_ns += now - self.idling_start;
        }
        if self.is_timed_out(id) {
            self.expire(now, true, Expiry::Timeout);
        } else if empty {
            self.expire(now, true, Expiry::TooIdle);
        }
    }
}
