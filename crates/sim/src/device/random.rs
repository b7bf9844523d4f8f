//! The random numbers of a device: ChaCha8 on a stream of its own, mapped by integer arithmetic only, so that a seed means the
//! same on every machine and in every year (as the clients' numbers in crate workload).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Random numbers of the device of one trial.
#[derive(Debug, Clone)]
pub(super) struct Rng(ChaCha8Rng);

/// ln 2 in units of 2⁻⁴⁰.
const LN_2: u128 = 762_123_384_786;

impl Rng {
    /// The numbers that belong to `seed`.
    pub(super) fn new(seed: u64) -> Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(b"schedlab device draws v1");
        Rng(ChaCha8Rng::from_seed(key))
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from the exponential distribution with this mean (below 2³⁶): −ln u · mean.
    pub(super) fn exponential(&mut self, mean: u64) -> u64 {
        let u = u128::from(self.0.next_u64()) + 1;
        let minus_log2 = (64 << 40) - log2(u);
        ((minus_log2 * LN_2 * u128::from(mean)) >> 80) as u64
    }
}

/// The logarithm to base 2 of a number up to 2⁶⁴, in units of 2⁻⁴⁰: bit by bit, by squaring.
fn log2(number: u128) -> u128 {
    let whole = u128::from(number.ilog2());
    let mut rest = number << (64 - whole) >> 1;
    let mut log = whole;
    for _ in 0..40 {
        // `rest` is 1 to 2 in units of 2⁻⁶³.
        rest = (rest * rest) >> 63;
        let bit = rest >> 64;
        rest >>= bit;
        log = log << 1 | bit;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_agrees_with_the_usual_one() {
        for number in [1_u128, 2, 3, 10, 1 << 40, (1 << 63) + 12345, 1 << 64] {
            let ours = log2(number) as f64 / (1_u64 << 40) as f64;
            assert!((ours - (number as f64).log2()).abs() < 1e-9, "{number}: {ours}");
        }
    }

    #[test]
    fn the_exponential_has_its_mean_and_its_variance() {
        let mut rng = Rng::new(7);
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| rng.exponential(1_000_000) as f64 / 1e6).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(n);
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.01 && (square - 2.0).abs() < 0.05, "mean {mean}, mean square {square}");
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let draw = |seed| Rng::new(seed).below(1 << 60);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
