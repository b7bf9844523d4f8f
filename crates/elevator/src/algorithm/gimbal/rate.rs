//! The rate of Gimbal: tokens for reads and writes from one target rate, split by the cost of
//! writes.
//!
//! Source: the released SPDK 19.10 of Gimbal (confirmed). Departure: a request larger than a bucket
//! needs a full one; the released code meets none.

use super::delay::{Load, Range};
use crate::vocabulary::{Op, Time};

const MIB: i64 = 1 << 20;
const BUCKET: i64 = 256 << 10;
const RATES: [i64; 2] = [50 * MIB, 4096 * MIB];
/// Bytes over which the completion rate is measured.
const MEASURED: i64 = 16 * MIB;
/// When under-used.
const STEEP: i64 = 8;
/// The cost of writes in fixed point, and its bounds.
pub(super) const ONE: u64 = 1024;
const WORST: u64 = 9 * ONE;
const STEP_DOWN: u64 = ONE / 2;
const PERIOD_NS: u64 = 100_000_000;

pub(super) fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Period {
    reads: u64,
    writes: u64,
    write_us: u64,
}

#[derive(Debug)]
pub(super) struct Rate {
    /// Bytes per second.
    pub(super) target: i64,
    pub(super) tokens: [i64; 2],
    /// Fraction of a byte, in bytes × nanoseconds.
    rest: i64,
    refilled: Time,
    /// In bytes.
    completed: i64,
    since: Time,
    measured: Option<i64>,
    pub(super) write_cost: u64,
    period: Period,
    period_end: Time,
}

impl Rate {
    pub(super) fn new() -> Rate {
        Rate {
            target: 1000 * MIB,
            tokens: [BUCKET; 2],
            rest: 0,
            refilled: Time::ZERO,
            completed: 0,
            since: Time::ZERO,
            measured: None,
            write_cost: WORST,
            period: Period::default(),
            period_end: Time::from_ns(PERIOD_NS),
        }
    }

    /// Adds tokens in the proportion write_cost : 1.
    pub(super) fn refill(&mut self, now: Time) {
        // Both buckets are full after this time even at the lowest rate and the worst cost.
        let passed = (now - self.refilled).min(1_000_000_000) as i64;
        self.refilled = now;
        let earned = passed * self.target + self.rest;
        let (bytes, cost) = (earned / 1_000_000_000, self.write_cost as i64);
        self.rest = earned % 1_000_000_000;
        let one = ONE as i64;
        let writes = bytes * one / (cost + one);
        let spilt = self.add(0, bytes - writes);
        let spilt = self.add(1, writes + spilt);
        self.add(0, spilt);
    }

    /// Adds tokens; returns the excess.
    fn add(&mut self, bucket: usize, bytes: i64) -> i64 {
        let tokens = self.tokens[bucket] + bytes;
        self.tokens[bucket] = tokens.min(BUCKET);
        tokens - self.tokens[bucket]
    }

    pub(super) fn take(&mut self, op: Op, bytes: u64) -> bool {
        let (tokens, bytes) = (&mut self.tokens[direction(op)], bytes as i64);
        let enough = *tokens >= bytes.min(BUCKET);
        if enough {
            *tokens -= bytes;
        }
        enough
    }

    pub(super) fn completed(&mut self, now: Time, bytes: u64, load: Load) {
        let bytes = bytes as i64;
        self.completed += bytes;
        if self.completed >= MEASURED {
            let ns = (now - self.since).max(1) as i128;
            self.measured =
                Some((i128::from(self.completed) * 1_000_000_000 / ns).min(i128::from(i64::MAX))
                    as i64);
            (self.completed, self.since) = (0, now);
        }
        let target = match load {
            Load::Overloaded => {
                self.tokens = self.tokens.map(|tokens| tokens.min(0));
                self.measured.map_or(self.target, |measured| measured.min(self.target)) - bytes
            }
            Load::Congested => self.target - bytes,
            Load::Avoidance => self.target + bytes,
            Load::UnderUsed => self.target + STEEP * bytes,
        };
        self.target = target.clamp(RATES[0], RATES[1]);
    }

    pub(super) fn observe(
        &mut self,
        now: Time,
        op: Op,
        latency_us: u64,
        range: Range,
        as_released: bool,
    ) {
        while now >= self.period_end {
            let Period { reads, writes, write_us } = std::mem::take(&mut self.period);
            // The released code divides the number of writes by the same number.
            let mean = if writes == 0 {
                0
            } else if as_released {
                1
            } else {
                write_us / writes
            };
            let slow = reads > 0 && mean > range.min || mean > range.max;
            self.write_cost = if slow {
                u64::midpoint(self.write_cost, WORST)
            } else {
                self.write_cost.saturating_sub(STEP_DOWN).max(ONE)
            };
            let idle = now - self.period_end > 20 * PERIOD_NS;
            if idle {
                (self.write_cost, self.period_end) = (ONE, now);
            }
            self.period_end = self.period_end + PERIOD_NS;
        }
        match op {
            Op::Read => self.period.reads += 1,
            Op::Write => {
                self.period.writes += 1;
                self.period.write_us += latency_us;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { min: 250, max: 1500 };
    const MS: u64 = 1_000_000;

    #[test]
    fn the_rate_follows_the_load_by_the_length_of_what_completed() {
        let mut rate = Rate::new();
        let mut after = |load| {
            let before = rate.target;
            rate.completed(Time::from_ns(1), 4096, load);
            rate.target - before
        };
        assert_eq!(
            [Load::UnderUsed, Load::Avoidance, Load::Congested].map(&mut after),
            [8 * 4096, 4096, -4096]
        );
        rate.completed(Time::from_ns(1), 4096, Load::Overloaded);
        assert_eq!(rate.tokens, [0, 0]);
    }

    #[test]
    fn tokens_are_split_by_the_cost_of_writes_and_spill_over() {
        let mut rate = Rate::new();
        rate.tokens = [0, 0];
        rate.refill(Time::from_ns(10_000));
        assert_eq!(rate.tokens, [10_485 - 1048, 1048], "10 µs at 1000 MiB/s, 9 : 1");
        rate.refill(Time::from_ns(10 * MS));
        assert_eq!(rate.tokens, [BUCKET; 2]);
        assert!(
            rate.take(Op::Write, 512 << 10)
                && !rate.take(Op::Write, 4096)
                && rate.take(Op::Read, 4096)
        );
    }

    #[test]
    fn writes_grow_cheap_while_they_are_fast_and_dear_when_reads_suffer() {
        let costs = |as_released| {
            let mut rate = Rate::new();
            let mut costs = Vec::new();
            for period in 0..20 {
                let now = Time::from_ns((100 * period + 50) * MS);
                rate.observe(now, Op::Read, 100, RANGE, as_released);
                rate.observe(
                    now,
                    Op::Write,
                    if period < 17 { 100 } else { 400 },
                    RANGE,
                    as_released,
                );
                costs.push(rate.write_cost as f64 / ONE as f64);
            }
            costs
        };
        let published = costs(false);
        assert_eq!(
            (published[0], published[1], published[16], published[17]),
            (9.0, 8.5, 1.0, 1.0)
        );
        assert_eq!(published[18..], [5.0, 7.0]);
        assert_eq!(costs(true)[18..], [1.0, 1.0], "as released it only falls");
    }
}
