//! The order of the variants inside each round.
//!
//! Random, because drift (heat, caches, a neighbour's backup) would otherwise always affect the
//! same variant; a pure function of (seed, workload, round), so that a resumed experiment continues
//! in the same order. The shuffle is spelled out because `rand`'s may change between versions.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};

/// A uniform Fisher-Yates shuffle of the undecided `variants` in round `round` (from 0).
pub fn order<'a>(seed: u64, workload: &str, round: u32, variants: &[&'a str]) -> Vec<&'a str> {
    let mut rng = generator(seed, workload, round, b"order of arm");
    let mut shuffled = variants.to_vec();
    for i in (1..shuffled.len()).rev() {
        let j = below(&mut rng, i + 1);
        shuffled.swap(i, j);
    }
    shuffled
}

/// Depends on the position rather than the variant, so that no variant gets easier offsets, and
/// none repeats the offsets that filled a cache.
pub fn trial_seed(seed: u64, workload: &str, round: u32, position: u32) -> u64 {
    let mut rng = generator(seed, workload, round, b"seeds of tri");
    (0..=position).map(|_| rng.next_u64()).last().expect("there is at least one position")
}

fn generator(seed: u64, workload: &str, round: u32, purpose: &[u8; 12]) -> ChaCha12Rng {
    let mut key = [0_u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&fnv1a(workload.as_bytes()).to_le_bytes());
    key[16..20].copy_from_slice(&round.to_le_bytes());
    key[20..].copy_from_slice(purpose);
    ChaCha12Rng::from_seed(key)
}

/// Hashes with 64-bit FNV-1a; std's hasher may change between Rust versions.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Draws uniformly below `n` > 0, by rejection.
pub(crate) fn below(rng: &mut ChaCha12Rng, n: usize) -> usize {
    let n = n as u64;
    let whole = u64::MAX - u64::MAX % n;
    loop {
        let drawn = rng.next_u64();
        if drawn < whole {
            return (drawn % n) as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    use super::*;

    #[test]
    fn each_place_has_a_seed_of_its_own_that_a_resumed_experiment_finds_again() {
        let mut seeds = Vec::new();
        for round in 0..50 {
            seeds.extend((0..4).map(|position| trial_seed(7, "oltp", round, position)));
        }
        assert_eq!(seeds[5], trial_seed(7, "oltp", 1, 1));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 200, "no two trials share their offsets");
    }

    const VARIANTS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

    /// Returns the p-value of the chi-square test for equal frequencies.
    fn p_uniform(counts: &[usize], cells: usize) -> f64 {
        let expected = counts.iter().sum::<usize>() as f64 / cells as f64;
        let missing = (cells - counts.len()) as f64 * expected;
        let chi: f64 =
            counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum::<f64>() + missing;
        1.0 - ChiSquared::new(cells as f64 - 1.0).unwrap().cdf(chi)
    }

    #[test]
    fn all_24_orders_of_four_variants_are_equally_likely_over_rounds_over_seeds_and_over_workloads()
    {
        let families: [fn(u32) -> Vec<&'static str>; 3] = [
            |i| order(7, "oltp", i, &VARIANTS),
            |i| order(u64::from(i), "oltp", 0, &VARIANTS),
            |i| order(7, &format!("w{i}"), 0, &VARIANTS),
        ];
        for family in families {
            let mut counts = BTreeMap::new();
            for i in 0..24_000 {
                *counts.entry(family(i)).or_insert(0_usize) += 1;
            }
            let p = p_uniform(&counts.into_values().collect::<Vec<_>>(), 24);
            assert!(p > 1e-4, "the orders are not uniform: p = {p}");
        }
    }

    #[test]
    fn the_next_round_does_not_depend_on_the_last_one() {
        let mut counts = BTreeMap::new();
        for round in 0..16_000 {
            let pair =
                (order(3, "dss", round, &VARIANTS)[0], order(3, "dss", round + 1, &VARIANTS)[0]);
            *counts.entry(pair).or_insert(0_usize) += 1;
        }
        let p = p_uniform(&counts.into_values().collect::<Vec<_>>(), 16);
        assert!(p > 1e-4, "first variants of neighbouring rounds depend on each other: p = {p}");
    }

    #[test]
    fn an_order_never_changes_between_versions() {
        assert_eq!(order(1, "oltp", 0, &VARIANTS), PINNED_0);
        assert_eq!(order(1, "oltp", 1, &VARIANTS), PINNED_1);
    }

    const PINNED_0: [&str; 4] = ["bfq", "none", "kyber", "mq-deadline"];
    const PINNED_1: [&str; 4] = ["kyber", "none", "mq-deadline", "bfq"];

    proptest! {
        #[test]
        fn an_order_is_a_permutation_and_the_same_every_time(seed: u64, round: u32, n in 0_usize..12) {
            let names: Vec<String> = (0..n).map(|i| format!("variant{i}")).collect();
            let variants: Vec<&str> = names.iter().map(String::as_str).collect();
            let first = order(seed, "w", round, &variants);
            prop_assert_eq!(&first, &order(seed, "w", round, &variants));
            let mut sorted = first.clone();
            sorted.sort_unstable();
            let mut all = variants.clone();
            all.sort_unstable();
            prop_assert_eq!(sorted, all);
        }
    }
}
