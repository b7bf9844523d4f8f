//! The random numbers of a client: ChaCha8, one stream for each client.
//!
//! The sequence must stay the same for years, or old plans stop being repeatable. ChaCha8 is specified outside of any library;
//! the seed is laid out here byte by byte and numbers are mapped to ranges here too, because the convenience methods of random
//! number libraries change their mapping between versions. Speed is no reason against it: two nanoseconds a number.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Random numbers of one client of one trial.
#[derive(Debug, Clone)]
pub(crate) struct Rng(ChaCha8Rng);

impl Rng {
    /// The numbers that belong to `seed` and `stream`; different streams of one seed are independent.
    pub(crate) fn new(seed: u64, stream: u64) -> Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(b"schedlab client steps v1");
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Rng(rng)
    }

    /// A number below `bound`, which is not 0. The high half of a 128-bit product: for bounds of disk size the shares of two
    /// numbers differ by less than 2⁻²⁰, and no loop makes the time of a step depend on luck.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Shuffles in place (Fisher and Yates).
    pub(crate) fn shuffle(&mut self, items: &mut [u32]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_pinned_so_that_old_plans_stay_repeatable() {
        let mut rng = Rng::new(1, 0);
        let seen: Vec<u64> = (0..4).map(|_| rng.below(1_000_000)).collect();
        insta::assert_debug_snapshot!(seen);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let draw = |seed, stream| Rng::new(seed, stream).below(u64::MAX);
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }
}
