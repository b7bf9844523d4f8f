//! The decaying mean of anticipatory, cfq and bfq: fixed point with 256 = 1.0; each sample leaves
//! 7/8 of the previous value.
//!
//! Source: Linux 2.6.20 block/as-iosched.c, cfq-iosched.c; confirmed. Integer rounding stops the
//! weight at 249 instead of 256; derived.

/// Think times add half a unit, seek distances half the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// (total + 128) / samples
    ThinkTime,
    /// (total + samples / 2) / samples
    SeekDistance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecayingMean {
    /// Converges towards 256, the weight of an undecayed sample.
    pub(crate) samples: u64,
    pub(crate) total: u64,
    /// 0 without samples.
    pub(crate) mean: u64,
    rounding: Rounding,
}

impl DecayingMean {
    pub(crate) fn new(rounding: Rounding) -> DecayingMean {
        DecayingMean { samples: 0, total: 0, mean: 0, rounding }
    }

    pub(crate) fn add(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
        let half = match self.rounding {
            Rounding::ThinkTime => 128,
            Rounding::SeekDistance => self.samples / 2,
        };
        self.mean = (self.total + half) / self.samples;
    }

    /// `sample_valid` of cfq and bfq.
    pub(crate) fn is_valid(&self) -> bool {
        self.samples > 80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_samples_follows_the_kernels_integers() {
        let mut mean = DecayingMean::new(Rounding::ThinkTime);
        let mut seen = Vec::new();
        for _ in 0..100 {
            mean.add(0);
            seen.push(mean.samples);
        }
        assert_eq!(seen[..12], [32, 60, 84, 105, 123, 139, 153, 165, 176, 186, 194, 201]);
        assert_eq!(seen[99], 249);
    }

    #[test]
    fn four_capped_think_times_after_a_long_history_exceed_six() {
        let mut mean = DecayingMean::new(Rounding::ThinkTime);
        (0..100).for_each(|_| mean.add(0));
        let means: Vec<u64> = (0..6)
            .map(|_| {
                mean.add(19);
                mean.mean
            })
            .collect();
        assert_eq!(means, [2, 5, 6, 8, 10, 11]);
    }
}
