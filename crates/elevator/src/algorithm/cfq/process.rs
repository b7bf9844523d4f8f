//! A process's history: mean think time and seek distance.

use crate::decay::{DecayingMean, Rounding};
use crate::request::Priority;

/// In sectors.
const SEEKY_SECTORS: u64 = 128 * 1024;
/// Larger than any disk; keeps sums from overflowing.
const FARTHEST: u64 = 1 << 48;

#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) alive: bool,
    pub(super) requests: u32,
    pub(super) priority: Priority,
    pub(super) sync_queue: Option<u32>,
    /// The last shared one.
    pub(super) async_queue: Option<u32>,
    /// In jiffies; initially the first request.
    pub(super) last_end: u64,
    last_sector: u64,
    /// In jiffies.
    think: DecayingMean,
    /// In sectors.
    seek: DecayingMean,
}

impl Process {
    pub(super) fn new(now: u64, priority: Priority) -> Process {
        Process {
            alive: true,
            requests: 0,
            priority,
            sync_queue: None,
            async_queue: None,
            last_end: now,
            last_sector: 0,
            think: DecayingMean::new(Rounding::ThinkTime),
            seek: DecayingMean::new(Rounding::SeekDistance),
        }
    }

    /// cfq_update_io_thinktime, cfq_update_io_seektime. `longest` caps in jiffies.
    pub(super) fn record_request(&mut self, now: u64, sector: u64, end: u64, longest: u64) {
        self.think.add((now - self.last_end).min(longest));
        // A single far request must not dominate.
        let slack = if self.seek.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        let distance = self.last_sector.abs_diff(sector).min(4 * self.seek.mean + slack);
        self.seek.add(distance.min(FARTHEST));
        self.last_sector = end;
    }

    /// Whether its mean distance is large, even with few samples.
    pub(super) fn is_far(&self) -> bool {
        self.seek.mean > SEEKY_SECTORS
    }

    pub(super) fn is_seeky(&self) -> bool {
        self.seek.is_valid() && self.is_far()
    }

    /// In jiffies.
    pub(super) fn think_time(&self) -> Option<u64> {
        self.think.is_valid().then_some(self.think.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequential_process_stops_counting_as_far_after_its_first_requests() {
        let mut process = Process::new(0, Priority::default());
        let mut far = 0;
        for at in 0..20 {
            process.record_request(0, 90_000_000 + 8 * at, 90_000_008 + 8 * at, 16);
            far += u64::from(process.is_far());
        }
        assert!((3..10).contains(&far), "the way to the first request is forgotten: {far}");
        assert!(!process.is_seeky());
    }

    #[test]
    fn a_random_process_is_seeky_from_its_third_request_on() {
        let mut process = Process::new(0, Priority::default());
        let seeky: Vec<bool> = (1..5)
            .map(|at| {
                process.record_request(0, 70_000_000 * (at % 2), 8, 16);
                process.is_seeky()
            })
            .collect();
        assert_eq!(seeky, [false, false, true, true]);
    }

    #[test]
    fn think_times_are_cut_off_and_believed_after_three() {
        let mut process = Process::new(10, Priority::default());
        process.record_request(10, 0, 8, 16);
        process.record_request(500, 8, 16, 16);
        assert_eq!(process.think_time(), None);
        process.record_request(1000, 16, 24, 16);
        assert_eq!(process.think_time(), Some(12), "from samples 0, 16, 16");
    }

    #[test]
    fn the_farthest_seeks_overflow_nothing() {
        let mut process = Process::new(0, Priority::default());
        for _ in 0..200 {
            process.record_request(0, u64::MAX, 0, u64::from(u32::MAX) * 2000);
        }
        assert!(process.is_seeky());
    }
}
