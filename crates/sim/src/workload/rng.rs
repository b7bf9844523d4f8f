//! A client's random numbers: ChaCha8, one stream per client.
//!
//! Plans must stay repeatable for years. ChaCha8 is specified outside any library; the seed's byte
//! layout and the mapping to ranges are defined here, because random number libraries change theirs
//! between versions. A number takes two nanoseconds.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};

#[derive(Debug)]
pub(crate) struct Rng(ChaCha8Rng);

/// Same stream, same position. The library omits `Clone` to prevent key reuse; these keys are not
/// secret.
impl Clone for Rng {
    fn clone(&self) -> Rng {
        let mut rng = ChaCha8Rng::from_seed(self.0.get_seed());
        rng.set_stream(self.0.get_stream());
        rng.set_word_pos(self.0.get_word_pos());
        Rng(rng)
    }
}

impl Rng {
    pub(crate) fn new(seed: u64, stream: u64) -> Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(b"schedlab client steps v1");
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Rng(rng)
    }

    /// The high half of a 128-bit product; `bound` is not 0. For disk-sized bounds the bias is
    /// below 2⁻²⁰, and no rejection loop makes a step's time vary.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Shuffles by Fisher-Yates.
    pub(crate) fn shuffle(&mut self, items: &mut [u32]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

const FRACTION_BITS: u32 = 32;

/// Draws −ln u · mean in integers, rounded down; the mean is below 2⁵⁸.
pub fn exponential(bits: u64, mean: u64) -> u64 {
    let times = negative_ln(bits.saturating_add(1));
    ((times * u128::from(mean)) >> FRACTION_BITS) as u64
}

/// −ln u with [`FRACTION_BITS`]; u is not 0. The highest bit is the integer part of log₂; squaring
/// the rest yields one further bit at a time.
fn negative_ln(u: u64) -> u128 {
    /// ln 2 as a fraction of 2⁶⁴.
    const LN_2: u128 = 0xB172_17F7_D1CF_79AB;
    let shift = u.leading_zeros();
    let mut mantissa = u << shift;
    let mut log2 = u64::from(63 - shift);
    for _ in 0..FRACTION_BITS {
        let square = u128::from(mantissa) * u128::from(mantissa);
        let carry = (square >> 127) as u64;
        mantissa = (square >> (63 + carry)) as u64;
        log2 = log2 << 1 | carry;
    }
    let below = (64 << FRACTION_BITS) - log2;
    (u128::from(below) * LN_2) >> 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_agrees_with_the_one_of_the_library() {
        for u in [1, 2, 3, 1 << 31, u64::MAX / 3, 1 << 63, u64::MAX - 1, u64::MAX] {
            let ours = negative_ln(u) as f64 / f64::from(FRACTION_BITS).exp2();
            let theirs = 64.0 * std::f64::consts::LN_2 - (u as f64).ln();
            assert!((ours - theirs).abs() < 1e-8, "{u}: {ours} and {theirs}");
        }
    }

    #[test]
    fn the_longest_and_the_shortest_times_fit() {
        assert_eq!([exponential(u64::MAX, 1 << 57), exponential(u64::MAX - 1, 1 << 57)], [0, 0]);
        let longest = exponential(0, 1 << 57) as f64 / 57f64.exp2();
        assert!((longest - 64.0 * std::f64::consts::LN_2).abs() < 1e-8, "{longest}");
    }

    #[test]
    fn the_sequence_is_pinned_so_that_old_plans_stay_repeatable() {
        let mut rng = Rng::new(1, 0);
        let seen: Vec<u64> = (0..4).map(|_| rng.below(1_000_000)).collect();
        insta::assert_debug_snapshot!(seen);
    }

    #[test]
    fn a_clone_continues_where_the_original_is() {
        for drawn in 0..70 {
            let mut rng = Rng::new(1, 5);
            (0..drawn).for_each(|_| _ = rng.below(u64::MAX));
            let mut clone = rng.clone();
            let rest = |rng: &mut Rng| (0..100).map(|_| rng.below(u64::MAX)).collect::<Vec<u64>>();
            assert_eq!(rest(&mut clone), rest(&mut rng), "after {drawn} numbers");
        }
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let draw = |seed, stream| Rng::new(seed, stream).below(u64::MAX);
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }
}
