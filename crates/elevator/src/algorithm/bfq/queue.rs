//! A queue of bfq: the synchronous requests of a process, or of several that were merged, or the
//! asynchronous ones of one priority, and what was learnt of their process.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed. There a new queue's last completion
//! is a nanosecond after its creation: its first request counts as thought of for no time, or,
//! where the clock stands still meanwhile, for the longest time that there is, since the difference
//! is minus one. As idle time the kernel adds the same, and has a process that does nothing but I/O
//! for one that idles all the time until it does so for a nanosecond.

use std::collections::BTreeMap;

use super::inject::Waking;
use super::merge::Merging;
use super::raising::Raising;
use super::rate::is_seeky;
use crate::decay::{DecayingMean, Rounding};
use crate::request::{BlockRequest, PrioClass, Priority};
use crate::sorted::Sorted;
use crate::vocabulary::Time;

/// The weight of a process that never asked for anything else, the only one that is raised.
pub(super) const DEFAULT_WEIGHT: u64 = 40;
/// Seeky requests among the last 32 that make a queue seeky, and one more.
const SEEKY_OF_32: u32 = 19;
/// The window in which it is observed how much of the time a queue has I/O.
const INTENSITY_WINDOW_NS: u64 = 200_000_000;

/// A jiffy before all others.
pub(super) const LONG_AGO: i64 = i64::MIN / 4;

/// A queue.
#[derive(Debug)]
pub(super) struct BfqQueue {
    /// Whether its requests are synchronous.
    pub(super) sync: bool,
    /// The only process that it belongs to; None: several, or asynchronous requests.
    pub(super) owner: Option<u32>,
    /// Processes that use it, or will once they are merged into it; asynchronous queues have one
    /// more.
    pub(super) users: u32,
    /// Processes that may be merged into it for good, later.
    pub(super) stable_users: u32,
    /// Whether it has requests or is in service.
    pub(super) busy: bool,
    /// Nothing refers to it: its number may be used again.
    pub(super) gone: bool,
    /// The budget that feedback has given it.
    pub(super) max_budget: u64,

    pub(super) sorted: Sorted,
    /// Tags by position in the FIFO.
    pub(super) fifo: BTreeMap<u64, u32>,
    /// Whether the oldest was looked at in this service.
    pub(super) fifo_checked: bool,
    /// The tag to serve next; there is one while there are requests.
    pub(super) next: Option<u32>,
    /// Requests that the device has.
    pub(super) dispatched: u32,
    /// Requests held or in flight, those inserted at the head too.
    pub(super) pins: u32,

    /// It was expired without requests, and not for time or budget: it may go on with its budget if
    /// it comes back soon.
    pub(super) left_willingly: bool,
    /// In service: the jiffy at which its time is over. Otherwise: since when it has had nothing
    /// held or in flight.
    pub(super) budget_timeout: i64,
    pub(super) just_created: bool,
    pub(super) created: i64,
    /// It was created together with many others.
    pub(super) in_large_burst: bool,
    pub(super) habits: Habits,
    seek_history: u32,
    pub(super) last_position: u64,
    pub(super) raising: Raising,
    pub(super) merging: Merging,
    pub(super) waking: Waking,
}

/// How a process does I/O. A process takes it along from queue to queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    /// When the last request was completed; before the first, the creation.
    pub(super) last_end: Time,
    /// Whether one was completed.
    pub(super) completed: bool,
    pub(super) think_time: DecayingMean,
    pub(super) thinks_briefly: bool,
    io_start: Time,
    idle_ns: u64,
    pub(super) io_bound: bool,
}

/// The class and weight of a priority.
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
    /// A queue without requests.
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
            gone: false,
            max_budget: budget,
            sorted: Sorted::default(),
            fifo: BTreeMap::new(),
            fifo_checked: false,
            next: None,
            dispatched: 0,
            pins: 0,
            left_willingly: false,
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
            // The first request is almost certainly far from anything.
            seek_history: 1,
            last_position: 0,
            raising: Raising::new(jiffies),
            merging: Merging::default(),
            waking: Waking::default(),
        }
    }

    /// Whether its requests are scattered.
    pub(super) fn is_seeky(&self) -> bool {
        self.seek_history.count_ones() > SEEKY_OF_32
    }

    /// Whether each of its last 32 requests was far from the one before.
    pub(super) fn is_all_seeky(&self) -> bool {
        self.seek_history == u32::MAX
    }

    /// How long ago its last request was completed; `first_ns` if none was.
    fn since_last_end(&self, now: Time, first_ns: u64) -> u64 {
        if self.habits.completed { now - self.habits.last_end } else { first_ns }
    }

    /// Learns from a request that arrives how long its process thinks. Only the time during which
    /// it had nothing outstanding counts.
    pub(super) fn learn_think_time(&mut self, now: Time, slice_idle_ns: u64, first_ns: u64) {
        if self.dispatched == 0 && !self.busy {
            self.habits.think_time.add(self.since_last_end(now, first_ns).min(2 * slice_idle_ns));
        }
    }

    /// Whether its process is known to think for long.
    pub(super) fn thinks_long(&self, slice_idle_ns: u64) -> bool {
        self.habits.think_time.is_valid() && self.habits.think_time.mean > slice_idle_ns / 2
    }

    /// Learns from a request that arrives whether requests are scattered.
    pub(super) fn learn_seeks(&mut self, request: &BlockRequest, rotational: bool) {
        let seeky = is_seeky(rotational, self.last_position, request);
        self.seek_history = self.seek_history << 1 | u32::from(seeky);
        self.last_position = request.end();
    }

    /// Learns from a request that arrives how much of the time there is I/O. The sum wraps, as the
    /// kernel's does.
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
        // The first counts as seeky by default and by nothing else.
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
