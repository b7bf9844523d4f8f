//! Weight raising: for a while, queues that somebody probably waits at get thirty times their
//! weight, or three thousand times.
//!
//! Problem: programs start slowly, and players stutter, while others use the disk.
//!
//! Approach: *interactive* is a synchronous queue of the default weight that had nothing to do for
//! two seconds: a program that starts, or a user's next click. How long it is raised depends on how
//! long the loading of a large program takes on this device; it ends after 120000 sectors, too.
//! *Soft real time* is one that asks for no more than 7000 sectors a second and has nothing
//! outstanding when it asks again: a player. It is raised for 300 ms, again and again, and a
//! hundred times as much; if an interactive queue becomes one, it goes back to what is left of the
//! interactive period. An asynchronous queue is raised if half a second passed between its
//! requests.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c (bfq_bfqq_handle_idle_busy_switch,
//! bfq_update_wr_data); confirmed.

use super::queue::{DEFAULT_WEIGHT, LONG_AGO};
use super::rate::Rate;
use super::{Bfq, Expiry};
use crate::vocabulary::Time;

pub(super) const COEFFICIENT: u64 = 30;
const SOFT_FACTOR: u64 = 100;
const SOFT_MS: u64 = 300;
/// Sectors a second that a soft real-time queue asks for at most.
const SOFT_RATE: u64 = 7000;
pub(super) const MIN_IDLE_MS: u64 = 2000;
const MIN_ASYNC_GAP_MS: u64 = 500;
const MIN_DURATION_MS: u64 = 3000;
const MAX_DURATION_MS: u64 = 25_000;
/// Sectors after which a queue is no interactive one.
const MAX_SERVICE: u64 = 120_000;

/// The raising of a queue. By how much its weight is raised is its entity's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raising {
    /// For how many jiffies it is raised.
    duration: i64,
    /// The jiffy of the last start or end of raising.
    pub(super) mark: i64,
    /// That of the interactive period which soft real time has interrupted.
    interactive_mark: i64,
    /// Sectors charged while raised.
    pub(super) service: u64,
    /// From when on the queue may be a soft real-time one.
    pub(super) next_soft_start: i64,
    /// When it became busy last, and the sectors that it was charged since.
    pub(super) last_idle: i64,
    pub(super) service_since_idle: u64,
    /// `next_soft_start` is due when nothing of it is in flight.
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

    /// A period of soft real time that began at a jiffy of a millisecond each, in an interactive
    /// one or not.
    #[cfg(test)]
    pub(super) fn soft(mark: i64, interactive_mark: i64) -> Raising {
        Raising { duration: SOFT_MS as i64, mark, interactive_mark, ..Raising::new(0) }
    }

    /// An interactive period begins.
    pub(super) fn begin(&mut self, jiffies: i64, duration: i64, service: u64) {
        (self.duration, self.mark, self.interactive_mark, self.service) =
            (duration, jiffies, LONG_AGO, service);
    }

    /// A process takes its period along to a queue of its own.
    pub(super) fn resume(&mut self, saved: &Raising) {
        self.inherit(saved);
        self.service = saved.service;
    }

    /// The period of a queue that is merged into this one.
    pub(super) fn inherit(&mut self, other: &Raising) {
        (self.duration, self.mark, self.interactive_mark) =
            (other.duration, other.mark, other.interactive_mark);
    }
}

impl Bfq {
    fn soft_duration(&self) -> i64 {
        self.ticks(SOFT_MS)
    }

    /// Whether a raised queue is a soft real-time one.
    pub(super) fn is_soft(&self, id: u32) -> bool {
        self.queue(id).raising.duration == self.soft_duration()
    }

    /// For how many jiffies an interactive queue is raised.
    pub(super) fn raising_duration(&self) -> i64 {
        let reference_ms = if self.rotational { 7000 } else { 2500 };
        let product = Rate::reference(self.rotational) * self.clock.from_ms(reference_ms);
        let ticks = product / self.rate.peak;
        i64::try_from(ticks)
            .unwrap_or(i64::MAX)
            .clamp(self.ticks(MIN_DURATION_MS), self.ticks(MAX_DURATION_MS))
    }

    /// The weight of a queue is to be raised by this. It follows when the queue is sorted in or
    /// served; if it is busy, those that are raised are counted.
    pub(super) fn set_coefficient(&mut self, id: u32, coefficient: u64) {
        let entity = self.tree.get_mut(id);
        let old = std::mem::replace(&mut entity.coefficient, coefficient);
        entity.changed = true;
        if self.queue(id).busy {
            self.raised_busy = self.raised_busy + u32::from(coefficient > 1) - u32::from(old > 1);
        }
    }

    /// An idle queue has got a request. It is raised if it deserves it, sorted in, and may end the
    /// turn of the queue in service. Says whether it looks interactive.
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
        if low_latency && !self.is_parted_lately(id) {
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
            // A large budget would only put its turn off.
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

    /// Whether a queue that has become busy ends the turn of the one in service.
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

    /// A busy asynchronous queue that had no arrival for half a second has got one.
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

    /// A request of the queue in service was sent: raising may be over.
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

    /// The period of a raised queue is over: a soft real-time one may go back to its interactive
    /// period.
    fn end_period(&mut self, id: u32) {
        let duration = self.raising_duration();
        let raising = &self.queue(id).raising;
        if self.is_soft(id) && raising.interactive_mark + duration >= self.jiffies {
            self.back_to_interactive(id);
        } else {
            self.end_raising(id);
        }
    }

    fn back_to_interactive(&mut self, id: u32) {
        let duration = self.raising_duration();
        let raising = &mut self.queue_mut(id).raising;
        (raising.duration, raising.mark) = (duration, raising.interactive_mark);
        self.set_coefficient(id, COEFFICIENT);
    }

    fn end_raising(&mut self, id: u32) {
        let (jiffies, soft) = (self.jiffies, self.is_soft(id));
        let raising = &mut self.queue_mut(id).raising;
        if !soft {
            raising.next_soft_start = jiffies;
        }
        (raising.duration, raising.mark) = (0, jiffies);
        self.set_coefficient(id, 1);
    }

    /// What a process takes up again when its queue is parted may be over by now. Whether it is
    /// counted as raised is the caller's.
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

    /// A queue of nothing but far requests is no soft real-time one.
    pub(super) fn doubt_soft(&mut self, id: u32) {
        if self.tree.get(id).coefficient > 1 && self.is_soft(id) && self.queue(id).is_all_seeky() {
            let due =
                self.queue(id).raising.interactive_mark + self.raising_duration() < self.jiffies;
            if due { self.end_raising(id) } else { self.back_to_interactive(id) }
        }
    }

    /// A queue has no requests left: from when on its next may be one of soft real time.
    pub(super) fn set_next_soft_start(&mut self, id: u32) {
        let slice_jiffies = (u128::from(self.settings.slice_idle_ns) * u128::from(self.clock.hz())
            / 1_000_000_000) as i64;
        let soonest = self.jiffies.saturating_add(slice_jiffies).saturating_add(4);
        let hz = self.clock.hz();
        let raising = &mut self.queue_mut(id).raising;
        let by_rate = raising.last_idle + (hz * raising.service_since_idle / SOFT_RATE) as i64;
        raising.next_soft_start = raising.next_soft_start.max(by_rate).max(soonest);
    }

    /// A raised soft real-time queue waited for its turn for a while, which does not count.
    pub(super) fn forgive_waiting(&mut self, id: u32) {
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

    /// Switching off ends all raising at once; weights follow when a queue is next sorted in or
    /// served.
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
