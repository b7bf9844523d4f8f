//! Think times between requests. Every distribution has the mean think_time; integer arithmetic
//! makes them equal on every platform.

use crate::workload::rng::{Rng, exponential};

/// Maximum mean: an hour, so that any think time fits into 64 bits.
const MAX_MEAN_NS: u64 = 3_600_000_000_000;
/// A separate stream, so that changing the distribution leaves offsets unchanged.
const THINK_STREAM: u64 = 1 << 32;

/// Distribution of think times around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkDist {
    /// Always the mean.
    Fixed,
    /// Uniform from 0 to twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
    /// Half the mean in 90 % of cases, otherwise 5.5 times the mean.
    Bimodal,
}

impl ThinkDist {
    /// Every distribution.
    pub const ALL: [ThinkDist; 4] =
        [ThinkDist::Fixed, ThinkDist::Uniform, ThinkDist::Exponential, ThinkDist::Bimodal];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ThinkDist::Fixed => "fixed",
            ThinkDist::Uniform => "uniform",
            ThinkDist::Exponential => "exponential",
            ThinkDist::Bimodal => "bimodal",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Think {
    dist: ThinkDist,
    mean_ns: u64,
    /// `None` if nothing is drawn.
    rng: Option<Box<Rng>>,
}

impl Think {
    pub(crate) fn fixed(mean_ns: u64) -> Think {
        Think { dist: ThinkDist::Fixed, mean_ns, rng: None }
    }

    pub(crate) fn of_client(dist: ThinkDist, mean_ns: u64, seed: u64, index: u32) -> Think {
        Think::drawn(dist, mean_ns, Rng::new(seed, THINK_STREAM + u64::from(index)))
    }

    fn drawn(dist: ThinkDist, mean_ns: u64, rng: Rng) -> Think {
        Think { dist, mean_ns, rng: Some(Box::new(rng)) }
    }

    #[inline]
    pub(crate) fn happens(&self) -> bool {
        self.mean_ns > 0
    }

    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        let mean = self.mean_ns;
        let Some(rng) = &mut self.rng else { return mean };
        match self.dist {
            ThinkDist::Fixed => mean,
            ThinkDist::Uniform => rng.below(2 * mean + 1),
            ThinkDist::Exponential => exponential(rng.below(u64::MAX), mean),
            ThinkDist::Bimodal if rng.below(10) == 0 => mean * 11 / 2,
            ThinkDist::Bimodal => mean / 2,
        }
    }
}

pub(crate) fn mean_is_possible(mean_ns: u64) -> Result<(), String> {
    if mean_ns > MAX_MEAN_NS {
        return Err("think_time: too long (expected at most 3600s)".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_think_time_is_the_one_asked_for_within_one_percent() {
        for dist in ThinkDist::ALL {
            for mean in [1_000, 1_000_001, MAX_MEAN_NS] {
                let mut think = Think::drawn(dist, mean, Rng::new(7, THINK_STREAM));
                let n = 200_000u128;
                let sum: u128 = (0..n).map(|_| u128::from(think.draw())).sum();
                let error = (sum as f64 / (n * u128::from(mean)) as f64 - 1.0).abs();
                assert!(error < 0.01, "{dist:?} with mean {mean}: off by {error}");
            }
        }
    }

    #[test]
    fn each_distribution_has_its_own_spread() {
        let mean = 1_000_000u64;
        // Squared coefficient of variation: 0, 1/3, 1, 0.9·0.25 + 0.1·20.25 = 2.25.
        for (dist, wanted) in ThinkDist::ALL.into_iter().zip([0.0, 1.0 / 3.0, 1.0, 2.25]) {
            let mut think = Think::drawn(dist, mean, Rng::new(3, THINK_STREAM));
            let n = 200_000;
            let spread: f64 =
                (0..n).map(|_| (think.draw() as f64 / mean as f64 - 1.0).powi(2)).sum::<f64>()
                    / f64::from(n);
            assert!((spread - wanted).abs() < 0.05, "{dist:?}: {spread} instead of {wanted}");
        }
    }

    #[test]
    fn exponential_think_times_are_pinned_so_that_old_plans_stay_repeatable() {
        let mut think = Think::drawn(ThinkDist::Exponential, 1_000_000, Rng::new(1, THINK_STREAM));
        let seen: Vec<u64> = (0..4).map(|_| think.draw()).collect();
        insta::assert_debug_snapshot!(seen);
    }
}
