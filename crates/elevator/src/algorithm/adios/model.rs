//! The latency model of an operation: a base, and a slope above 4 KiB, learned from gaps between
//! completions.
//!
//! Source: ADIOS 3.2.0 (confirmed). Consequences kept (derived): the base is subtracted once per
//! update, not per sample, so the slope is too steep after many large samples; the slope is fitted
//! to the whole size but applied above 4 KiB.

use crate::vocabulary::Time;

/// Larger requests are predicted with the slope.
const SMALL_BYTES: u64 = 4096;
const BUCKETS: usize = 64;
/// Weighted samples per update.
const MIN_SAMPLES: u64 = 1024;
/// Interval after which fewer suffice.
const INTERVAL_NS: u64 = 1_500_000_000;
/// Samples above this percentile are outliers.
const PERCENTILE: u64 = 99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shrink {
    /// Small samples, in thousands.
    pub(super) kreqs: u64,
    /// Bytes of large samples, in GiB.
    pub(super) gbytes: u64,
    /// The decayed fraction is 2 to the power of minus this.
    pub(super) resist: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) bytes: u64,
    pub(super) latency_ns: u64,
    pub(super) predicted_ns: u64,
    pub(super) weight: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    weight: u64,
    latency: u64,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct Histogram {
    buckets: [Bucket; BUCKETS],
    weight: u64,
}

impl Histogram {
    const EMPTY: Histogram =
        Histogram { buckets: [Bucket { weight: 0, latency: 0, bytes: 0 }; BUCKETS], weight: 0 };

    fn add(&mut self, sample: &Sample, predicted: u64) {
        let Sample { bytes, latency_ns, weight, .. } = *sample;
        let bucket = &mut self.buckets[bucket(latency_ns, predicted)];
        bucket.weight += weight;
        bucket.latency += latency_ns * weight;
        bucket.bytes += bytes * weight;
        self.weight += weight;
    }

    /// Sums all samples except outliers and empties the histogram.
    fn take(&mut self, all: bool) -> Bucket {
        let keep = if all { self.weight } else { self.weight * PERCENTILE / 100 };
        let mut sum = Bucket::default();
        for bucket in std::mem::replace(self, Histogram::EMPTY).buckets {
            let part = bucket.weight.min(keep - sum.weight);
            if part > 0 {
                sum.latency += bucket.latency * part / bucket.weight;
                sum.bytes += bucket.bytes * part / bucket.weight;
                sum.weight += part;
            }
        }
        sum
    }
}

pub(super) fn bucket(latency: u64, predicted: u64) -> usize {
    let bucket = if latency < predicted * 2 {
        latency * 20 / predicted
    } else if latency < predicted * 5 {
        latency * 10 / predicted + 20
    } else {
        latency * 3 / predicted + 40
    };
    bucket.min(BUCKETS as u64 - 1) as usize
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Nanoseconds of a small request; 0: unknown.
    pub(super) base: u64,
    /// Nanoseconds per KiB above 4.
    pub(super) slope: u64,
    small: Histogram,
    large: Histogram,
    small_delay: u64,
    small_count: u64,
    large_delay: u64,
    large_bytes: u64,
    updated: Time,
}

impl Model {
    pub(super) const NEW: Model = Model {
        base: 0,
        slope: 0,
        small: Histogram::EMPTY,
        large: Histogram::EMPTY,
        small_delay: 0,
        small_count: 0,
        large_delay: 0,
        large_bytes: 0,
        updated: Time::ZERO,
    };

    #[inline]
    pub(super) fn predict(&self, bytes: u64) -> u64 {
        self.base + self.slope * bytes.saturating_sub(SMALL_BYTES).div_ceil(1024)
    }

    pub(super) fn input(&mut self, now: Time, sample: &Sample, shrink: &Shrink) {
        if sample.bytes <= SMALL_BYTES {
            self.small.add(sample, self.base.max(1));
            if self.base == 0 {
                self.update(now, shrink);
            }
        } else if self.base > 0 && sample.predicted_ns > 0 {
            self.large.add(sample, sample.predicted_ns);
        }
    }

    /// Needs enough samples or enough time.
    pub(super) fn update(&mut self, now: Time, shrink: &Shrink) {
        let first = self.base == 0;
        let elapsed = first || now - self.updated >= INTERVAL_NS;
        let (small, large) = (self.small.weight, self.large.weight);
        let mut learned = false;
        if small > 0 && (elapsed || small >= MIN_SAMPLES) {
            learned |= self.learn_base(first, shrink);
        }
        if large > 0 && (elapsed || large >= MIN_SAMPLES || self.slope == 0) {
            learned |= self.learn_slope(shrink);
        }
        if learned || elapsed {
            self.updated = now;
        }
    }

    fn learn_base(&mut self, first: bool, shrink: &Shrink) -> bool {
        let sum = self.small.take(first);
        if sum.weight == 0 {
            return false;
        }
        if self.small_count >= 1000 * shrink.kreqs && self.small_count >> shrink.resist > 0 {
            self.small_delay -= self.small_delay >> shrink.resist;
            self.small_count -= self.small_count >> shrink.resist;
        }
        self.small_delay += sum.latency;
        self.small_count += sum.weight;
        self.base = self.small_delay / self.small_count;
        true
    }

    fn learn_slope(&mut self, shrink: &Shrink) -> bool {
        let sum = self.large.take(self.slope == 0);
        if sum.weight == 0 {
            return false;
        }
        if self.large_bytes >= shrink.gbytes << 30 && self.large_bytes >> shrink.resist > 0 {
            self.large_delay -= self.large_delay >> shrink.resist;
            self.large_bytes -= self.large_bytes >> shrink.resist;
        }
        self.large_delay +=
            if sum.latency > self.base { sum.latency - self.base } else { sum.latency };
        self.large_bytes += sum.bytes;
        self.slope = self.large_delay / self.large_bytes.div_ceil(1024);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHRINK: Shrink = Shrink { kreqs: 5000, gbytes: 50, resist: 2 };

    fn sample(bytes: u64, latency_ns: u64, model: &Model) -> Sample {
        Sample { bytes, latency_ns, predicted_ns: model.predict(bytes), weight: 1 }
    }

    fn after_the_first_read() -> Model {
        let mut model = Model::NEW;
        model.input(Time::from_ns(1), &sample(4096, 120_000, &model), &SHRINK);
        model
    }

    #[test]
    fn the_first_small_sample_is_the_base_at_once_and_a_large_one_gives_the_slope_with_the_timer() {
        let mut model = after_the_first_read();
        assert_eq!((model.base, model.predict(64 << 10)), (120_000, 120_000));
        assert_eq!(bucket(420_000, 120_000), 55);
        model.input(Time::from_ns(2), &sample(64 << 10, 420_000, &model), &SHRINK);
        model.update(Time::from_ns(100_000_000), &SHRINK);
        assert_eq!((model.slope, model.predict(64 << 10)), (4687, 401_220));
    }

    #[test]
    fn the_base_is_subtracted_once_for_an_update_so_that_many_samples_make_the_slope_too_steep() {
        let mut model = after_the_first_read();
        for _ in 0..1024 {
            model.input(Time::from_ns(2), &sample(64 << 10, 420_000, &model), &SHRINK);
        }
        model.update(Time::from_ns(100_000_000), &SHRINK);
        assert_eq!(model.slope, 6560);
    }

    #[test]
    fn outliers_beyond_the_percentile_are_dropped_and_few_samples_wait_for_their_time() {
        let mut model = after_the_first_read();
        (0..99)
            .for_each(|_| model.input(Time::from_ns(3), &sample(4096, 120_000, &model), &SHRINK));
        model.input(Time::from_ns(3), &sample(4096, 90_000_000, &model), &SHRINK);
        model.update(Time::from_ns(100_000_000), &SHRINK);
        assert_eq!(model.small.weight, 100, "fewer than 1024, and too early");
        model.update(Time::from_ns(1_600_000_000), &SHRINK);
        assert_eq!((model.base, model.small_count), (120_000, 100));
    }

    #[test]
    fn buckets_grow_wider_with_the_ratio_and_the_last_takes_the_rest() {
        let at = [0, 50, 99, 100, 199, 200, 499, 500, 9_000].map(|latency| bucket(latency, 100));
        assert_eq!(at, [0, 10, 19, 20, 39, 40, 63, 55, 63]);
    }
}
