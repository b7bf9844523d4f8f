//! Time in the anticipatory family: remembered ticks, and waits in ticks or finer.

use crate::clock::Clock;
use crate::vocabulary::Time;

/// Remembers the current tick: a comparison is cheaper than a division.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticker {
    clock: Clock,
    tick: u64,
    from: Time,
    until: Time,
}

impl Ticker {
    pub(crate) fn new(clock: Clock) -> Ticker {
        Ticker { clock, tick: 0, from: clock.tick_start(0), until: clock.tick_start(1) }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn jiffies(&mut self, now: Time) -> u64 {
        if now < self.from || now >= self.until {
            self.tick = self.clock.jiffies(now);
            (self.from, self.until) =
                (self.clock.tick_start(self.tick), self.clock.tick_start(self.tick + 1));
        }
        self.tick
    }
}

/// A time in nanoseconds and jiffies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moment {
    pub(crate) time: Time,
    pub(crate) jiffies: u64,
}

/// The length of a wait, from the process's last completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    /// Until this many ticks have passed.
    Ticks(u64),
    /// With a timer that fires at multiples of `grain_ns`.
    Exact { ns: u64, grain_ns: u64 },
}

impl Period {
    /// `ns` in ticks, rounded up, at least one, as a kernel timer does.
    pub(crate) fn ticks_of(clock: Clock, ns: u64) -> Period {
        Period::Ticks(ticks(clock, ns).max(1))
    }

    pub(crate) fn ends(self, clock: Clock, from: Moment) -> Time {
        match self {
            Period::Ticks(ticks) => clock.tick_start(from.jiffies + ticks),
            Period::Exact { ns, grain_ns } => {
                Time::from_ns((from.time + ns).as_ns().div_ceil(grain_ns.max(1)) * grain_ns.max(1))
            }
        }
    }

    pub(crate) fn is_over(self, from: Moment, now: Moment) -> bool {
        match self {
            Period::Ticks(ticks) => now.jiffies - from.jiffies >= ticks,
            Period::Exact { ns, .. } => now.time - from.time >= ns,
        }
    }

    /// Rounded up.
    pub(crate) fn in_ticks(self, clock: Clock) -> u64 {
        match self {
            Period::Ticks(ticks) => ticks,
            Period::Exact { ns, .. } => ticks(clock, ns),
        }
    }
}

fn ticks(clock: Clock, ns: u64) -> u64 {
    match ns.checked_mul(clock.hz()) {
        Some(product) => product.div_ceil(1_000_000_000),
        None => (u128::from(ns) * u128::from(clock.hz())).div_ceil(1_000_000_000) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_tick_is_the_clocks() {
        let clock = Clock::new(300);
        let mut ticker = Ticker::new(clock);
        for ns in [0, 1, 3_333_333, 3_333_334, 6_666_666, 6_666_667, 900_000_000, 3_000_000, 0] {
            assert_eq!(
                ticker.jiffies(Time::from_ns(ns)),
                clock.jiffies(Time::from_ns(ns)),
                "{ns} ns"
            );
        }
    }

    #[test]
    fn a_wait_in_ticks_that_starts_between_two_is_up_to_one_tick_short() {
        let clock = Clock::new(1000);
        let from = Moment { time: Time::from_ns(2_700_000), jiffies: 2 };
        let six = Period::ticks_of(clock, 5_000_001);
        assert_eq!((six, six.in_ticks(clock)), (Period::Ticks(6), 6));
        assert_eq!(six.ends(clock, from), Time::from_ns(8_000_000));
        let at = |ns: u64| Moment { time: Time::from_ns(ns), jiffies: ns / 1_000_000 };
        assert_eq!([7_999_999, 8_000_000].map(|ns| six.is_over(from, at(ns))), [false, true]);
    }

    #[test]
    fn an_exact_wait_ends_on_its_own_grain() {
        let clock = Clock::new(100);
        let from = Moment { time: Time::from_ns(2_700_000), jiffies: 0 };
        let period = Period::Exact { ns: 1_000_000, grain_ns: 500_000 };
        assert_eq!(period.ends(clock, from), Time::from_ns(4_000_000));
        assert!(!period.is_over(from, Moment { time: Time::from_ns(3_699_999), jiffies: 0 }));
        assert!(period.is_over(from, Moment { time: Time::from_ns(3_700_000), jiffies: 0 }));
        assert_eq!(period.in_ticks(clock), 1);
    }
}
