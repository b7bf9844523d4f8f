//! Number formatting, shared by all renderers so that the same number is never printed differently.
//!
//! ASCII except for units, `×`, `≤`, `≥` and `∞`, so that text can be pasted anywhere. Changes
//! follow `experiment::notation`.

use experiment::analysis::Comparison;
use experiment::metric::unit_of;
use experiment::notation::Change;
use text::grouped;

/// Three significant digits, integers in full: `1,234`, `12.3`, `0.0457`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "-".into()
        } else {
            format!("{}∞", if value < 0.0 { "-" } else { "" })
        };
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s => (2 - s.log10().floor() as i32).max(0) as usize,
    };
    grouped(&format!("{value:.decimals$}"))
}

pub fn fixed(value: f64, decimals: usize) -> String {
    grouped(&format!("{value:.decimals$}"))
}

pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Decimal units, as drives are sold: `960 GB`.
pub fn bytes(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let (size, unit) = units.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1.0, "B"));
    format!("{} {unit}", significant(bytes / size))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    divisor: f64,
    /// Empty if unknown.
    pub unit: String,
}

impl Scale {
    /// One unit for all values of a metric, so that a column can be compared at a glance: µs, ms or
    /// s according to the smallest value, unless the largest would become unreadable.
    pub fn of(metric_name: &str, values: impl IntoIterator<Item = f64>) -> Scale {
        let unit = unit_of(metric_name);
        let Some(base_us) = time_in_us(&unit) else { return Scale { divisor: 1.0, unit } };
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for value in values.into_iter().filter(|v| v.is_finite() && *v > 0.0) {
            least = least.min(value * base_us);
            most = most.max(value * base_us);
        }
        if most == 0.0 {
            return Scale { divisor: 1.0, unit };
        }
        let steps = [(1.0, "µs"), (1e3, "ms"), (1e6, "s")];
        let fits = |&(size, _): &(f64, &str)| least >= size || most / size >= 1e6;
        let (size, name) = steps.into_iter().rev().find(fits).unwrap_or(steps[0]);
        Scale { divisor: size / base_us, unit: name.into() }
    }

    pub fn scaled(&self, value: f64) -> f64 {
        value / self.divisor
    }

    pub fn bare(&self, value: f64) -> String {
        significant(self.scaled(value))
    }

    pub fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.bare(value), self.unit).trim_end().to_string()
    }
}

pub fn latency_ns(ns: f64) -> String {
    let (size, unit) = match ns {
        v if v >= 999.5e6 => (1e9, "s"),
        v if v >= 999.5e3 => (1e6, "ms"),
        v if v >= 999.5 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{} {unit}", significant(ns / size))
}

fn time_in_us(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-3),
        "µs" => Some(1.0),
        "ms" => Some(1e3),
        "s" => Some(1e6),
        _ => None,
    }
}

/// `None` without evidence.
pub fn estimate(comparison: &Comparison) -> Option<String> {
    // With one open end a flow starved, and the estimate is a bound.
    let bound = match (comparison.low, comparison.high) {
        (None, Some(_)) => "≤ ",
        (Some(_), None) => "≥ ",
        _ => "",
    };
    Some(format!("{bound}{}", of(comparison)?.estimate()))
}

pub fn interval(comparison: &Comparison) -> String {
    match of(comparison).filter(|_| has_interval(comparison)) {
        Some(change) => change.interval(),
        None => "no interval".into(),
    }
}

/// `+12 % [+8, +17]`.
pub fn effect(comparison: &Comparison) -> String {
    match estimate(comparison) {
        Some(estimate) => format!("{estimate} {}", interval(comparison)),
        None => "no evidence".into(),
    }
}

pub fn has_interval(comparison: &Comparison) -> bool {
    comparison.low.is_some() || comparison.high.is_some()
}

fn of(comparison: &Comparison) -> Option<Change> {
    let &Comparison { low, high, .. } = comparison;
    Some(Change { ratio: comparison.ratio?, low, high })
}

pub use text::percent;

/// `850 ms`, `42.0 s`, `3 min 12 s`, `2 h 05 min`.
pub fn span_ms(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", significant(ms as f64 / 1e3)),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// `2026-11-21 19:58 UTC` from milliseconds since 1970.
pub fn utc(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    // In 400-year eras whose years begin on 1 March, so that a leap day is a year's last.
    let days = minutes / 1440 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn values_keep_three_significant_digits_and_separate_thousands() {
        for (value, text) in [
            (0.0, "0"),
            (1_234_567.8, "1,234,568"),
            (999.96, "1,000"),
            (99.96, "100"),
            (12.345, "12.3"),
            (9.996, "10.0"),
            (1.0, "1.00"),
            (0.04567, "0.0457"),
            (-1234.0, "-1,234"),
            (1e20, "1.00e20"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn times_of_one_column_share_a_unit_that_suits_the_smallest() {
        let scale = Scale::of("latency_p99_us", [950.0, 1020.0]);
        assert_eq!(scale.with_unit(1020.0), "1,020 µs");
        let scale = Scale::of("latency_p99_us", [1500.0, 98_000.0]);
        assert_eq!(
            (scale.with_unit(1500.0), scale.with_unit(98_000.0)),
            ("1.50 ms".into(), "98.0 ms".into())
        );
        assert_eq!(Scale::of("wait_ms", [5_000.0]).with_unit(5_000.0), "5.00 s");
        assert_eq!(Scale::of("latency_p99_us", []).unit, "µs");
        assert_eq!(Scale::of("throughput_mb_per_s", [1.0]).with_unit(532.14), "532 MB/s");
        assert_eq!(Scale::of("points", [1.0]).with_unit(5.0), "5.00");
    }

    #[test]
    fn an_estimate_with_one_open_end_is_a_bound() {
        let mut comparison = fixture::comparison("a");
        (comparison.ratio, comparison.low, comparison.high) =
            (Some(1.123), Some(1.091), Some(1.157));
        assert_eq!(effect(&comparison), "+12 % [+9, +16]");
        (comparison.low, comparison.high) = (None, None);
        assert_eq!(effect(&comparison), "+12.3 % no interval");
        comparison.low = Some(0.9);
        assert_eq!(effect(&comparison), "≥ +12 % [-10, +∞]");
        (comparison.ratio, comparison.low, comparison.high) = (Some(0.01), None, Some(0.012));
        assert_eq!(effect(&comparison), "≤ 0.010× [0, 0.012]");
        comparison.ratio = None;
        assert_eq!(effect(&comparison), "no evidence");
    }

    #[test]
    fn spans_and_dates_are_words() {
        assert_eq!(
            [850, 42_000, 192_000, 7_500_000].map(span_ms),
            ["850 ms", "42.0 s", "3 min 12 s", "2 h 05 min"].map(String::from)
        );
        assert_eq!(utc(1_795_291_080_000), "2026-11-21 19:58 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!([percent(0.95), percent(0.9833)], ["95 %", "98.3 %"].map(String::from));
        assert_eq!(latency_ns(1_234_000.0), "1.23 ms");
    }
}
