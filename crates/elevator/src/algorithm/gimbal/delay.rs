//! The delay control of Gimbal: a mean latency compared with a moving threshold determines the
//! change of the target rate.
//!
//! Source: the released SPDK 19.10 of Gimbal (confirmed). The mean is rounded half up, as in the
//! specification's vector.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Above the maximum latency.
    Overloaded,
    /// Above the threshold.
    Congested,
    /// Above the minimum latency: the threshold falls.
    Avoidance,
    UnderUsed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// In µs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) mean: u64,
    pub(super) threshold: u64,
    /// Remainder of the falling threshold, in sixteenths.
    pub(super) rest: u64,
}

impl Delay {
    pub(super) fn new(range: Range) -> Delay {
        Delay { mean: 0, threshold: range.max, rest: 0 }
    }

    pub(super) fn completed(&mut self, latency_us: u64, range: Range) -> Load {
        self.mean = (self.mean + latency_us).div_ceil(2);
        if self.mean > self.threshold || self.mean > range.max {
            self.threshold = (self.threshold + range.max) / 2;
            return if self.mean > range.max { Load::Overloaded } else { Load::Congested };
        }
        self.rest += self.threshold - self.mean;
        self.threshold -= self.rest / 16;
        self.rest %= 16;
        if self.mean > range.min { Load::Avoidance } else { Load::UnderUsed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { min: 250, max: 1500 };

    #[test]
    fn the_threshold_comes_down_to_a_constant_latency() {
        let mut delay = Delay::new(RANGE);
        let seen: Vec<(u64, u64, Load)> = (0..5)
            .map(|_| {
                let load = delay.completed(400, RANGE);
                (delay.mean, delay.threshold, load)
            })
            .collect();
        let expected = [
            (200, 1419, Load::UnderUsed),
            (300, 1349, Load::Avoidance),
            (350, 1287, Load::Avoidance),
            (375, 1230, Load::Avoidance),
            (388, 1177, Load::Avoidance),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn congestion_raises_the_threshold_half_way_to_the_largest() {
        let mut delay = Delay { mean: 1000, threshold: 900, rest: 0 };
        assert_eq!((delay.completed(1000, RANGE), delay.threshold), (Load::Congested, 1200));
        assert_eq!(delay.completed(1200, RANGE), Load::Avoidance);
        assert_eq!((delay.mean, delay.threshold, delay.rest), (1100, 1194, 4));
        assert_eq!(delay.completed(9000, RANGE), Load::Overloaded);
    }
}
