//! Histograms, and the distributions derived from them.
//!
//! Bins are three percent wide, so percentiles are within two percent of their value, and memory
//! does not grow with the number of values. The sum, and hence the mean, is exact. hdrhistogram
//! does the same but took two fifths of a profile's time, which counts about fourteen values per
//! request.

use serde::{Deserialize, Serialize};

/// Clamp for values: thirteen days in nanoseconds.
const MAX_VALUE: u64 = 1 << 50;

/// A distribution; all zero if empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    pub count: u64,
    pub mean: f64,
    pub min: u64,
    pub p10: u64,
    pub p25: u64,
    pub p50: u64,
    pub p75: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
    /// Maximum and count; four buckets per doubling.
    pub buckets: Vec<(u64, u64)>,
}

impl Distribution {
    /// The Kolmogorov-Smirnov distance at bucket resolution; `None` if one is empty.
    pub fn ks(&self, other: &Distribution) -> Option<f64> {
        if self.count == 0 || other.count == 0 {
            return None;
        }
        // The count up to this bucket.
        let below = |of: &Distribution, bucket: usize| {
            let held = of.buckets.iter().take_while(|(value, _)| quarter_of(*value) <= bucket);
            held.map(|(_, count)| count).sum::<u64>() as f64 / of.count as f64
        };
        let buckets =
            self.buckets.iter().chain(&other.buckets).map(|(value, _)| quarter_of(*value));
        Some(
            buckets
                .map(|bucket| (below(self, bucket) - below(other, bucket)).abs())
                .fold(0.0, f64::max),
        )
    }
}

/// log₂ of steps per doubling: a step is three percent wide.
const STEPS: u32 = 5;

/// Allocates only up to the greatest value.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    counts: Vec<u32>,
    total: u64,
    sum: u64,
    range: (u64, u64),
}

/// The step, exact below 32.
#[inline]
fn step_of(value: u64) -> usize {
    if value < 1 << STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEPS;
    ((u64::from(shift) << STEPS) + (value >> shift)) as usize
}

fn middle_of(step: usize) -> u64 {
    let step = step as u64;
    if step < 1 << (STEPS + 1) {
        return step;
    }
    let shift = (step >> STEPS) - 1;
    let first = ((step & ((1 << STEPS) - 1)) | 1 << STEPS) << shift;
    first + (1 << shift) / 2
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let value = value.min(MAX_VALUE);
        self.range = if self.total == 0 {
            (value, value)
        } else {
            (self.range.0.min(value), self.range.1.max(value))
        };
        self.total += 1;
        self.sum = self.sum.saturating_add(value);
        let step = step_of(value);
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] = self.counts[step].saturating_add(1);
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        if other.total == 0 {
            return;
        }
        let (least, greatest) = if self.total == 0 { other.range } else { self.range };
        self.range = (least.min(other.range.0), greatest.max(other.range.1));
        self.total += other.total;
        self.sum = self.sum.saturating_add(other.sum);
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts
            .iter_mut()
            .zip(&other.counts)
            .for_each(|(ours, theirs)| *ours = ours.saturating_add(*theirs));
    }

    pub(super) fn len(&self) -> u64 {
        self.total
    }

    pub(super) fn distribution(&self) -> Distribution {
        if self.total == 0 {
            return Distribution::default();
        }
        let (min, max) = self.range;
        let [p10, p25, p50, p75, p90, p95, p99, p999] =
            [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map(|quantile| self.quantile(quantile));
        Distribution {
            count: self.total,
            mean: self.sum as f64 / self.total as f64,
            min,
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            p999,
            max,
            buckets: self.buckets(),
        }
    }

    fn quantile(&self, quantile: f64) -> u64 {
        let wanted = (quantile * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        step.map_or(self.range.1, middle_of).clamp(self.range.0, self.range.1)
    }

    fn buckets(&self) -> Vec<(u64, u64)> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        let mut last = None;
        for (step, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (value, count) =
                (middle_of(step).clamp(self.range.0, self.range.1), u64::from(*count));
            let quarter = quarter_of(value);
            match buckets.last_mut() {
                Some((greatest, held)) if last == Some(quarter) => {
                    *greatest = value;
                    *held += count;
                }
                _ => buckets.push((value, count)),
            }
            last = Some(quarter);
        }
        buckets
    }
}

/// The bucket, four per doubling: 0 for 0, then by the two bits after the first.
pub(super) fn quarter_of(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let octave = value.ilog2() as usize;
    (octave - 1) * 4 + ((value >> (octave - 2)) & 3) as usize
}

/// The smallest value of a bucket.
pub fn quarter_start(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (octave, part) = (bucket / 4 + 1, bucket % 4);
    if octave > 63 { u64::MAX } else { (4 + part as u64) << (octave - 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_where_the_last_one_ends() {
        for value in (0..5000).chain([1 << 20, (1 << 20) - 1, 7 << 40, u64::MAX]) {
            let bucket = quarter_of(value);
            assert!(quarter_start(bucket) <= value, "{value}");
            assert!(
                value < quarter_start(bucket + 1) || quarter_start(bucket + 1) == u64::MAX,
                "{value}"
            );
        }
    }

    #[test]
    fn each_value_is_in_a_step_whose_middle_is_within_two_percent() {
        let mut last = 0;
        for value in (0..70_000).chain((17..50).map(|log| (1 << log) + (1 << log) / 3)) {
            let (step, middle) = (step_of(value), middle_of(step_of(value)));
            assert!(
                step >= last && middle.abs_diff(value) * 50 <= value.max(1),
                "{value}: {middle}"
            );
            last = step;
        }
    }

    #[test]
    fn percentiles_are_within_two_percent_and_the_mean_is_exact() {
        let mut counts = Counts::default();
        (1..=100_000).for_each(|value| counts.add(value * 1000));
        let said = counts.distribution();
        assert!((said.mean - 50_000_500.0).abs() < 1.0, "{}", said.mean);
        for (found, expected) in
            [(said.p50, 50_000_000.0), (said.p99, 99_000_000.0), (said.p10, 10_000_000.0)]
        {
            assert!((found as f64 / expected - 1.0).abs() < 0.02, "{found} for {expected}");
        }
        assert_eq!(said.buckets.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert!(said.buckets.is_sorted());
    }

    #[test]
    fn the_distance_of_two_distributions_is_their_greatest_difference() {
        let counted = |values: &[u64]| {
            let mut counts = Counts::default();
            values.iter().for_each(|value| counts.add(*value));
            counts.distribution()
        };
        let (low, high) = (counted(&[1, 1, 100, 1000]), counted(&[1, 100, 1000, 1000]));
        assert_eq!(low.ks(&low), Some(0.0));
        assert_eq!((low.ks(&high), high.ks(&low)), (Some(0.25), Some(0.25)));
        assert_eq!(low.ks(&counted(&[1 << 30])), Some(1.0));
        assert_eq!(low.ks(&Distribution::default()), None);
    }

    #[test]
    fn two_halves_merged_are_the_whole() {
        let (mut even, mut odd, mut all) =
            (Counts::default(), Counts::default(), Counts::default());
        for value in [0, 1, 17, 4096, 1 << 30, u64::MAX] {
            if value % 2 == 0 {
                even.add(value)
            } else {
                odd.add(value)
            }
            all.add(value);
        }
        even.merge(&odd);
        even.merge(&Counts::default());
        assert_eq!(even.distribution(), all.distribution());
        assert_eq!((even.len(), Counts::default().len()), (6, 0));
    }
}
