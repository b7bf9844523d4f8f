//! Predicts a request's occupancy, learned from the gaps between completions.
//!
//! A completion's gap is the device's busy time since the previous completion, so charges by gaps
//! add up to the busy time. A prediction is a base and a size slope per direction, plus a part by
//! distance from the previous dispatch, in power-of-two buckets. Normalised least mean squares and
//! exponential means, in nanoseconds with 8 fractional bits.
//!
//! Whether the device seeks shows in random reads, best in those without writes in the device. On one
//! that does not, what a read among writes takes beyond 1.25 predictions is added to the next write.

use crate::algorithm::occupancy::settings::{Key, Settings};
use crate::vocabulary::Op;

/// Buckets of distance: 0, then powers of two of sectors.
pub(super) const BUCKETS: usize = 32;
const BITS: u32 = 8;
const SECOND: u64 = 1_000_000_000;
const MAX_ESTIMATE: i64 = (10 * SECOND as i64) << BITS;
const LEAST: u64 = 250;
/// The base of a direction without samples.
const COLD: i64 = 100_000 << BITS;
/// Size in sectors at which base and slope learn equally.
const MIDDLE: i64 = 64;
/// Maximum size, in sectors.
const LARGEST: u32 = 1 << 16;
/// Nanoseconds per sector at 100 MB/s, the slowest transfer assumed before any is learned.
const SLOWEST: i64 = 5_000;
const TOGETHER: usize = 8;
/// From this bucket on, distances are far: 32 MiB.
pub(super) const FAR: usize = 16;
/// Samples of near and far requests, to judge positions.
const MIN_SAMPLES: u32 = 16;

/// A plain mean at first, then exponential with weight 1/`most`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    pub(super) value: i64,
    pub(super) nr: u32,
}

impl Mean {
    pub(super) fn add(&mut self, sample: i64, most: u32) {
        if self.nr < most {
            self.nr += 1;
        }
        self.value += (sample - self.value) / i64::from(self.nr);
    }
}

#[derive(Debug, Clone, Copy)]
struct Direction {
    base: i64,
    /// Per sector.
    slope: i64,
    /// Mean size of far requests, in sectors.
    size: Mean,
    nr: u32,
    pos: [Mean; BUCKETS],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) op: Op,
    pub(super) nr_sectors: u32,
    pub(super) bucket: usize,
    pub(super) predicted: u64,
    /// Whether writes are in the device.
    pub(super) with_writes: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    of: [Direction; 2],
    /// Requests that completed together, and their shared time.
    together: [Sample; TOGETHER],
    nr_together: usize,
    gap: u64,
    /// Gaps, without the size part, of sequential and of far reads.
    near: Mean,
    far: Mean,
    /// 1024 × the part of random reads that are quick, without writes in the device and with them.
    quick: Mean,
    quick_among_writes: Mean,
    /// Mean gaps of far requests, and of all.
    random: Mean,
    all: Mean,
    /// Gaps of reads that writes caused.
    owed: u64,
}

#[inline]
pub(super) fn bucket(from: u64, sector: u64) -> usize {
    let distance = from.abs_diff(sector);
    ((u64::BITS - distance.leading_zeros()) as usize).min(BUCKETS - 1)
}

#[inline]
fn side(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

impl Model {
    pub(super) fn new() -> Model {
        let cold = Direction {
            base: COLD,
            slope: 0,
            size: Mean::default(),
            nr: 0,
            pos: [Mean::default(); BUCKETS],
        };
        Model {
            of: [cold; 2],
            together: [Sample {
                op: Op::Read,
                nr_sectors: 0,
                bucket: 0,
                predicted: 0,
                with_writes: false,
            }; TOGETHER],
            nr_together: 0,
            gap: 0,
            near: Mean::default(),
            far: Mean::default(),
            quick: Mean::default(),
            quick_among_writes: Mean::default(),
            random: Mean::default(),
            all: Mean::default(),
            owed: 0,
        }
    }

    /// Predicted occupancy in nanoseconds for this size and distance.
    #[inline]
    pub(super) fn predict(
        &self,
        settings: &Settings,
        op: Op,
        nr_sectors: u32,
        bucket: usize,
    ) -> u64 {
        let size = nr_sectors.min(LARGEST);
        if !settings.on(Key::Learning) {
            return 100_000 + 5_000 * u64::from(size);
        }
        let of = &self.of[side(op)];
        let raw = (of.base + of.slope * i64::from(size) + of.pos[bucket].value) >> BITS;
        u64::try_from(raw).unwrap_or(0).max(LEAST)
    }

    /// The distance part of a read's prediction; may be negative.
    #[inline]
    pub(super) fn positional_ns(&self, bucket: usize) -> i64 {
        self.of[0].pos[bucket].value >> BITS
    }

    #[inline]
    pub(super) fn is_known(&self, op: Op) -> bool {
        self.of[side(op)].nr >= 8
    }

    /// `beside`: in the device at the previous completion. Requests that complete together share
    /// the time since the one before.
    pub(super) fn completed(&mut self, sample: Sample, beside: bool, gap: u64) {
        if !(beside && gap < sample.predicted / 8) || self.nr_together == TOGETHER {
            self.learn_together();
        }
        self.together[self.nr_together] = sample;
        self.nr_together += 1;
        self.gap += gap.min(10 * SECOND);
    }

    fn learn_together(&mut self) {
        let (nr, gap) = (self.nr_together, self.gap);
        (self.nr_together, self.gap) = (0, 0);
        for at in 0..nr {
            self.learn(self.together[at], gap / nr as u64);
        }
    }

    fn learn(&mut self, sample: Sample, gap: u64) {
        let Sample { op, nr_sectors, bucket, predicted, with_writes } = sample;
        let known = self.is_known(op);
        // A stall of the device is not a property of the request that met it.
        let mut gap = gap.min(if known { predicted.saturating_mul(16) } else { SECOND });
        if self.seeks() != Some(true) {
            if op == Op::Write {
                gap += std::mem::take(&mut self.owed);
            } else if known && with_writes {
                let own = gap.min(predicted + predicted / 4);
                self.owed += gap - own;
                gap = own;
            }
        }
        let size = i64::from(nr_sectors.min(LARGEST));
        let (sample, error) = ((gap << BITS) as i64, (gap as i64 - predicted as i64) << BITS);
        let error = error.clamp(-MAX_ESTIMATE, MAX_ESTIMATE);
        let of = &mut self.of[side(op)];
        of.nr = of.nr.saturating_add(1);
        let norm = MIDDLE * MIDDLE + size * size;
        if bucket == 0 {
            let step = norm * i64::from(of.nr.min(16));
            of.base = (of.base + error * (MIDDLE * MIDDLE) / step).clamp(0, MAX_ESTIMATE);
            of.slope = (of.slope + error * size / step).clamp(0, MAX_ESTIMATE >> 4);
        } else {
            // Requests of equal size carry no information about the slope.
            let apart = size - of.size.value;
            of.size.add(size, 64);
            let norm = MIDDLE * MIDDLE + apart * apart;
            of.slope = (of.slope + error * apart / (norm * 64)).clamp(0, MAX_ESTIMATE >> 4);
            let mean = &mut of.pos[bucket];
            let first = mean.nr == 0;
            mean.add((mean.value + error).clamp(-MAX_ESTIMATE, MAX_ESTIMATE), 16);
            if first {
                spread(&mut of.pos, bucket);
            }
        }
        let unsized_gap = (sample - of.slope * size).max(0);
        self.all.add(sample, 32);
        if bucket >= FAR {
            self.random.add(sample, 32);
        }
        if op == Op::Read && bucket <= 1 {
            self.near.add(unsized_gap, 64);
        } else if op == Op::Read && bucket >= FAR {
            self.far.add(unsized_gap, 64);
        }
    }

    #[inline]
    pub(super) fn random_ns(&self) -> u64 {
        let mean = if self.random.nr > 0 { self.random.value } else { self.all.value };
        if mean == 0 { COLD as u64 >> BITS } else { ((mean >> BITS) as u64).max(LEAST) }
    }

    /// Mean gap of a far read without the size part.
    pub(super) fn far_ns(&self) -> u64 {
        (self.far.value >> BITS) as u64
    }

    /// Whether three of four random reads take over a millisecond, or, as long as all were among
    /// writes, fifteen of sixteen: flash may be collecting. None: there were none, or fewer than
    /// eight among writes, which count more than fewer than eight without.
    #[inline]
    pub(super) fn seeks(&self) -> Option<bool> {
        if self.quick.nr < 8 && self.quick_among_writes.nr >= 8 {
            return Some(self.quick_among_writes.value < 64);
        }
        (self.quick.nr > 0).then_some(self.quick.value < 256)
    }

    /// `reads` shared the device.
    pub(super) fn random_read(
        &mut self,
        nr_sectors: u32,
        reads: u32,
        with_writes: bool,
        response: u64,
    ) {
        let transfer = SLOWEST as u64 * u64::from(nr_sectors.min(LARGEST));
        let own = response.saturating_sub(transfer) / u64::from(reads);
        let of = if with_writes { &mut self.quick_among_writes } else { &mut self.quick };
        of.add(if own < SECOND / 1000 { 1024 } else { 0 }, 64);
    }

    /// None: too few samples. A device that seeks has positions until near reads show otherwise.
    #[inline]
    pub(super) fn positions_matter(&self) -> Option<bool> {
        let seeks = self.seeks();
        let known = self.near.nr >= MIN_SAMPLES && self.far.nr >= MIN_SAMPLES;
        if seeks == Some(false) || !known {
            return seeks;
        }
        Some(self.far.value > 2 * self.near.value)
    }
}

/// Copies a bucket's first sample to its empty neighbours, up to the next filled bucket.
fn spread(pos: &mut [Mean; BUCKETS], bucket: usize) {
    let value = pos[bucket].value;
    for mean in pos[bucket + 1..].iter_mut().take_while(|mean| mean.nr == 0) {
        mean.value = value;
    }
    for mean in pos[1..bucket].iter_mut().rev().take_while(|mean| mean.nr == 0) {
        mean.value = value;
    }
}
