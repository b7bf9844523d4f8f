//! Division by a number that does not change, without a division.
//!
//! Source: Lemire, Kaser & Kurz, Software: Practice and Experience 49(6), 2019 (recalled; the test below holds it against the
//! CPU's division). With m = ⌈2⁶⁴ / d⌉ the high half of m · n is ⌊n / d⌋ for all n and d below 2³². Larger numbers are
//! divided as usual.

/// A divisor, which is not 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    by: u64,
    /// ⌈2⁶⁴ / by⌉; 0 where it does not fit or would not be exact.
    reciprocal: u64,
}

impl Divisor {
    pub(super) fn new(by: u64) -> Divisor {
        let fits = (2..1 << 32).contains(&by);
        Divisor { by, reciprocal: if fits { u64::MAX / by + 1 } else { 0 } }
    }

    /// The whole part of `n` divided by it.
    #[inline]
    pub(super) fn divide(self, n: u64) -> u64 {
        if n >> 32 == 0 && self.reciprocal != 0 {
            ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u64
        } else {
            n / self.by
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quotients_are_the_cpus(n: u64, by in 1u64.., shift in 0u32..64) {
            let by = (by >> shift).max(1);
            for n in [n, n >> 16, n >> 32, n >> 48, 0, by, by - 1, by.saturating_mul(7), u64::from(u32::MAX)] {
                prop_assert_eq!(Divisor::new(by).divide(n), n / by, "{} / {}", n, by);
                // Next to a multiple, where a rounded reciprocal would show first.
                let multiple = n / by * by;
                prop_assert_eq!(Divisor::new(by).divide(multiple), multiple / by);
                prop_assert_eq!(Divisor::new(by).divide(multiple.saturating_sub(1)), multiple.saturating_sub(1) / by);
            }
        }
    }
}
