//! The kernel's tick: what legacy schedulers measure time with.
//!
//! Linux 2.6 counted time in jiffies of 1/HZ second, several defaults are integer fractions of HZ, and timers fire on ticks.
//! The same scheduler therefore behaves differently on two kernels that differ in HZ only.

use crate::vocabulary::Time;

const SECOND_NS: u64 = 1_000_000_000;

/// A clock of HZ ticks a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    hz: u32,
}

impl Clock {
    /// A clock of `hz` ticks a second; 2.6.20 could be built with 100, 250 (its default), 300 and 1000.
    pub fn new(hz: u32) -> Clock {
        assert!((1..=1_000_000).contains(&hz), "a kernel ticks 1 to 1,000,000 times a second, not {hz}");
        Clock { hz }
    }

    /// Ticks a second.
    pub fn hz(self) -> u64 {
        u64::from(self.hz)
    }

    /// Whole ticks until `now`.
    pub fn jiffies(self, now: Time) -> u64 {
        // Half a year at HZ 1000 fits into 64 bits, which divide ten times as fast.
        match now.as_ns().checked_mul(self.hz()) {
            Some(product) => product / SECOND_NS,
            None => (u128::from(now.as_ns()) * u128::from(self.hz) / u128::from(SECOND_NS)) as u64,
        }
    }

    /// The moment of a tick: the first nanosecond at which [`Clock::jiffies`] gives it.
    pub fn at(self, jiffies: u64) -> Time {
        if let Some(product) = jiffies.checked_mul(SECOND_NS) {
            return Time::from_ns(product.div_ceil(self.hz()));
        }
        let ns = (u128::from(jiffies) * u128::from(SECOND_NS)).div_ceil(u128::from(self.hz));
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// A number of ticks in milliseconds, rounded down, as sysfs shows it.
    pub fn to_ms(self, jiffies: u64) -> u64 {
        jiffies * 1000 / self.hz()
    }

    /// Milliseconds in ticks, rounded up, as sysfs stores it.
    pub fn from_ms(self, ms: u64) -> u64 {
        (ms * self.hz()).div_ceil(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_begins_at_its_first_nanosecond_at_every_hz() {
        for hz in [100, 250, 300, 1000] {
            let clock = Clock::new(hz);
            for tick in [1, 2, 3, 299, 300, 1_000_003] {
                let at = clock.at(tick);
                assert_eq!(clock.jiffies(at), tick);
                assert_eq!(clock.jiffies(Time::from_ns(at.as_ns() - 1)), tick - 1);
            }
        }
    }

    #[test]
    fn ticks_beyond_64_bits_of_products_are_as_exact() {
        for hz in [100, 250, 300, 1000, 1_000_000] {
            let clock = Clock::new(hz);
            let last = clock.jiffies(Time::from_ns(u64::MAX));
            assert_eq!(u128::from(last), u128::from(u64::MAX) * u128::from(hz) / 1_000_000_000);
            for tick in [last, last - 1, last / 2, last / 1000] {
                assert_eq!(clock.jiffies(clock.at(tick)), tick, "HZ {hz}");
            }
            assert_eq!(clock.at(u64::MAX), Time::from_ns(u64::MAX), "as late as can be");
        }
    }

    #[test]
    fn milliseconds_and_ticks() {
        let (slow, fast) = (Clock::new(250), Clock::new(1000));
        assert_eq!((slow.to_ms(31), fast.to_ms(125)), (124, 125));
        assert_eq!((slow.from_ms(6), slow.from_ms(4), fast.from_ms(6)), (2, 1, 6));
    }
}
