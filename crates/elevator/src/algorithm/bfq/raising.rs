//! Weight raising (`wr_coeff`): interactive queues get 30 ×, soft real-time ones 3,000 × their
//! weight for a limited time, so that programs start quickly and players do not stutter.
//!
//! *Interactive*: a synchronous queue of default weight after two idle seconds; raised as long as
//! loading a large program takes on this device, or for 120,000 sectors. *Soft real-time*: at most
//! 7,000 sectors per second and nothing outstanding on arrival; raised for 300 ms at a time, then
//! back to a remaining interactive period. Asynchronous queues are raised after a gap of 0.5 s.
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed.

use super::queue::{DEFAULT_WEIGHT, LONG_AGO};
use super::rate::Rate;
use super::{Bfq, Expiry};
use crate::vocabulary::Time;

pub(super) const COEFFICIENT: u64 = 30;
const SOFT_FACTOR: u64 = 100;
const SOFT_MS: u64 = 300;
/// bfq_wr_max_softrt_rate, in sectors per second.
const SOFT_RATE: u64 = 7000;
pub(super) const MIN_IDLE_MS: u64 = 2000;
const MIN_ASYNC_GAP_MS: u64 = 500;
const MIN_DURATION_MS: u64 = 3000;
const MAX_DURATION_MS: u64 = 25_000;
const MAX_SERVICE: u64 = 120_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Raising {
    duration: i64,
    /// Jiffy of the last start or end of raising.
    pub(super) mark: i64,
    /// `mark` of the interrupted interactive period.
    interactive_mark: i64,
    /// Sectors while raised.
    pub(super) service: u64,
    /// Jiffy.
    pub(super) next_soft_start: i64,
    /// When it became busy, and sectors since.
    pub(super) last_idle: i64,
    pub(super) service_since_idle: u64,
    /// To be updated once nothing is in flight.
    pub(super) updates_soft_start: bool,
}

impl Raising {
    pub(super) fn new(jiffies: i64) -> Raising {
        Raising {
            duration: 0,
            mark: jiffies,
            interactive_mark: LONG_AGO,
            service: 0,
            next_soft_start: jiffies,
            last_idle: 0,
            service_since_idle: 0,
            updates_soft_start: false,
        }
    }

    /// A soft real-time period that began at this jiffy of 1 ms, optionally within an interactive
    /// one.
    #[cfg(test)]
    pub(super) fn soft(mark: i64, interactive_mark: i64) -> Raising {
        Raising { duration: SOFT_MS as i64, mark, interactive_mark, ..Raising::new(0) }
    }

    pub(super) fn begin(&mut self, jiffies: i64, duration: i64, service: u64) {
        (self.duration, self.mark, self.interactive_mark, self.service) =
            (duration, jiffies, LONG_AGO, service);
    }

    pub(super) fn resume(&mut self, saved: &Raising) {
        self.inherit(saved);
        self.service = saved.service;
    }

    pub(super) fn inherit(&mut self, other: &Raising) {
        (self.duration, self.mark, self.interactive_mark) =
            (other.duration, other.mark, other.interactive_mark);
    }
}

impl Bfq {
    fn soft_duration(&self) -> i64 {
        self.ticks(SOFT_MS)
    }

    pub(super) fn is_soft(&self, id: u32) -> bool {
        self.queue(id).raising.duration == self.soft_duration()
    }

    /// bfq_wr_duration, in jiffies.
    pub(super) fn raising_duration(&self) -> i64 {
        let reference_ms = if self.rotational { 7000 } else { 2500 };
        let product = Rate::reference(self.rotational) * self.clock.from_ms(reference_ms);
        let ticks = product / self.rate.peak;
        i64::try_from(ticks)
            .unwrap_or(i64::MAX)
            .clamp(self.ticks(MIN_DURATION_MS), self.ticks(MAX_DURATION_MS))
    }

    /// Takes effect when the queue is next inserted or served.
    pub(super) fn set_coefficient(&mut self, id: u32, coefficient: u64) {
        let entity = self.tree.get_mut(id);
        let old = std::mem::replace(&mut entity.coefficient, coefficient);
        entity.changed = true;
        if self.queue(id).busy {
            self.raised_busy = self.raised_busy + u32::from(coefficient > 1) - u32::from(old > 1);
        }
    }

    /// bfq_bfqq_handle_idle_busy_switch. Returns whether it looks interactive.
    pub(super) fn becomes_busy(&mut self, now: Time, id: u32, owner: u32) -> bool {
        let jiffies = self.jiffies;
        let (queue, entity) = (self.queue(id), self.tree.get(id));
        let in_burst = self.in_large_burst(id);
        let plain = !in_burst && queue.dispatched == 0 && entity.wanted.1 == DEFAULT_WEIGHT;
        let long_idle =
            queue.dispatched == 0 && queue.budget_timeout + self.ticks(MIN_IDLE_MS) < jiffies;
        let interactive = plain && long_idle;
        let soft = plain && !queue.is_all_seeky() && queue.raising.next_soft_start < jiffies;
        let own = queue.owner.is_some()
            || self.processes.get(owner as usize).is_some_and(|owner| owner.stably_merged);
        let low_latency = self.settings.low_latency;
        let deserves = low_latency && queue.sync && own && (interactive || soft);
        let in_time = now - queue.habits.last_end <= 3 * self.settings.slice_idle_ns;
        let goes_on = self.budget_for_activation(id, in_time);
        self.leave_burst_if_over(id, long_idle);
        let queue = self.queue_mut(id);
        queue.just_created = false;
        if low_latency && !self.is_recently_split(id) {
            self.raise_on_arrival(id, deserves, interactive, in_burst, soft);
        }
        let queue = self.queue_mut(id);
        (queue.raising.last_idle, queue.raising.service_since_idle) = (jiffies, 0);
        queue.raising.updates_soft_start = false;
        self.activate(id);
        if let Some(current) = self.in_service
            && self.preempts(id, goes_on, current)
        {
            self.expire(now, false, Expiry::Preempted);
        }
        interactive
    }

    /// bfq_update_bfqq_wr_on_rq_arrival.
    fn raise_on_arrival(
        &mut self,
        id: u32,
        deserves: bool,
        interactive: bool,
        in_burst: bool,
        soft: bool,
    ) {
        let (duration, soft_duration, jiffies) =
            (self.raising_duration(), self.soft_duration(), self.jiffies);
        let small = self.raised_budget();
        let old = self.tree.get(id).coefficient;
        let raising = &mut self.queues[id as usize].raising;
        let mut new = old;
        if old == 1 && deserves {
            if interactive {
                (raising.service, raising.duration) = (0, duration);
                new = COEFFICIENT;
            } else {
                (raising.interactive_mark, raising.duration) = (LONG_AGO, soft_duration);
                new = COEFFICIENT * SOFT_FACTOR;
            }
            // A large budget would only delay its turn.
            let entity = self.tree.get_mut(id);
            entity.budget = entity.budget.min(small);
        } else if old > 1 {
            if interactive {
                raising.duration = duration;
                new = COEFFICIENT;
            } else if in_burst {
                new = 1;
            } else if soft {
                if raising.duration != soft_duration {
                    (raising.interactive_mark, raising.duration) = (raising.mark, soft_duration);
                    new = COEFFICIENT * SOFT_FACTOR;
                }
                raising.mark = jiffies;
            }
        }
        if new != old {
            self.set_coefficient(id, new);
        }
    }

    fn preempts(&self, id: u32, goes_on: bool, current: u32) -> bool {
        let [new, old] = [id, current].map(|id| self.tree.get(id));
        let heavier = if new.group == old.group {
            new.weight > old.weight
        } else {
            self.tree.group_weight(id) > self.tree.group_weight(current)
        };
        self.variant.is_linux()
            && ((goes_on && new.coefficient >= old.coefficient)
                || new.class < old.class
                || heavier
                || !self.better_to_idle(current))
            && self.tree.may_preempt()
    }

    /// bfq_add_request, after half a second without arrivals.
    pub(super) fn raise_rare_async(&mut self, id: u32) {
        let gap = self.ticks(MIN_ASYNC_GAP_MS);
        let duration = self.raising_duration();
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        if !queue.sync && queue.raising.mark + gap < jiffies {
            queue.raising.duration = duration;
            self.set_coefficient(id, COEFFICIENT);
        }
    }

    /// bfq_update_wr_data.
    pub(super) fn end_raising_if_due(&mut self, id: u32) {
        if self.tree.get(id).coefficient > 1 {
            let raising = &self.queue(id).raising;
            if self.in_large_burst(id) {
                self.end_raising(id);
            } else if raising.mark + raising.duration < self.jiffies {
                self.end_period(id);
            }
        }
        let over = self.queue(id).raising.service > MAX_SERVICE;
        if self.tree.get(id).coefficient > 1 && !self.is_soft(id) && over {
            self.end_raising(id);
        }
        let entity = self.tree.get(id);
        if (entity.weight > entity.base) != (entity.coefficient > 1) {
            self.tree.update_weight(id, false);
        }
    }

    fn end_period(&mut self, id: u32) {
        let duration = self.raising_duration();
        let raising = &self.queue(id).raising;
        if self.is_soft(id) && raising.interactive_mark + duration >= self.jiffies {
            self.back_to_interactive(id);
        } else {
            self.end_raising(id);
        }
    }

    /// switch_back_to_interactive_wr.
    fn back_to_interactive(&mut self, id: u32) {
        let duration = self.raising_duration();
        let raising = &mut self.queue_mut(id).raising;
        (raising.duration, raising.mark) = (duration, raising.interactive_mark);
        self.set_coefficient(id, COEFFICIENT);
    }

    /// bfq_bfqq_end_wr.
    fn end_raising(&mut self, id: u32) {
        let (jiffies, soft) = (self.jiffies, self.is_soft(id));
        let raising = &mut self.queue_mut(id).raising;
        if !soft {
            raising.next_soft_start = jiffies;
        }
        (raising.duration, raising.mark) = (0, jiffies);
        self.set_coefficient(id, 1);
    }

    /// bfq_bfqq_resume_state. The caller counts raised queues.
    pub(super) fn end_stale_raising(&mut self, id: u32) {
        let (duration, jiffies) = (self.raising_duration(), self.jiffies);
        let (in_burst, soft) = (self.in_large_burst(id), self.is_soft(id));
        let raising = &mut self.queues[id as usize].raising;
        let entity = self.tree.get_mut(id);
        if entity.coefficient == 1 || (!in_burst && raising.mark + raising.duration >= jiffies) {
            return;
        }
        if soft && !in_burst && raising.interactive_mark + duration >= jiffies {
            (raising.duration, raising.mark) = (duration, raising.interactive_mark);
            entity.coefficient = COEFFICIENT;
        } else {
            entity.coefficient = 1;
        }
    }

    /// bfq_update_io_seektime.
    pub(super) fn check_soft(&mut self, id: u32) {
        if self.tree.get(id).coefficient > 1 && self.is_soft(id) && self.queue(id).is_all_seeky() {
            let due =
                self.queue(id).raising.interactive_mark + self.raising_duration() < self.jiffies;
            if due { self.end_raising(id) } else { self.back_to_interactive(id) }
        }
    }

    /// bfq_bfqq_softrt_next_start.
    pub(super) fn set_next_soft_start(&mut self, id: u32) {
        let slice_jiffies = (u128::from(self.settings.slice_idle_ns) * u128::from(self.clock.hz())
            / 1_000_000_000) as i64;
        let soonest = self.jiffies.saturating_add(slice_jiffies).saturating_add(4);
        let hz = self.clock.hz();
        let raising = &mut self.queue_mut(id).raising;
        let by_rate = raising.last_idle + (hz * raising.service_since_idle / SOFT_RATE) as i64;
        raising.next_soft_start = raising.next_soft_start.max(by_rate).max(soonest);
    }

    /// bfq_set_budget_timeout: waiting for service does not count.
    pub(super) fn exclude_waiting(&mut self, id: u32) {
        if self.tree.get(id).coefficient == 1 || !self.is_soft(id) {
            return;
        }
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        if queue.raising.mark < jiffies && queue.budget_timeout < jiffies {
            if queue.budget_timeout > queue.raising.mark {
                queue.raising.mark += jiffies - queue.budget_timeout;
            } else {
                queue.raising.mark = jiffies;
            }
        }
    }

    /// bfq_low_latency_store.
    pub(super) fn set_low_latency(&mut self, on: bool) {
        if self.settings.low_latency && !on {
            for id in 0..self.queues.len() as u32 {
                if self.tree.get(id).coefficient > 1 {
                    self.end_raising(id);
                }
            }
        }
        self.settings.low_latency = on;
    }
}
