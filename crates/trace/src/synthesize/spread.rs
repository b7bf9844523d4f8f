//! Which of four distributions think times resemble most.

use serde::Serialize;

use crate::profile::Distribution;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Always the mean.
    Fixed,
    /// Uniform from 0 to twice the mean.
    Uniform,
    Exponential,
    /// 90 % half the mean, otherwise 5.5 times the mean.
    Bimodal,
}

impl Spread {
    const ALL: [Spread; 4] = [Spread::Fixed, Spread::Uniform, Spread::Exponential, Spread::Bimodal];

    pub fn name(self) -> &'static str {
        match self {
            Spread::Fixed => "fixed",
            Spread::Uniform => "uniform",
            Spread::Exponential => "exponential",
            Spread::Bimodal => "bimodal",
        }
    }

    /// The quantile as a multiple of the mean.
    fn quantile(self, share: f64) -> f64 {
        match self {
            Spread::Fixed => 1.0,
            Spread::Uniform => 2.0 * share,
            Spread::Exponential => -(1.0 - share).ln(),
            Spread::Bimodal if share > 0.9 => 5.5,
            Spread::Bimodal => 0.5,
        }
    }

    /// The closest by mean distance between quantiles; fixed without values.
    pub fn nearest(to: &Distribution) -> Spread {
        let sum: f64 = to.buckets.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        let mean = sum / to.count.max(1) as f64;
        if mean <= 0.0 {
            return Spread::Fixed;
        }
        let distance = |spread: Spread| {
            let mut below = 0;
            let parts = to.buckets.iter().map(|(value, count)| {
                let share = (below as f64 + *count as f64 / 2.0) / to.count as f64;
                below += count;
                (*value as f64 / mean - spread.quantile(share)).abs() * *count as f64
            });
            parts.sum::<f64>()
        };
        let mut nearest = (Spread::Fixed, f64::INFINITY);
        for spread in Spread::ALL {
            let far = distance(spread);
            if far < nearest.1 {
                nearest = (spread, far);
            }
        }
        nearest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_is_nearest_to_itself() {
        for spread in Spread::ALL {
            let mut buckets: Vec<(u64, u64)> = Vec::new();
            for step in 0..1000 {
                let value = (spread.quantile((f64::from(step) + 0.5) / 1000.0) * 1e6) as u64;
                match buckets.last_mut() {
                    Some((last, count)) if *last == value => *count += 1,
                    _ => buckets.push((value, 1)),
                }
            }
            let drawn = Distribution { count: 1000, buckets, ..Distribution::default() };
            assert_eq!(Spread::nearest(&drawn), spread);
        }
        assert_eq!(Spread::nearest(&Distribution::default()), Spread::Fixed);
    }
}
