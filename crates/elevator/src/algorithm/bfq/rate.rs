//! Peak rate estimation, which sizes budgets and the duration of weight raising.
//!
//! Source: Linux 6.12 block/bfq-iosched.c; confirmed. Rates are sectors per microsecond with 16
//! fractional bits. An observation lasts a second; the longer and the more sequential it was, the
//! more it moves the estimate.

use crate::request::BlockRequest;
use crate::vocabulary::Time;

const RATE_BITS: u32 = 16;
const MIN_SAMPLES: u64 = 32;
const MIN_INTERVAL_NS: u64 = 300_000_000;
const REFERENCE_INTERVAL_NS: u64 = 1_000_000_000;
const LONG_SILENCE_NS: u64 = 100_000_000;
/// BFQ_MIN_TT.
pub(super) const MIN_IDLE_NS: u64 = 2_000_000;
/// Sectors per microsecond; faster rates are measurement errors.
const UNREASONABLE: u64 = 20;
/// BFQQ_SEEK_THR.
const SEEKY_DISTANCE: u64 = 800;
/// BFQQ_SECT_THR_NONROT.
const SEEKY_SECTORS: u32 = 64;

/// BFQ_RQ_SEEKY. Position 0 means that there was no previous request.
pub(super) fn is_seeky(rotational: bool, last: u64, request: &BlockRequest) -> bool {
    last != 0
        && last.abs_diff(request.sector) > SEEKY_DISTANCE
        && (rotational || request.nr_sectors < SEEKY_SECTORS)
}

#[derive(Debug)]
pub(super) struct Rate {
    rotational: bool,
    /// Sectors per microsecond × 2^16.
    pub(super) peak: u64,
    samples: u64,
    sequential: u64,
    sectors: u64,
    largest: u64,
    first_dispatch: Time,
    last_dispatch: Time,
    /// None: infinitely long ago.
    last_completion: Option<Time>,
    from_first_ns: u64,
    pub(super) last_position: u64,
}

impl Rate {
    pub(super) fn new(rotational: bool) -> Rate {
        Rate {
            rotational,
            peak: Self::reference(rotational) * 2 / 3,
            samples: 0,
            sequential: 0,
            sectors: 0,
            largest: 0,
            first_dispatch: Time::ZERO,
            last_dispatch: Time::ZERO,
            last_completion: None,
            from_first_ns: 0,
            last_position: 0,
        }
    }

    /// The device of raising's reference durations.
    pub(super) fn reference(rotational: bool) -> u64 {
        if rotational { 14_000 } else { 33_000 }
    }

    /// Sectors at the peak rate.
    pub(super) fn sectors_in_ms(&self, ms: u64) -> u64 {
        (self.peak * 1000 * ms) >> RATE_BITS
    }

    /// bfq_update_peak_rate. Returns whether the estimate changed.
    pub(super) fn dispatched(&mut self, now: Time, request: &BlockRequest, in_driver: u32) -> bool {
        let mut changed = false;
        if self.samples == 0 {
            self.restart(now, request);
        } else if now - self.last_dispatch > LONG_SILENCE_NS && in_driver == 0 {
            changed = self.close();
            self.restart(now, request);
        } else {
            self.sample(now, request, in_driver);
            if self.from_first_ns >= REFERENCE_INTERVAL_NS {
                changed = self.close();
                self.restart(now, request);
            }
        }
        self.last_position = request.end();
        self.last_dispatch = now;
        changed
    }

    pub(super) fn since_completion(&self, now: Time) -> u64 {
        self.last_completion.map_or(u64::MAX, |last| now - last)
    }

    /// A late completion ends the observation. Returns whether the estimate changed.
    pub(super) fn completed(&mut self, now: Time) -> bool {
        let since_us = self.since_completion(now) / 1000;
        let slow = since_us > MIN_IDLE_NS / 1000
            && (self.largest << RATE_BITS) / since_us < 1 << (RATE_BITS - 10);
        let changed = slow && self.close();
        if slow {
            self.samples = 0;
        }
        self.last_completion = Some(now);
        changed
    }

    fn sample(&mut self, now: Time, request: &BlockRequest, in_driver: u32) {
        self.samples += 1;
        let busy = in_driver > 0 || self.since_completion(now) < MIN_IDLE_NS;
        if busy && !is_seeky(self.rotational, self.last_position, request) {
            self.sequential += 1;
        }
        let sectors = u64::from(request.nr_sectors);
        self.sectors += sectors;
        self.largest =
            if self.samples.is_multiple_of(32) { sectors } else { self.largest.max(sectors) };
        self.from_first_ns = now - self.first_dispatch;
    }

    fn restart(&mut self, now: Time, request: &BlockRequest) {
        self.first_dispatch = now;
        self.samples = 1;
        self.sequential = 0;
        self.sectors = u64::from(request.nr_sectors);
        self.largest = self.sectors;
        self.from_first_ns = 0;
    }

    /// bfq_update_rate_reset.
    fn close(&mut self) -> bool {
        if self.samples < MIN_SAMPLES || self.from_first_ns < MIN_INTERVAL_NS {
            return false;
        }
        let last = self.last_completion.map_or(0, Time::as_ns);
        let until_completion = last.saturating_sub(self.first_dispatch.as_ns());
        let observed_ns = self.from_first_ns.max(until_completion);
        let rate = (self.sectors << RATE_BITS) / (observed_ns / 1000);
        let mostly_random = self.sequential < 3 * self.samples / 4;
        if (mostly_random && rate <= self.peak) || rate > UNREASONABLE << RATE_BITS {
            return false;
        }
        let weight = 9 * self.sequential / self.samples;
        let weight = (weight * observed_ns / REFERENCE_INTERVAL_NS).min(8);
        let divisor = 10 - weight;
        self.peak = (self.peak * (divisor - 1) / divisor + rate / divisor).max(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    /// Sequential requests of 256 sectors, one at a time, of `us` microseconds each.
    fn stream(rate: &mut Rate, us: u64, requests: u64, gap: u64) {
        let mut now = rate.last_completion.unwrap_or_default();
        for at in 0..requests {
            let request = BlockRequest { nr_sectors: 256, ..request(0, 1000 + at * (256 + gap)) };
            rate.dispatched(now, &request, 0);
            now = now + us * 1000;
            rate.completed(now);
        }
    }

    #[test]
    fn the_estimate_starts_at_two_thirds_of_the_reference_and_sizes_the_budget() {
        assert_eq!((Rate::new(true).peak, Rate::new(false).peak), (9333, 22000));
        assert_eq!(Rate::new(true).sectors_in_ms(125), 9333 * 125_000 / 65536);
    }

    #[test]
    fn sequential_seconds_carry_the_estimate_to_the_rate_of_the_device() {
        let mut rate = Rate::new(true);
        stream(&mut rate, 1000, 20_000, 0);
        // 256 sectors per millisecond.
        let truth = (256 << 16) / 1000;
        assert!(rate.peak.abs_diff(truth) * 50 < truth, "{} against {truth}", rate.peak);
    }

    #[test]
    fn a_slow_random_second_does_not_lower_the_estimate() {
        let mut rate = Rate::new(true);
        let before = rate.peak;
        stream(&mut rate, 5000, 2000, 1_000_000);
        assert_eq!(rate.peak, before);
    }

    #[test]
    fn an_impossible_rate_is_ignored() {
        let mut rate = Rate::new(true);
        let before = rate.peak;
        stream(&mut rate, 10, 200_000, 0);
        assert_eq!(rate.peak, before, "25 sectors in a microsecond");
    }
}
