//! Counts of values by size, and what is said of them: the shape in which every distribution of a profile is given.
//!
//! A histogram of two significant digits, so that a percentile is within one percent of its value, whose memory does not grow with
//! the number of values. The sum is exact, and the mean with it.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Values beyond are counted as this one: thirteen days in nanoseconds.
const LARGEST: u64 = 1 << 50;

/// How values are distributed. All zero where there are none.
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
    /// The greatest value of a bucket, and how many values are in it; four buckets for each doubling.
    pub buckets: Vec<(u64, u64)>,
}

/// Counts values. Takes no memory before the first.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    histogram: Option<Box<Histogram<u32>>>,
    sum: u64,
    /// The least and the greatest value.
    range: (u64, u64),
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let value = value.min(LARGEST);
        self.sum = self.sum.saturating_add(value);
        let (least, greatest) = if self.histogram.is_some() { self.range } else { (value, value) };
        self.range = (least.min(value), greatest.max(value));
        self.histogram.get_or_insert_with(empty).record(value).expect("a histogram that grows takes every value");
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        let Some(theirs) = &other.histogram else { return };
        self.sum = self.sum.saturating_add(other.sum);
        let (least, greatest) = if self.histogram.is_some() { self.range } else { other.range };
        self.range = (least.min(other.range.0), greatest.max(other.range.1));
        let ours = self.histogram.get_or_insert_with(empty);
        ours.add(theirs.as_ref()).expect("a histogram that grows takes every value");
    }

    pub(super) fn len(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    pub(super) fn distribution(&self) -> Distribution {
        let Some(histogram) = &self.histogram else { return Distribution::default() };
        let (min, max) = self.range;
        let at = |quantile: f64| histogram.value_at_quantile(quantile).clamp(min, max);
        Distribution {
            count: histogram.len(),
            mean: self.sum as f64 / histogram.len() as f64,
            min,
            p10: at(0.1),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max,
            buckets: buckets(histogram, max),
        }
    }
}

fn empty() -> Box<Histogram<u32>> {
    Box::new(Histogram::new(2).expect("two digits are allowed"))
}

fn buckets(histogram: &Histogram<u32>, max: u64) -> Vec<(u64, u64)> {
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    let mut last = None;
    for step in histogram.iter_recorded() {
        let (value, count) = (step.value_iterated_to().min(max), u64::from(step.count_at_value()));
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

/// The bucket of a value where there are four for each doubling: 0 for 0, then by the two bits after the first.
pub(super) fn quarter_of(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let octave = value.ilog2() as usize;
    (octave - 1) * 4 + ((value >> (octave - 2)) & 3) as usize
}

/// The smallest value of such a bucket.
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
            assert!(value < quarter_start(bucket + 1) || quarter_start(bucket + 1) == u64::MAX, "{value}");
        }
    }

    #[test]
    fn percentiles_are_within_one_percent_and_the_mean_is_exact() {
        let mut counts = Counts::default();
        (1..=100_000).for_each(|value| counts.add(value * 1000));
        let said = counts.distribution();
        assert!((said.mean - 50_000_500.0).abs() < 1.0, "{}", said.mean);
        for (found, expected) in [(said.p50, 50_000_000.0), (said.p99, 99_000_000.0), (said.p10, 10_000_000.0)] {
            assert!((found as f64 / expected - 1.0).abs() < 0.01, "{found} for {expected}");
        }
        assert_eq!(said.buckets.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert!(said.buckets.is_sorted());
    }

    #[test]
    fn two_halves_merged_are_the_whole() {
        let (mut even, mut odd, mut all) = (Counts::default(), Counts::default(), Counts::default());
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
