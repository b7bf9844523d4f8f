//! Per-process history, and averages for processes without one.
//!
//! Source: Linux 2.6.20 block/as-iosched.c; confirmed. A process's record is shared by all disks of
//! a machine; with one disk it makes no difference.

use crate::decay::{DecayingMean, Rounding};
use crate::request::Extent;

use super::timing::Moment;

pub(crate) const ONE: u64 = 256;

/// Larger than any disk; keeps sums below 2^64.
const MAX_DISTANCE: u64 = 1 << 48;

pub(crate) fn raise(probability: &mut u64) {
    *probability = (7 * *probability + ONE) / 8;
}

pub(crate) fn lower(probability: &mut u64) {
    *probability = 7 * *probability / 8;
}

#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) running: bool,
    /// It has issued a synchronous request.
    pub(crate) io_started: bool,
    /// A synchronous request has completed.
    pub(crate) io_running: bool,
    /// Its requests in the trees.
    pub(crate) queued: u32,
    /// Its requests on the dispatch list (the kernel's nr_dispatched).
    pub(crate) listed: u32,
    /// Its requests in the device, which the kernel does not count.
    pub(crate) in_device: u32,
    pub(crate) last_end: Moment,
    pub(crate) last_pos: u64,
    /// In jiffies.
    pub(crate) think: DecayingMean,
    /// In sectors.
    pub(crate) seek: DecayingMean,
}

/// Average first behaviour of processes, in place of a missing history.
#[derive(Debug, Clone, Default)]
pub(crate) struct Newcomers {
    /// Probability, of 256, that a process exits while anticipated.
    pub(crate) exit_prob: u64,
    /// Probability, of 256, that no cooperating process follows an exited one.
    pub(crate) exit_no_coop: u64,
    pub(crate) think_total: u64,
    /// Mean first think time, in jiffies.
    pub(crate) think_mean: u64,
    pub(crate) seek_total: u64,
    /// Mean first seek distance, in sectors.
    pub(crate) seek_mean: u64,
}

/// A synchronous request with history, for rules that keep their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// A close request of another process counts as the awaited one's.
    pub(crate) process: u32,
    pub(crate) now: Moment,
    pub(crate) sector: u64,
    /// None: the process's first synchronous request.
    pub(crate) since: Option<Since>,
}

/// The process's state since its previous request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    pub(crate) last_end: Option<Moment>,
    pub(crate) last_pos: u64,
    /// No request is queued or on the dispatch list: the kernel's notion of thinking.
    pub(crate) idle: bool,
    /// None is in the device either.
    pub(crate) nothing_outstanding: bool,
}

impl Default for History {
    fn default() -> History {
        History {
            running: true,
            io_started: false,
            io_running: false,
            queued: 0,
            listed: 0,
            in_device: 0,
            last_end: Moment::default(),
            last_pos: 0,
            think: DecayingMean::new(Rounding::ThinkTime),
            seek: DecayingMean::new(Rounding::SeekDistance),
        }
    }
}

impl History {
    /// Learns from a request before it is counted. `max_think` caps in jiffies.
    pub(crate) fn arrive(
        &mut self,
        now: Moment,
        process: u32,
        request: Extent,
        max_think: u64,
        newcomers: &mut Newcomers,
    ) -> Arrival {
        let known = self.io_started || self.io_running;
        let idle = self.queued + self.listed == 0;
        let since = known.then(|| Since {
            last_end: self.io_running.then_some(self.last_end),
            last_pos: self.last_pos,
            idle,
            nothing_outstanding: idle && self.in_device == 0,
        });
        if known {
            let thinking = self.io_running && idle;
            self.add_think(
                if thinking { (now.jiffies - self.last_end.jiffies).min(max_think) } else { 0 },
                newcomers,
            );
            self.add_seek(request.sector.abs_diff(self.last_pos).min(MAX_DISTANCE), newcomers);
        }
        self.last_pos = request.end;
        self.io_started = true;
        Arrival { process, now, sector: request.sector, since }
    }

    pub(crate) fn end(&mut self, now: Moment) {
        self.io_running = true;
        self.last_end = now;
    }

    fn add_think(&mut self, jiffies: u64, newcomers: &mut Newcomers) {
        if self.think.samples == 0 {
            newcomers.think_total = (7 * newcomers.think_total + ONE * jiffies) / 8;
            newcomers.think_mean = newcomers.think_total / ONE;
            lower(&mut newcomers.exit_prob);
        }
        self.think.add(jiffies);
    }

    fn add_seek(&mut self, sectors: u64, newcomers: &mut Newcomers) {
        if self.seek.samples == 0 {
            newcomers.seek_total = (7 * newcomers.seek_total + ONE * sectors) / 8;
            newcomers.seek_mean = newcomers.seek_total / ONE;
        }
        // A stray request (page fault, fragment) must not dominate the mean.
        let slack = if self.seek.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        self.seek.add(sectors.min(4 * self.seek.mean + slack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use crate::vocabulary::Time;

    fn at(ms: u64) -> Moment {
        Moment { time: Time::from_ns(ms * 1_000_000), jiffies: ms }
    }

    /// A process with requests of 1 ms and think times of `think` ms, at least ten times.
    fn after(thinks: &[u64], newcomers: &mut Newcomers) -> History {
        let mut history = History::default();
        let mut ms = 100;
        history.arrive(at(ms), 0, (&request(0, 0)).into(), 19, newcomers);
        for (tag, think) in thinks.iter().enumerate() {
            history.end(at(ms + 1));
            ms += 1 + think;
            history.arrive(at(ms), 0, (&request(0, 8 * (1 + tag as u64))).into(), 19, newcomers);
        }
        history
    }

    #[test]
    fn the_first_request_gives_no_sample() {
        let mut newcomers = Newcomers::default();
        let history = after(&[], &mut newcomers);
        assert_eq!((history.think.samples, history.seek.samples, newcomers.seek_total), (0, 0, 0));
        assert!(history.io_started && !history.io_running);
    }

    #[test]
    fn requests_in_flight_count_as_think_time_nothing() {
        let mut history = after(&[16, 16, 16, 16], &mut Newcomers::default());
        let before = history.think.mean;
        history.queued = 1;
        history.arrive(at(1000), 0, (&request(0, 0)).into(), 19, &mut Newcomers::default());
        assert!(history.think.mean < before, "an asynchronous reader looks instantaneous");
    }

    #[test]
    fn a_process_that_thinks_for_seconds_climbs_above_six_with_the_fourth_sample() {
        let mut thinks = vec![0; 100];
        let mut means = Vec::new();
        for _ in 0..6 {
            thinks.push(5000);
            means.push(after(&thinks, &mut Newcomers::default()).think.mean);
        }
        assert_eq!(means, [2, 5, 6, 8, 10, 11], "think times are capped at 19");
        thinks.extend([0; 6]);
        assert!(
            after(&thinks, &mut Newcomers::default()).think.mean <= 6,
            "short ones pull it down again"
        );
    }

    #[test]
    fn only_first_think_times_and_seeks_teach_about_newcomers() {
        let mut newcomers = Newcomers { exit_prob: 256, ..Newcomers::default() };
        after(&[16, 0, 0, 0], &mut newcomers);
        assert_eq!(
            (newcomers.think_total, newcomers.think_mean, newcomers.exit_prob),
            (512, 2, 224)
        );
        assert_eq!(newcomers.seek_total, 0, "sequential");
    }

    #[test]
    fn stray_seeks_are_clamped_hard_after_three_samples() {
        let mut newcomers = Newcomers::default();
        let mut history = after(&[0, 0, 0], &mut newcomers);
        history.arrive(at(500), 0, (&request(0, 1 << 40)).into(), 19, &mut newcomers);
        assert_eq!(history.seek.total, 256 * 131_072 / 8);
        let mut young = after(&[], &mut newcomers);
        young.arrive(at(500), 0, (&request(0, 1 << 40)).into(), 19, &mut newcomers);
        assert_eq!(young.seek.total, 256 * 2_097_152 / 8);
        assert_eq!(
            newcomers.seek_total,
            256 * ((1 << 40) - 8) / 8,
            "what newcomers teach is not clamped"
        );
    }
}
