//! The kernel's tick, in which legacy schedulers count time.
//!
//! Linux 2.6 counted jiffies of 1/HZ second. Several defaults are integer fractions of HZ, and
//! timers fire on ticks, so the same scheduler behaves differently on kernels that differ only in
//! HZ.

use crate::vocabulary::Time;

const SECOND_NS: u128 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    hz: u32,
    /// Nanoseconds per tick; 0 if not an integer.
    tick_ns: u64,
}

impl Clock {
    /// Linux 2.6.20 could be built with 100, 250 (its default), 300 or 1000.
    pub fn new(hz: u32) -> Clock {
        assert!(
            (1..=1_000_000).contains(&hz),
            "a kernel ticks 1 to 1,000,000 times a second, not {hz}"
        );
        let second_ns = SECOND_NS as u64;
        Clock {
            hz,
            tick_ns: if second_ns.is_multiple_of(hz.into()) {
                second_ns / u64::from(hz)
            } else {
                0
            },
        }
    }

    pub fn hz(self) -> u64 {
        u64::from(self.hz)
    }

    pub fn jiffies(self, now: Time) -> u64 {
        match now.as_ns().checked_mul(self.hz()) {
            // Called at every step: a constant division in 64 bits is ten times as fast.
            Some(product) => product / SECOND_NS as u64,
            None => (u128::from(now.as_ns()) * u128::from(self.hz) / SECOND_NS) as u64,
        }
    }

    /// The first nanosecond at which [`Clock::jiffies`] returns this tick.
    pub fn tick_start(self, jiffies: u64) -> Time {
        // A multiplication is ten times as fast as a division.
        if self.tick_ns > 0 {
            return Time::from_ns(jiffies.saturating_mul(self.tick_ns));
        }
        let ns = match jiffies.checked_mul(SECOND_NS as u64) {
            Some(product) => product.div_ceil(self.hz()),
            None => {
                let ns = (u128::from(jiffies) * SECOND_NS).div_ceil(u128::from(self.hz));
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        Time::from_ns(ns)
    }

    /// Rounded down, as sysfs shows it.
    pub fn to_ms(self, jiffies: u64) -> u64 {
        jiffies * 1000 / self.hz()
    }

    /// Rounded up, as sysfs stores it.
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
            for tick in [0, 1, 2, 3, 299, 300, 1_000_003] {
                assert_eq!(
                    u128::from(clock.tick_start(tick).as_ns()),
                    (u128::from(tick) * SECOND_NS).div_ceil(hz.into())
                );
                let at = clock.tick_start(tick);
                assert_eq!(clock.jiffies(at), tick);
                if tick > 0 {
                    assert_eq!(clock.jiffies(Time::from_ns(at.as_ns() - 1)), tick - 1);
                }
            }
        }
    }

    #[test]
    fn ticks_are_right_to_the_end_of_time() {
        // The first tick whose product exceeds 64 bits, and the largest tick.
        let clock = Clock::new(1000);
        for ns in [u64::MAX / 1000, u64::MAX / 1000 + 1, u64::MAX] {
            assert_eq!(clock.jiffies(Time::from_ns(ns)), ns / 1_000_000);
        }
        assert_eq!([300, 1000].map(|hz| Clock::new(hz).tick_start(u64::MAX)), [Time::MAX; 2]);
    }

    #[test]
    fn milliseconds_and_ticks() {
        let (slow, fast) = (Clock::new(250), Clock::new(1000));
        assert_eq!((slow.to_ms(31), fast.to_ms(125)), (124, 125));
        assert_eq!((slow.from_ms(6), slow.from_ms(4), fast.from_ms(6)), (2, 1, 6));
    }
}
