//! A queue of bfq: the synchronous requests of one process, or the asynchronous ones of one priority, and what was learnt of
//! of any process.
//!
//! Source: Linux 6.12 block/bfq-iosched.c; confirmed.

use std::collections::BTreeMap;

use super::rate::is_seeky;
use super::wf2q::Entity;
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

/// A queue.
#[derive(Debug)]
pub(super) struct BfqQueue {
    /// Whose it is; None: asynchronous requests of several.
    pub(super) process: Option<u32>,
    /// Whether the process lives; asynchronous queues always do.
    pub(super) alive: bool,
    /// Whether it has requests or is in service.
    pub(super) busy: bool,
    /// Service class in force: 0 real time, 1 best effort, 2 idle.
    pub(super) class: usize,
    /// Class and weight asked for; in force when it is next sorted in.
    pub(super) wanted: (usize, u64),
    pub(super) entity: Entity,
    /// Its weight in force, not raised.
    pub(super) base_weight: u64,
    /// The budget that feedback has given it.
    pub(super) max_budget: u64,
    /// The weight by which it is counted among those that have requests held or in flight.
    pub(super) counted: Option<u64>,

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

    /// It was expired without requests, and not for time or budget: it may go on with its budget if it comes back soon.
    pub(super) left_willingly: bool,
    /// In service: the jiffy at which its time is over. Otherwise: since when it has had nothing held or in flight; None: ever.
    pub(super) budget_timeout: Option<u64>,
    /// When its last request was completed.
    pub(super) last_end: Option<Time>,
    pub(super) think_time: DecayingMean,
    pub(super) thinks_briefly: bool,
    io_start: Time,
    idle_ns: u64,
    pub(super) io_bound: bool,
    pub(super) just_created: bool,
    /// It was created together with many others.
    pub(super) in_large_burst: bool,
    seek_history: u32,
    pub(super) last_position: u64,

    /// By how much its weight is raised; 1: not.
    pub(super) coefficient: u64,
    /// For how many jiffies it is raised.
    pub(super) raised_for: u64,
    /// The jiffy of the last start or end of raising.
    pub(super) raise_mark: u64,
    /// Sectors charged while raised.
    pub(super) raised_service: u64,
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
    pub(super) fn new(now: Time, jiffies: u64, process: Option<u32>, wanted: (usize, u64), budget: u64) -> BfqQueue {
        BfqQueue {
            process,
            alive: true,
            busy: false,
            class: wanted.0,
            wanted,
            entity: Entity { weight: wanted.1, ..Entity::default() },
            base_weight: wanted.1,
            max_budget: budget,
            counted: None,
            sorted: Sorted::default(),
            fifo: BTreeMap::new(),
            fifo_checked: false,
            next: None,
            dispatched: 0,
            pins: 0,
            left_willingly: false,
            budget_timeout: None,
            last_end: None,
            think_time: DecayingMean::new(Rounding::ThinkTime),
            thinks_briefly: process.is_some() && wanted.0 != 2,
            io_start: now,
            idle_ns: 0,
            io_bound: true,
            just_created: process.is_some(),
            in_large_burst: false,
            // The first request is almost certainly far from anything.
            seek_history: 1,
            last_position: 0,
            coefficient: 1,
            raised_for: 0,
            raise_mark: jiffies,
            raised_service: 0,
        }
    }

    /// Whether it holds synchronous requests.
    pub(super) fn is_sync(&self) -> bool {
        self.process.is_some()
    }

    /// Whether its weight is raised.
    pub(super) fn is_raised(&self) -> bool {
        self.coefficient > 1
    }

    /// Whether its requests are scattered.
    pub(super) fn is_seeky(&self) -> bool {
        self.seek_history.count_ones() > SEEKY_OF_32
    }

    /// Learns from a request that arrives: think time, seeks, and how much of the time there is I/O.
    pub(super) fn learn(&mut self, now: Time, request: &BlockRequest, slice_idle_ns: u64, rotational: bool) {
        // Only the time during which it had nothing outstanding is thinking.
        if let Some(last) = self.last_end
            && self.dispatched == 0
            && !self.busy
        {
            self.think_time.add((now - last).min(2 * slice_idle_ns));
        }
        if self.is_sync() && self.class != 2 && slice_idle_ns > 0 {
            self.thinks_briefly = !(self.think_time.is_valid() && self.think_time.mean > slice_idle_ns / 2);
        }
        let seeky = is_seeky(rotational, self.last_position, request);
        self.seek_history = self.seek_history << 1 | u32::from(seeky);
        if self.is_sync() {
            self.learn_intensity(now);
        }
        self.last_position = request.end();
    }

    fn learn_intensity(&mut self, now: Time) {
        if let Some(last) = self.last_end
            && self.sorted.is_empty()
            && self.dispatched == 0
        {
            self.idle_ns += now - last;
        }
        if self.just_created {
            return;
        }
        let observed = now - self.io_start;
        self.io_bound = self.idle_ns.saturating_mul(5) <= observed;
        if observed > INTENSITY_WINDOW_NS {
            self.io_start = Time::from_ns(now.as_ns() - observed / 2);
            self.idle_ns /= 2;
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
        BfqQueue { just_created: false, ..BfqQueue::new(Time::ZERO, 0, Some(0), (1, 40), 100) }
    }

    #[test]
    fn a_queue_is_seeky_from_twenty_far_requests_of_thirty_two_on() {
        let mut queue = queue();
        let mut far = Vec::new();
        for at in 1..40u64 {
            queue.learn(Time::ZERO, &request(0, at * 10_000), 8_000_000, true);
            far.push(queue.is_seeky());
        }
        // The first counts as seeky by default and by nothing else.
        assert_eq!(far.iter().position(|seeky| *seeky), Some(19));
        (0..13).for_each(|_| queue.learn(Time::ZERO, &request(0, queue.last_position), 8_000_000, true));
        assert!(!queue.is_seeky());
    }

    #[test]
    fn a_process_that_thinks_longer_than_half_of_the_idle_slice_is_known_after_three_samples() {
        let mut queue = queue();
        let mut brief = Vec::new();
        for at in 1..6u64 {
            let now = at * 10_000_000;
            queue.last_end = Some(Time::from_ns(now - 5_000_000));
            queue.learn(Time::from_ns(now), &request(0, 0), 8_000_000, true);
            brief.push(queue.thinks_briefly);
        }
        assert_eq!(brief, [true, true, false, false, false]);
    }

    #[test]
    fn a_queue_without_io_for_a_fifth_of_the_time_is_not_io_bound() {
        for (think_ms, bound) in [(19, true), (21, false)] {
            let mut queue = queue();
            for at in 1..=3u64 {
                let now = Time::from_ns(at * 100_000_000);
                queue.last_end = Some(Time::from_ns(now.as_ns() - think_ms * 1_000_000));
                queue.learn(now, &request(0, 0), 8_000_000, true);
            }
            assert_eq!(queue.io_bound, bound, "{think_ms} % thinking");
        }
    }
}
