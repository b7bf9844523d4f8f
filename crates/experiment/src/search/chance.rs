//! Seeded random choices, equal on every machine and in every version.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// The generator of one decision, from the search's seed, the purpose, and the number of earlier
/// decisions.
pub(crate) fn generator(seed: u64, purpose: &[u8; 8], count: u64) -> ChaCha12Rng {
    let mut key = [0_u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(purpose);
    key[16..24].copy_from_slice(&count.to_le_bytes());
    ChaCha12Rng::from_seed(key)
}

/// Draws uniformly from 0..1.
pub(crate) fn share(rng: &mut ChaCha12Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_decision_has_chance_of_its_own_that_a_resumed_search_finds_again() {
        let drawn = |seed, purpose, count| generator(seed, purpose, count).next_u64();
        assert_eq!(drawn(1, b"proposal", 5), drawn(1, b"proposal", 5));
        let others = [
            drawn(1, b"proposal", 5),
            drawn(1, b"proposal", 6),
            drawn(2, b"proposal", 5),
            drawn(1, b"anything", 5),
        ];
        assert!((1..4).all(|i| !others[..i].contains(&others[i])), "{others:?}");
    }

    #[test]
    fn shares_stay_in_their_range() {
        let mut rng = generator(3, b"proposal", 0);
        assert!((1..200).all(|_| (0.0..1.0).contains(&share(&mut rng))));
    }
}
