//! The rate of virtual time, controlled by latencies and by waits for the device.
//!
//! Source: Linux 6.1 block/blk-iocost.c, and 7.3's difference (switch `linux`); confirmed.

use super::model::SECOND;
use crate::vocabulary::{LINUX_7, LINUX_VERSION};

/// Virtual time per microsecond at 100 %.
pub(super) const FULL: u64 = SECOND / 1_000_000;
const MILLION: u64 = 1_000_000;
/// Percent of a period.
const WAIT_PERCENT: u64 = 5;
/// Below this percentage of the limits the device is not busy.
const FREE_PERCENT: u64 = 75;
/// Percent of return per period when out of bounds.
const CLAMP_PERCENT: u64 = 4;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Observed {
    /// By direction: within the target latency, and beyond.
    pub(super) met: [u64; 2],
    pub(super) missed: [u64; 2],
    pub(super) waited_ns: u64,
    pub(super) shortage: bool,
    /// Targets count, and requests of earlier periods are in flight.
    pub(super) lagging: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Per microsecond.
    pub(super) units: u64,
    pub(super) level: i64,
    pub(super) min_percent: u64,
    pub(super) max_percent: u64,
    pub(super) linux: u64,
}

impl Rate {
    pub(super) fn new() -> Rate {
        Rate { units: FULL, level: 0, min_percent: 1, max_percent: 10_000, linux: LINUX_VERSION }
    }

    pub(super) fn percent(&self) -> u64 {
        self.units * 100 / FULL
    }

    /// 0: latencies are ignored.
    pub(super) fn period(&mut self, seen: &Observed, period_ns: u64, percentiles: [u64; 2]) {
        let waited = seen.waited_ns * 100 / period_ns;
        let (mut busy, mut free) =
            (waited > WAIT_PERCENT, waited <= WAIT_PERCENT * FREE_PERCENT / 100);
        for (direction, percentile) in percentiles.iter().enumerate() {
            let (met, missed) = (seen.met[direction], seen.missed[direction]);
            let missed = if missed == 0 { 0 } else { missed * MILLION / (met + missed) };
            let limit = MILLION - percentile * 10_000;
            busy |= missed > limit;
            free &= missed <= limit * FREE_PERCENT / 100;
        }
        let is_blind = seen.lagging && [seen.met, seen.missed] == [[0; 2]; 2];
        self.level = match (busy, free, seen.shortage) {
            _ if is_blind && self.linux >= LINUX_7 => self.level,
            (true, ..) => self.level.max(0) + 1,
            (false, true, true) => self.level.min(0) - i64::from(!seen.lagging),
            _ => 0,
        };
        if self.level > 0 || self.level < 0 && !seen.lagging {
            self.adjust();
        }
    }

    /// ioc_adjust_base_vrate; not called at level 0, so that even a rate out of bounds stays.
    fn adjust(&mut self) {
        let percent = match self.level.unsigned_abs() {
            0..=3 => 0,
            4..=19 => 1,
            20..=35 => 2,
            36..=43 => 4,
            44..=51 => 8,
            _ => 16,
        };
        let (min, max) = (FULL * self.min_percent / 100, FULL * self.max_percent / 100);
        if self.units < min {
            self.units = (self.units * (100 + CLAMP_PERCENT) / 100).min(min);
        } else if self.units > max {
            self.units = (self.units * (100 - CLAMP_PERCENT) / 100).max(max);
        } else {
            let changed = if self.level > 0 { 100 - percent } else { 100 + percent };
            self.units = (self.units * changed).div_ceil(100).clamp(min, max.max(min));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(periods: u32, seen: &Observed) -> Rate {
        let mut rate = Rate::new();
        (0..periods).for_each(|_| rate.period(seen, 1_000_000, [0, 0]));
        rate
    }

    #[test]
    fn a_busy_device_slows_virtual_time_down_ever_faster() {
        let busy = Observed { waited_ns: 60_000, ..Observed::default() };
        let ten_thousandths = |periods| after(periods, &busy).units * 10_000 / FULL;
        assert_eq!(ten_thousandths(3), 10_000);
        for (level, percent) in [
            (4, 1),
            (19, 1),
            (20, 2),
            (35, 2),
            (36, 4),
            (43, 4),
            (44, 8),
            (51, 8),
            (52, 16),
            (60, 16),
        ] {
            let (before, after) = (after(level - 1, &busy).units, after(level, &busy).units);
            assert_eq!(after, (before * (100 - percent)).div_ceil(100), "level {level}");
        }
    }

    #[test]
    fn a_shortage_on_a_free_device_speeds_it_up_and_one_that_is_neither_leaves_it() {
        let short = Observed { shortage: true, ..Observed::default() };
        assert_eq!(after(4, &short).percent(), 101);
        assert_eq!(after(400, &short).percent(), 10_000);
        let between = Observed { waited_ns: 45_000, shortage: true, ..Observed::default() };
        assert_eq!(after(400, &between).percent(), 100);
    }

    #[test]
    fn missed_targets_count_if_a_percentile_is_asked_for_and_bounds_are_approached_slowly() {
        let missed = Observed { met: [94, 0], missed: [6, 0], ..Observed::default() };
        let mut rate = Rate::new();
        (0..4).for_each(|_| rate.period(&missed, 1_000_000, [95, 0]));
        assert_eq!((rate.level, rate.percent()), (4, 99));
        rate.max_percent = 50;
        rate.period(&missed, 1_000_000, [0, 0]);
        assert_eq!((rate.level, rate.percent()), (0, 99), "level 0 keeps it");
        rate.period(&missed, 1_000_000, [95, 0]);
        assert_eq!(rate.percent(), 95, "4 % a period");
    }

    #[test]
    fn lagging_io_stops_acceleration_and_since_7_0_keeps_the_level_if_nothing_completes() {
        let blind = Observed { lagging: true, ..Observed::default() };
        let short = Observed { shortage: true, ..blind };
        let seeing = Observed { met: [1, 0], ..blind };
        let step = |linux, level, seen: &Observed| {
            let mut rate = Rate { level, linux, ..Rate::new() };
            rate.period(seen, 1_000_000, [95, 0]);
            (rate.level, rate.percent())
        };
        for (seen, level, old, new) in [
            (&blind, 5, (0, 100), (5, 99)),
            (&blind, -5, (0, 100), (-5, 100)),
            (&short, 5, (0, 100), (5, 99)),
            (&short, -5, (-5, 100), (-5, 100)),
            (&seeing, 5, (0, 100), (0, 100)),
        ] {
            let found = [601, 612, 703].map(|linux| step(linux, level, seen));
            assert_eq!(found, [old, old, new], "{seen:?} at level {level}");
        }
    }
}
