//! Division by a constant with a multiplication.
//!
//! Source: Granlund & Montgomery, PLDI 1994 (recalled; tested against the CPU's division). With m =
//! ⌊(2⁶⁴ − 1) / d⌋ the high half of m · n is ⌊n / d⌋ or one less, for all n and d below 2⁶³; the
//! remainder decides which.

/// A divisor in 1..2⁶³.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    by: u64,
    reciprocal: u64,
}

impl Divisor {
    pub(super) fn new(by: u64) -> Divisor {
        assert!(by < 1 << 63, "twice the divisor fits 64 bits: {by}");
        Divisor { by, reciprocal: u64::MAX / by }
    }

    /// Returns quotient and remainder of `n`.
    #[inline]
    pub(super) fn split(self, n: u64) -> (u64, u64) {
        let quotient = ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u64;
        let remainder = n - quotient * self.by;
        if remainder >= self.by {
            (quotient + 1, remainder - self.by)
        } else {
            (quotient, remainder)
        }
    }

    #[inline]
    pub(super) fn remainder(self, n: u64) -> u64 {
        self.split(n).1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quotients_and_remainders_are_the_cpus(n: u64, by in 1u64..1 << 63, shift in 0u32..63) {
            let by = (by >> shift).max(1);
            let of = Divisor::new(by);
            for n in [n, n >> 16, n >> 32, n >> 48, 0, by, by - 1, by.saturating_mul(7), u64::from(u32::MAX), u64::MAX] {
                prop_assert_eq!(of.split(n), (n / by, n % by), "{} / {}", n, by);
                // Next to a multiple, where a rounded reciprocal would fail first.
                for n in [n / by * by, (n / by * by).saturating_sub(1)] {
                    prop_assert_eq!(of.split(n), (n / by, n % by), "{} / {}", n, by);
                }
                prop_assert_eq!(of.remainder(n), n % by);
            }
        }
    }
}
