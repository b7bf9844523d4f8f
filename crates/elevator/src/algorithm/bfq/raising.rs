//! Weight raising: for a while, queues that somebody probably waits at get thirty times their weight.
//!
//! Source: Linux 6.12 block/bfq-iosched.c; confirmed. Interactive is a synchronous queue of the default weight that had nothing
//! to do for two seconds: a program that starts, or a user's next click. How long it is raised depends on how long the loading
//! of a large program takes on this device. An asynchronous queue is raised if half a second passed between its requests.

use super::queue::DEFAULT_WEIGHT;
use super::rate::Rate;
use super::{Bfq, Expiry};
use crate::vocabulary::Time;

const COEFFICIENT: u64 = 30;
const MIN_IDLE_MS: u64 = 2000;
const MIN_ASYNC_GAP_MS: u64 = 500;
const MIN_DURATION_MS: u64 = 3000;
const MAX_DURATION_MS: u64 = 25_000;
/// Sectors after which a queue is no interactive one.
const MAX_SERVICE: u64 = 120_000;

impl Bfq {
    /// For how many jiffies an interactive queue is raised.
    fn raising_duration(&self) -> u64 {
        let reference_ms = if self.rotational { 7000 } else { 2500 };
        let ms = Rate::reference(self.rotational) * reference_ms / self.rate.peak;
        self.clock.from_ms(ms.clamp(MIN_DURATION_MS, MAX_DURATION_MS))
    }

    /// An idle queue has got a request: whether it looks interactive.
    fn is_interactive(&self, jiffies: u64, id: u32) -> bool {
        let queue = self.queue(id);
        let long_idle =
            queue.budget_timeout.is_none_or(|since| jiffies > since.saturating_add(self.clock.from_ms(MIN_IDLE_MS)));
        !self.in_large_burst(id) && queue.dispatched == 0 && long_idle && queue.wanted.1 == DEFAULT_WEIGHT
    }

    /// An idle queue has got a request. It is raised if it deserves it, sorted in, and may end the turn of the queue in service.
    /// Says whether it looks interactive.
    pub(super) fn becomes_busy(&mut self, now: Time, id: u32) -> bool {
        let jiffies = self.clock.jiffies(now);
        let interactive = self.is_interactive(jiffies, id);
        let slice = self.settings.slice_idle_ns;
        let in_time = self.queue(id).last_end.is_some_and(|last| now - last <= 3 * slice);
        let goes_on = self.budget_for_activation(id, in_time);
        let in_burst = self.in_large_burst(id);
        self.leave_burst_if_over(jiffies, id);
        self.queue_mut(id).just_created = false;
        if self.settings.low_latency && in_burst {
            self.queue_mut(id).coefficient = 1;
        } else if self.settings.low_latency && interactive {
            let (duration, small) = (self.raising_duration(), self.raised_budget());
            let queue = self.queue_mut(id);
            if queue.is_raised() {
                queue.coefficient = COEFFICIENT;
                queue.raised_for = duration;
            } else if queue.is_sync() {
                queue.raised_service = 0;
                queue.coefficient = COEFFICIENT;
                queue.raised_for = duration;
                // A large budget would only put its turn off.
                queue.entity.budget = queue.entity.budget.min(small);
            }
        }
        self.activate(id);
        if let Some(current) = self.in_service
            && self.preempts(id, goes_on, current)
        {
            self.expire(now, false, Expiry::Preempted);
        }
        interactive
    }

    /// Whether a queue that has become busy ends the turn of the one in service. The new one waits in a tree and the one in
    /// service does not, so another is always chosen next: the source's last condition holds without groups.
    fn preempts(&self, id: u32, goes_on: bool, current: u32) -> bool {
        let (new, old) = (self.queue(id), self.queue(current));
        let above = new.class < old.class || (new.class == old.class && new.entity.weight > old.entity.weight);
        self.variant.is_linux()
            && ((goes_on && new.coefficient >= old.coefficient) || above || !self.better_to_idle(current))
    }

    /// A busy asynchronous queue that had no arrival for half a second has got one.
    pub(super) fn raise_rare_async(&mut self, now: Time, id: u32) {
        let (jiffies, gap) = (self.clock.jiffies(now), self.clock.from_ms(MIN_ASYNC_GAP_MS));
        let duration = self.raising_duration();
        let queue = self.queue_mut(id);
        if !queue.is_raised() && !queue.is_sync() && jiffies > queue.raise_mark + gap {
            queue.coefficient = COEFFICIENT;
            queue.raised_for = duration;
            self.raised_busy += 1;
        }
    }

    /// A request of the queue in service was sent: raising may be over.
    pub(super) fn end_raising_if_due(&mut self, now: Time, id: u32) {
        let jiffies = self.clock.jiffies(now);
        let queue = self.queue(id);
        let over = self.in_large_burst(id)
            || jiffies > queue.raise_mark + queue.raised_for
            || queue.raised_service > MAX_SERVICE;
        if queue.is_raised() && over {
            self.end_raising(jiffies, id);
        }
        let queue = self.queue(id);
        if (queue.entity.weight > queue.base_weight) != queue.is_raised() {
            self.reweigh_served(id);
        }
    }

    fn end_raising(&mut self, jiffies: u64, id: u32) {
        let queue = self.queue_mut(id);
        queue.coefficient = 1;
        queue.raised_for = 0;
        queue.raise_mark = jiffies;
        let busy = queue.busy;
        self.raised_busy -= u32::from(busy);
    }

    /// Switching off ends all raising at once; weights follow when a queue is next sorted in or served.
    pub(super) fn set_low_latency(&mut self, on: bool) {
        if self.settings.low_latency && !on {
            for id in 0..self.queues.len() as u32 {
                if self.queue(id).is_raised() {
                    let mark = self.queue(id).raise_mark;
                    self.end_raising(mark, id);
                }
            }
        }
        self.settings.low_latency = on;
    }
}
