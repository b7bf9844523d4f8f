//! A watch's window of local time and its days.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::Time;
use serde::{Deserialize, Serialize};

const DAY_S: i64 = 86_400;

/// A window of local time; 23:00-02:00 crosses midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Window {
    /// Minutes after midnight.
    from: i64,
    /// Minutes after midnight.
    to: i64,
}

impl Window {
    /// Time until it closes; None if it is closed.
    pub fn left(&self, now: Time) -> Option<Duration> {
        let second =
            i64::from(now.hour()) * 3600 + i64::from(now.minute()) * 60 + i64::from(now.second());
        let since = (second - self.from * 60).rem_euclid(DAY_S);
        let length = (self.to - self.from).rem_euclid(24 * 60) * 60;
        (since < length).then(|| Duration::from_secs((length - since).unsigned_abs()))
    }

    pub fn length(&self) -> Duration {
        Duration::from_secs((self.to - self.from).rem_euclid(24 * 60).unsigned_abs() * 60)
    }

    /// Opening time in systemd syntax.
    pub fn opens(&self) -> String {
        clock(self.from)
    }
}

fn clock(minutes: i64) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", clock(self.from), clock(self.to))
    }
}

impl From<Window> for String {
    fn from(window: Window) -> String {
        window.to_string()
    }
}

impl TryFrom<String> for Window {
    type Error = String;

    fn try_from(text: String) -> Result<Window, String> {
        text.parse()
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let refused = || {
            format!(
                "{text:?} is not a time window; write two different times, e.g. 02:00-05:00 or 23:00-02:00"
            )
        };
        let minutes = |part: &str| -> Option<i64> {
            let time = Time::strptime("%H:%M", part.trim()).ok()?;
            Some(i64::from(time.hour()) * 60 + i64::from(time.minute()))
        };
        let (from, to) = text.split_once('-').ok_or_else(refused)?;
        let (from, to) = (minutes(from).ok_or_else(refused)?, minutes(to).ok_or_else(refused)?);
        if from == to { Err(refused()) } else { Ok(Window { from, to }) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Days(usize);

/// Names and their systemd equivalents.
const DAYS: [(&str, &str); 10] = [
    ("daily", "*-*-*"),
    ("weekly", "Sun *-*-*"),
    ("monthly", "*-*-01"),
    ("Mon", "Mon *-*-*"),
    ("Tue", "Tue *-*-*"),
    ("Wed", "Wed *-*-*"),
    ("Thu", "Thu *-*-*"),
    ("Fri", "Fri *-*-*"),
    ("Sat", "Sat *-*-*"),
    ("Sun", "Sun *-*-*"),
];

impl Days {
    /// A systemd calendar event.
    pub fn calendar(&self, window: &Window) -> String {
        format!("{} {}:00", DAYS[self.0].1, window.opens())
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DAYS[self.0].0)
    }
}

impl From<Days> for String {
    fn from(days: Days) -> String {
        days.to_string()
    }
}

impl TryFrom<String> for Days {
    type Error = String;

    fn try_from(text: String) -> Result<Days, String> {
        text.parse()
    }
}

impl FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Days, String> {
        let row = DAYS.iter().position(|(word, _)| word.eq_ignore_ascii_case(text));
        row.map(Days).ok_or_else(|| {
            let words: Vec<&str> = DAYS.iter().map(|(word, _)| *word).collect();
            format!("{text:?} is not a schedule; write one of: {}", words.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::time;

    #[test]
    fn a_window_knows_how_long_it_stays_open_also_over_midnight() {
        let night: Window = "02:00-05:00".parse().unwrap();
        assert_eq!(night.left(time(2, 0, 0, 0)), Some(Duration::from_secs(3 * 3600)));
        assert_eq!(night.left(time(4, 59, 59, 0)), Some(Duration::from_secs(1)));
        assert_eq!((night.left(time(5, 0, 0, 0)), night.left(time(1, 59, 59, 0))), (None, None));
        let late: Window = "23:30-01:00".parse().unwrap();
        assert_eq!(late.left(time(0, 30, 0, 0)), Some(Duration::from_secs(1800)));
        assert_eq!(late.left(time(23, 30, 0, 0)), Some(late.length()));
        assert_eq!(late.left(time(12, 0, 0, 0)), None);
    }

    #[test]
    fn what_is_no_window_or_no_day_is_refused_with_an_example() {
        for text in ["", "2-5", "02:00", "02:00-02:00", "25:00-26:00", "02:00-05:00-06:00"] {
            assert!(text.parse::<Window>().unwrap_err().contains("02:00-05:00"), "{text}");
        }
        assert!("fortnightly".parse::<Days>().unwrap_err().contains("weekly"));
    }

    #[test]
    fn days_and_hours_are_a_calendar_event() {
        let window: Window = "02:30-05:00".parse().unwrap();
        let event = |days: &str| days.parse::<Days>().unwrap().calendar(&window);
        assert_eq!(event("daily"), "*-*-* 02:30:00");
        assert_eq!(event("sun"), "Sun *-*-* 02:30:00");
        assert_eq!(event("monthly"), "*-*-01 02:30:00");
    }
}
