//! Kinds of trial noise, in logarithms, that the guarantees must survive. Noise common to a round
//! cancels in the ratio; drift between trials does not, but the shuffled order spreads it over the
//! variants.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// A kind of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Normal values; their logarithms are nearly normal.
    Normal,
    /// 15 times the spread of the others: skewed, like latencies.
    LogNormal,
    /// Student's t of 3 degrees of freedom: rare stalls.
    HeavyTailed,
    /// A linear drift of either sign and a random walk over the trials.
    Drifting,
    /// Each trial keeps 0.8 of the previous deviation.
    Autocorrelated,
}

/// All kinds.
pub const KINDS: [Noise; 5] =
    [Noise::Normal, Noise::LogNormal, Noise::HeavyTailed, Noise::Drifting, Noise::Autocorrelated];

impl Noise {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Noise::Normal => "normal",
            Noise::LogNormal => "log-normal",
            Noise::HeavyTailed => "heavy-tailed (t, 3 df)",
            Noise::Drifting => "drifting",
            Noise::Autocorrelated => "autocorrelated (0.8)",
        }
    }
}

pub(super) struct Source {
    kind: Noise,
    sd: f64,
    rng: ChaCha8Rng,
    student: StudentT<f64>,
    slope: f64,
    level: f64,
}

impl Source {
    /// `round_sd` is the SD of the log ratio of two independent trials, without drift.
    pub(super) fn new(kind: Noise, round_sd: f64, seed: u64) -> Source {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let sd = round_sd / std::f64::consts::SQRT_2;
        let student = StudentT::new(3.0).expect("3 degrees of freedom are a distribution");
        let direction: f64 = StandardNormal.sample(&mut rng);
        Source { kind, sd, rng, student, slope: 0.25 * sd * direction.signum(), level: 0.0 }
    }

    /// Returns the generator for choices that are not noise.
    pub(super) fn rng(&mut self) -> &mut ChaCha8Rng {
        &mut self.rng
    }

    pub(super) fn next(&mut self) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.rng);
        match self.kind {
            Noise::Normal => (self.sd * normal).max(-0.99).ln_1p(),
            Noise::LogNormal => 15.0 * self.sd * normal,
            // The variance of t with 3 degrees of freedom is 3.
            Noise::HeavyTailed => self.sd / 3.0_f64.sqrt() * self.student.sample(&mut self.rng),
            Noise::Drifting => {
                let step: f64 = StandardNormal.sample(&mut self.rng);
                self.level += self.slope + 0.5 * self.sd * step;
                self.level + self.sd * normal
            }
            Noise::Autocorrelated => {
                // 0.6 keeps the total variance at sd²: 0.8² + 0.6² = 1.
                self.level = 0.8 * self.level + 0.6 * self.sd * normal;
                self.level
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_kinds_have_the_deviation_that_was_asked_for() {
        for (kind, factor) in
            [(Noise::Normal, 1.0), (Noise::LogNormal, 15.0), (Noise::Autocorrelated, 1.0)]
        {
            let mut source = Source::new(kind, 0.02, 4);
            let values: Vec<f64> = (0..100_000).map(|_| source.next()).collect();
            let sd = crate::stats::Moments::of(&values).sd * std::f64::consts::SQRT_2;
            assert!((sd / (0.02 * factor) - 1.0).abs() < 0.03, "{}: {sd}", kind.name());
        }
    }
}
