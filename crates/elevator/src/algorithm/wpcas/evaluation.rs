//! STE, the service time evaluation of WPCAS: whether anticipation shortens the expected time.
//!
//! Source: equations 7 to 12 of the WPCAS paper; confirmed, with corrections: equation 11 has p_f
//! twice, and equation 13 divides by a possibly negative value, which inverts its test. The gain is
//! therefore a product, Δ = p_s·(seek^s − seek^a − T_as) − p_f·P (derived), × the common
//! denominator of p_s and p_f, as only its sign matters and integers are exact. Rotation and
//! transfer cancel.
//!
//! p_s = (s + 1)/(s + f + 2) for s successes and f failures (proposed): no division by zero, no
//! certainty without data.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// Ended by a request of the process.
    pub successes: u64,
    /// Ended by time.
    pub failures: u64,
    pub success_ns: u64,
    pub failure_ns: u64,
}

impl Waits {
    /// Counts a success; at `halving` waits all counts are halved (0: never).
    pub fn succeeded(&mut self, ns: u64, halving: u64) {
        self.successes += 1;
        self.success_ns += ns;
        self.halve(halving);
    }

    pub fn failed(&mut self, ns: u64, halving: u64) {
        self.failures += 1;
        self.failure_ns += ns;
        self.halve(halving);
    }

    /// T_as.
    pub fn mean_success_ns(&self) -> Option<u64> {
        self.success_ns.checked_div(self.successes)
    }

    /// Recent waits weigh more.
    fn halve(&mut self, halving: u64) {
        if halving > 0 && self.successes + self.failures >= halving {
            for of in [
                &mut self.successes,
                &mut self.failures,
                &mut self.success_ns,
                &mut self.failure_ns,
            ] {
                *of /= 2;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Seek to the queued request.
    pub seek_s: u64,
    /// Seek to the anticipated one.
    pub seek_a: u64,
    pub t_as: u64,
    pub p: u64,
}

impl Times {
    /// Δ·(n_s + n_f) for p_s = n_s/(n_s + n_f); positive if waiting is expected to save time.
    pub fn gain(&self, n_s: u64, n_f: u64) -> i128 {
        let [seek_s, seek_a, t_as, p] =
            [self.seek_s, self.seek_a, self.t_as, self.p].map(i128::from);
        i128::from(n_s) * (seek_s - seek_a - t_as) - i128::from(n_f) * p
    }

    pub fn pays(&self, waits: &Waits) -> bool {
        self.gain(waits.successes + 1, waits.failures + 1) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::anticipatory::testing::hp97560;

    const MS: u64 = 1_000_000;

    fn times(d_s: u64, d_a: u64, p_ms: u64) -> Times {
        let seek = hp97560().seek;
        Times { seek_s: seek.seek_ns(d_s), seek_a: seek.seek_ns(d_a), t_as: 400_000, p: p_ms * MS }
    }

    /// Δ in microseconds for p_s in thousandths.
    fn delta_us(times: Times, p_s: u64) -> i128 {
        times.gain(p_s, 1000 - p_s).div_euclid(1000 * 1000)
    }

    #[test]
    fn the_worked_values_come_out() {
        assert_eq!(delta_us(times(1, 0, 6), 980), 3055);
        assert_eq!(delta_us(times(654, 1, 6), 980), 8888);
        assert_eq!(delta_us(times(16, 654, 6), 500), -7396);
    }

    #[test]
    fn the_negative_denominator_of_equation_13_does_not_turn_the_test_round() {
        let trap = Times { seek_s: 4 * MS, seek_a: 6 * MS, t_as: 400_000, p: 6 * MS };
        assert_eq!(delta_us(trap, 500), -4200);
        assert!(!trap.pays(&Waits { successes: 49, failures: 49, ..Waits::default() }));
    }

    #[test]
    fn break_even_is_where_it_was_computed() {
        for (d_s, slow, fast) in [(1, 649, 236), (10, 594, 196), (100, 467, 128), (654, 319, 72)] {
            for (p_ms, p_s) in [(6, slow), (1, fast)] {
                let times = times(d_s, 0, p_ms);
                // Rounded thousandths: one more or less decides.
                assert!(times.gain(p_s - 1, 1001 - p_s) < 0, "{d_s} cylinders, P = {p_ms}, below");
                assert!(times.gain(p_s + 1, 999 - p_s) > 0, "{d_s} cylinders, P = {p_ms}, above");
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let worst = Times { seek_s: 0, seek_a: u64::MAX / 4, t_as: u64::MAX / 4, p: u64::MAX / 4 };
        assert!(worst.gain(u64::MAX / 4, u64::MAX / 4) < 0);
    }

    #[test]
    fn counts_are_halved_together() {
        let mut waits = Waits::default();
        (0..6).for_each(|_| waits.succeeded(10, 8));
        waits.failed(100, 8);
        assert_eq!(waits.successes + waits.failures, 7);
        waits.failed(100, 8);
        assert_eq!(waits, Waits { successes: 3, failures: 1, success_ns: 30, failure_ns: 100 });
        assert_eq!(waits.mean_success_ns(), Some(10));
        assert_eq!(Waits::default().mean_success_ns(), None);
    }
}
