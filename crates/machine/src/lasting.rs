//! The duration of a temporary setting.
//!
//! Stored as `CLOCK_BOOTTIME`: setting the time of day must not extend it, and suspend counts. That
//! clock restarts at each boot, but so do the settings.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasting {
    /// `CLOCK_BOOTTIME` in milliseconds.
    pub begun_ms: u64,
    /// `CLOCK_BOOTTIME` in milliseconds.
    pub until_ms: u64,
}

impl Lasting {
    /// Starts now.
    pub fn of(duration: Duration) -> Lasting {
        let begun_ms = now_ms();
        Lasting { begun_ms, until_ms: begun_ms.saturating_add(millis(duration)) }
    }

    /// Zero when it is over.
    pub fn left(&self) -> Duration {
        Duration::from_millis(self.until_ms.saturating_sub(now_ms()))
    }

    /// Time of day.
    pub fn begun(&self) -> SystemTime {
        SystemTime::now() - Duration::from_millis(now_ms().saturating_sub(self.begun_ms))
    }

    /// Time of day, unless the clock is set or the machine is suspended.
    pub fn until(&self) -> SystemTime {
        SystemTime::now() + self.left()
    }
}

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "until {} UTC, another {}", clock(self.until()), words(self.left()))
    }
}

fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    millis(Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0)))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Time of day.
fn clock(at: SystemTime) -> String {
    let s = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) % 86_400;
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

/// The two largest units.
fn words(left: Duration) -> String {
    let s = left.as_secs();
    match (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m} min {s} s"),
        (0, h, m, _) => format!("{h} h {m} min"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_shrinks_to_nothing_and_not_below() {
        let lasting = Lasting::of(Duration::from_secs(600));
        assert!(lasting.left() <= Duration::from_secs(600) && lasting.until() > SystemTime::now());
        let over = Lasting { begun_ms: 0, until_ms: 1 };
        assert_eq!(over.left(), Duration::ZERO);
    }

    #[test]
    fn times_are_told_in_units_that_one_can_read() {
        let s = Duration::from_secs;
        assert_eq!(
            [words(s(59)), words(s(600)), words(s(7300)), words(s(90_000))],
            ["59 s", "10 min 0 s", "2 h 1 min", "1 d 1 h"]
        );
        assert_eq!(clock(UNIX_EPOCH + s(86_400 + 3_661)), "01:01:01");
    }
}
