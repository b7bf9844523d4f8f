//! A simulation's random numbers: ChaCha8 with one named stream per component of a trial.
//!
//! Separate streams keep a change in the device's draws from changing the clients. `workload` uses
//! another key. The sequence, the seed's byte layout and the mapping to ranges are specified here
//! rather than by a library, so old results stay repeatable.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};

/// Random numbers of one component of a trial.
#[derive(Debug)]
pub struct Stream(ChaCha8Rng);

/// Same stream, same position. The library's generators are not `Clone`, to prevent accidental key
/// reuse.
impl Clone for Stream {
    fn clone(&self) -> Stream {
        let (seed, number) = self.origin();
        let mut rng = ChaCha8Rng::from_seed(seed);
        rng.set_stream(number);
        rng.set_word_pos(self.0.get_word_pos());
        Stream(rng)
    }
}

/// The stream for a trial's seed and a component's name; streams of different names are
/// independent.
pub fn stream(seed: u64, name: &str) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(b"schedlab named stream v1");
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(fnv1a(name));
    Stream(rng)
}

impl Stream {
    #[cfg(test)]
    pub(crate) fn new(seed: u64) -> Stream {
        stream(seed, "commands")
    }

    pub(crate) fn origin(&self) -> ([u8; 32], u64) {
        (self.0.get_seed(), self.0.get_stream())
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`, which is not 0: the high half of a 128-bit product.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "there is no number below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws the gaps of Poisson arrivals; the mean is below 2⁵⁸.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        crate::workload::exponential(self.bits(), mean)
    }
}

/// 64-bit FNV-1a.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_pinned_so_that_old_results_stay_repeatable() {
        let mut device = stream(1, "device");
        let seen: Vec<u64> = (0..4).map(|_| device.below(1_000_000)).collect();
        insta::assert_debug_snapshot!(seen);
    }

    #[test]
    fn a_clone_continues_where_the_original_is() {
        for drawn in 0..70 {
            let mut original = stream(1, "device");
            (0..drawn).for_each(|_| _ = original.bits());
            let mut clone = original.clone();
            let rest = |stream: &mut Stream| (0..100).map(|_| stream.bits()).collect::<Vec<u64>>();
            assert_eq!(rest(&mut clone), rest(&mut original), "after {drawn} numbers");
        }
    }

    #[test]
    fn names_and_seeds_give_different_numbers() {
        let draw = |seed, name| stream(seed, name).bits();
        assert_ne!(draw(1, "device"), draw(1, "arrivals"));
        assert_ne!(draw(1, "device"), draw(2, "device"));
    }

    #[test]
    fn exponential_numbers_have_their_mean_and_forget_what_was() {
        let (mut arrivals, n) = (stream(7, "arrivals"), 200_000);
        let drawn: Vec<u64> = (0..n).map(|_| arrivals.exponential(1_000_000)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / f64::from(n);
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        for mult in [1, 2, 3] {
            let beyond =
                drawn.iter().filter(|x| **x > mult * 1_000_000).count() as f64 / f64::from(n);
            assert!(
                (beyond / (-(mult as f64)).exp() - 1.0).abs() < 0.03,
                "{beyond} are longer than {mult} means"
            );
        }
    }
}
