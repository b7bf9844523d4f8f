//! A queue: synchronous requests of one or several merged processes, or asynchronous ones of a
//! priority, with statistics of the process.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed. There a new queue's last completion
//! is one nanosecond after its creation. The first think time is thus 0, or, while the clock has
//! not advanced, minus one, which is the maximum as unsigned. Added to the idle time, that makes a
//! process of pure I/O look always idle until its first idle nanosecond.

use std::collections::BTreeMap;

use super::inject::Waking;
use super::merge::Merging;
use super::raising::Raising;
use super::rate::is_seeky;
use crate::decay::{DecayingMean, Rounding};
use crate::request::{BlockRequest, PrioClass, Priority};
use crate::sorted::Sorted;
use crate::vocabulary::Time;

/// The weight of the default I/O priority, the only one that is raised.
pub(super) const DEFAULT_WEIGHT: u64 = 40;
const SEEKY_OF_32: u32 = 19;
const INTENSITY_WINDOW_NS: u64 = 200_000_000;

/// A jiffy before all others.
pub(super) const LONG_AGO: i64 = i64::MIN / 4;

#[derive(Debug)]
pub(super) struct BfqQueue {
    pub(super) sync: bool,
    /// None: several, or asynchronous requests.
    pub(super) owner: Option<u32>,
    /// Includes scheduled merges; one more for asynchronous queues.
    pub(super) users: u32,
    /// stable_ref.
    pub(super) stable_users: u32,
    /// Has requests or is in service.
    pub(super) busy: bool,
    /// Unreferenced; its number may be reused.
    pub(super) is_free: bool,
    /// The budget from feedback.
    pub(super) max_budget: u64,

    pub(super) sorted: Sorted,
    pub(super) fifo: BTreeMap<u64, u32>,
    pub(super) fifo_checked: bool,
    /// The next tag; present while there are requests.
    pub(super) next: Option<u32>,
    pub(super) dispatched: u32,
    /// Requests, including head insertions.
    pub(super) refs: u32,

    /// bfq_bfqq_non_blocking_wait_rq: may continue with its budget if it returns soon.
    pub(super) may_continue: bool,
    /// In service: when its time ends. Otherwise: since when it is drained.
    pub(super) budget_timeout: i64,
    pub(super) just_created: bool,
    pub(super) created: i64,
    pub(super) in_large_burst: bool,
    pub(super) habits: Habits,
    seek_history: u32,
    pub(super) last_position: u64,
    pub(super) raising: Raising,
    pub(super) merging: Merging,
    pub(super) waking: Waking,
}

/// Statistics that a process keeps across queues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    /// Last completion; initially the creation.
    pub(super) last_end: Time,
    pub(super) completed: bool,
    pub(super) think_time: DecayingMean,
    pub(super) thinks_briefly: bool,
    io_start: Time,
    idle_ns: u64,
    pub(super) io_bound: bool,
}

/// bfq_ioprio_to_weight, and the class.
pub(super) fn class_and_weight(priority: Priority) -> (usize, u64) {
    let weight = |level: u8| 10 * (8 - u64::from(level.min(7)));
    match priority.class {
        PrioClass::RealTime => (0, weight(priority.level)),
        PrioClass::BestEffort => (1, weight(priority.level)),
        // The idle class has one level.
        PrioClass::Idle => (2, weight(7)),
    }
}

impl BfqQueue {
    pub(super) fn new(
        now: Time,
        jiffies: i64,
        sync: bool,
        idle_class: bool,
        budget: u64,
    ) -> BfqQueue {
        BfqQueue {
            sync,
            owner: None,
            users: 0,
            stable_users: 0,
            busy: false,
            is_free: false,
            max_budget: budget,
            sorted: Sorted::default(),
            fifo: BTreeMap::new(),
            fifo_checked: false,
            next: None,
            dispatched: 0,
            refs: 0,
            may_continue: false,
            budget_timeout: LONG_AGO,
            just_created: sync,
            created: jiffies,
            in_large_burst: false,
            habits: Habits {
                last_end: now,
                completed: false,
                think_time: DecayingMean::new(Rounding::ThinkTime),
                thinks_briefly: sync && !idle_class,
                io_start: now,
                idle_ns: 0,
                io_bound: true,
            },
            // The first request is assumed to be far from anything.
            seek_history: 1,
            last_position: 0,
            raising: Raising::new(jiffies),
            merging: Merging::default(),
            waking: Waking::default(),
        }
    }

    /// BFQQ_SEEKY.
    pub(super) fn is_seeky(&self) -> bool {
        self.seek_history.count_ones() > SEEKY_OF_32
    }

    /// BFQQ_TOTALLY_SEEKY.
    pub(super) fn is_all_seeky(&self) -> bool {
        self.seek_history == u32::MAX
    }

    /// `first_ns` if there was none.
    fn since_last_end(&self, now: Time, first_ns: u64) -> u64 {
        if self.habits.completed { now - self.habits.last_end } else { first_ns }
    }

    /// bfq_update_io_thinktime: counts only time with nothing outstanding.
    pub(super) fn learn_think_time(&mut self, now: Time, slice_idle_ns: u64, first_ns: u64) {
        if self.dispatched == 0 && !self.busy {
            self.habits.think_time.add(self.since_last_end(now, first_ns).min(2 * slice_idle_ns));
        }
    }

    pub(super) fn thinks_long(&self, slice_idle_ns: u64) -> bool {
        self.habits.think_time.is_valid() && self.habits.think_time.mean > slice_idle_ns / 2
    }

    /// bfq_update_io_seektime.
    pub(super) fn learn_seeks(&mut self, request: &BlockRequest, rotational: bool) {
        let seeky = is_seeky(rotational, self.last_position, request);
        self.seek_history = self.seek_history << 1 | u32::from(seeky);
        self.last_position = request.end();
    }

    /// bfq_update_io_intensity. The sum wraps, like the kernel's.
    pub(super) fn learn_intensity(&mut self, now: Time, first_ns: u64) {
        let idle_ns = self.since_last_end(now, first_ns);
        let habits = &mut self.habits;
        if self.sorted.is_empty() && self.dispatched == 0 {
            habits.idle_ns = habits.idle_ns.wrapping_add(idle_ns);
        }
        if self.just_created {
            return;
        }
        let observed = now - habits.io_start;
        habits.io_bound = habits.idle_ns.wrapping_mul(5) <= observed;
        if observed > INTENSITY_WINDOW_NS {
            habits.io_start = Time::from_ns(now.as_ns() - observed / 2);
            habits.idle_ns /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn weights_are_ten_for_each_level_from_the_bottom() {
        let weigh = |class, level| class_and_weight(Priority { class, level });
        assert_eq!(weigh(PrioClass::BestEffort, 4), (1, DEFAULT_WEIGHT));
        assert_eq!((weigh(PrioClass::RealTime, 0), weigh(PrioClass::Idle, 0)), ((0, 80), (2, 10)));
    }

    fn queue() -> BfqQueue {
        BfqQueue { just_created: false, ..BfqQueue::new(Time::ZERO, 0, true, false, 100) }
    }

    #[test]
    fn a_queue_is_seeky_from_twenty_far_requests_of_thirty_two_on() {
        let mut queue = queue();
        let mut far = Vec::new();
        for at in 1..40u64 {
            queue.learn_seeks(&request(0, at * 10_000), true);
            far.push(queue.is_seeky());
        }
        // The first counts as seeky only by default.
        assert_eq!(far.iter().position(|seeky| *seeky), Some(19));
        assert!(queue.is_all_seeky());
        (0..13).for_each(|_| queue.learn_seeks(&request(0, queue.last_position), true));
        assert!(!queue.is_seeky());
    }

    #[test]
    fn a_process_that_thinks_longer_than_half_of_the_idle_slice_is_known_after_three_samples() {
        let mut queue = queue();
        let mut long = Vec::new();
        for at in 1..6u64 {
            let now = at * 10_000_000;
            (queue.habits.last_end, queue.habits.completed) =
                (Time::from_ns(now - 5_000_000), at > 1);
            queue.learn_think_time(Time::from_ns(now), 8_000_000, 5_000_000);
            long.push(queue.thinks_long(8_000_000));
        }
        assert_eq!(long, [false, false, true, true, true]);
    }

    #[test]
    fn a_queue_without_io_for_a_fifth_of_the_time_is_not_io_bound() {
        for (think_ms, bound) in [(19, true), (21, false)] {
            let mut queue = queue();
            for at in 1..=3u64 {
                let now = Time::from_ns(at * 100_000_000);
                (queue.habits.last_end, queue.habits.completed) =
                    (Time::from_ns(now.as_ns() - think_ms * 1_000_000), true);
                queue.learn_intensity(now, 0);
            }
            assert_eq!(queue.habits.io_bound, bound, "{think_ms} % thinking");
        }
    }
}
