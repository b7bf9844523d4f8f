//! A domain of kyber: the tokens of one kind of request, and its latency histograms.

use crate::clock::Clock;

pub(super) const DOMAINS: usize = 2;
pub(super) const MAX_DEPTH: [u32; DOMAINS] = [256, 128];
const BUCKETS: usize = 8;
/// Buckets within the target, each a quarter of it wide.
pub(super) const GOOD_BUCKETS: usize = 4;
const MIN_SAMPLES: u64 = 500;

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// From the allocation of the request.
    Total,
    /// From its issue to the device.
    Io,
}

#[derive(Debug)]
pub(super) struct Domain {
    pub(super) depth: u32,
    pub(super) in_use: u32,
    pub(super) target_ns: u64,
    pub(super) histograms: [[u64; BUCKETS]; 2],
    /// The jiffy from which fewer samples suffice.
    timeout: Option<u64>,
    /// Percentile of total latency in a good period.
    pub(super) remembered: Option<usize>,
}

impl Domain {
    pub(super) fn new(depth: u32, target_ns: u64) -> Domain {
        Domain {
            depth,
            in_use: 0,
            target_ns,
            histograms: [[0; BUCKETS]; 2],
            timeout: None,
            remembered: None,
        }
    }

    pub(super) fn sample(&mut self, kind: Kind, latency_ns: u64) {
        let width = (self.target_ns / 4).max(1);
        // Seven comparisons are cheaper than a division. The widest bucket is a quarter of 2⁶³.
        let bucket =
            (1..BUCKETS).filter(|nr| latency_ns.saturating_sub(1) >= *nr as u64 * width).count();
        self.histograms[kind as usize][bucket] += 1;
    }

    /// calculate_percentile; discards the samples.
    pub(super) fn percentile(
        &mut self,
        clock: Clock,
        now: u64,
        kind: Kind,
        percent: u64,
    ) -> Option<usize> {
        let histogram = &mut self.histograms[kind as usize];
        let samples: u64 = histogram.iter().sum();
        if samples == 0 {
            return None;
        }
        let timeout = *self.timeout.get_or_insert(now + clock.hz());
        if samples < MIN_SAMPLES && timeout > now {
            return None;
        }
        self.timeout = None;
        let mut left = (samples * percent).div_ceil(100);
        let reached = |count: &u64| {
            let reached = *count >= left;
            left -= left.min(*count);
            reached
        };
        let bucket = histogram[..BUCKETS - 1].iter().position(reached).unwrap_or(BUCKETS - 1);
        *histogram = [0; BUCKETS];
        Some(bucket)
    }
}
