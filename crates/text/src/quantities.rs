//! Sizes, durations and switches.
//!
//! Sizes are binary (`4k` is 4096 bytes), as sectors and pages are; a bare number is bytes.
//! Durations need a unit, because tools disagree on a bare `10`. Fractions of a byte or nanosecond
//! are rejected, not rounded.

use std::time::Duration;

pub const SIZE_FORM: &str =
    "a size like 512, 4k, 512M, 2G (binary multiples; a bare number is bytes)";
pub const DURATION_FORM: &str = "a duration with its unit, like 50us, 10ms, 2s (or 0)";

/// Parses a size in bytes: `4096`, `4k`, `4KiB`, `512M`, `2G`, `1T`; in either case, always powers
/// of 1024. `None` if invalid or beyond 64 bits.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let number: u64 = number.parse().ok()?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DurationError {
    /// It does not begin with a decimal number.
    NoNumber,
    /// A number other than 0 without a unit.
    NoUnit,
    UnknownUnit(String),
    /// Finer than a nanosecond, or longer than 2^64 - 1 ns (about 584 years).
    OutOfRange,
}

/// Parses a duration: `0`, `100ns`, `50us`, `50µs`, `1.5ms`, `2s`, `1m` or `1min`, `1h`.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let (number, unit) = split(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DurationError::NoNumber);
    }
    let scale: u128 = match unit {
        "" if digits.bytes().all(|byte| byte == b'0') => 1,
        "" => return Err(DurationError::NoUnit),
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        other => return Err(DurationError::UnknownUnit(other.to_string())),
    };
    let exact = || {
        let scaled = digits.parse::<u128>().ok()?.checked_mul(scale)?;
        let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        scaled.is_multiple_of(divisor).then(|| scaled / divisor)
    };
    let ns = exact().and_then(|ns| u64::try_from(ns).ok()).ok_or(DurationError::OutOfRange)?;
    Ok(Duration::from_nanos(ns))
}

/// [`parse_duration`] in nanoseconds, without the error.
pub fn parse_duration_ns(text: &str) -> Option<u64> {
    parse_duration(text).ok().map(|duration| duration.as_nanos() as u64)
}

/// Parses `true`, `yes`, `on`, `1` or `false`, `no`, `off`, `0`.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Formats a size exactly in the largest unit that divides it: `4k`, `512M`, `1000`. Inverse of
/// [`parse_size`].
pub fn format_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "k")] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Formats a duration in ns exactly in the largest unit up to seconds that divides it: `2s`,
/// `1500ms`, `50us`. Inverse of [`parse_duration`].
pub fn format_duration(ns: u64) -> String {
    if ns == 0 {
        return "0".into();
    }
    for (scale, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if ns.is_multiple_of(scale) {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

/// Formats a capacity, rounded, in powers of 1024: `999 B`, `1.5 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    rounded(bytes, &[(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")])
}

/// Formats an amount of transferred data, rounded, in powers of 1000 as in `MB/s`: `999 B`,
/// `536.9 MB`.
pub fn format_bytes_decimal(bytes: u64) -> String {
    rounded(
        bytes,
        &[(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")],
    )
}

/// Formats a time span in its two largest units, truncated: `850 ms`, `42 s`, `3 min 12 s`,
/// `2 h 5 min`, `1 d 1 h`.
pub fn format_span(span: Duration) -> String {
    let s = span.as_secs();
    match (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60) {
        (0, 0, 0, 0) => format!("{} ms", span.as_millis()),
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m} min {s} s"),
        (0, h, m, _) => format!("{h} h {m} min"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

fn rounded(bytes: u64, units: &[(u64, &str)]) -> String {
    match units.iter().find(|(scale, _)| bytes >= *scale) {
        Some((scale, unit)) => format!("{:.1} {unit}", bytes as f64 / *scale as f64),
        None => format!("{bytes} B"),
    }
}

/// The leading decimal number and the rest, trimmed.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_binary_and_a_bare_number_is_bytes() {
        let read = ["512", "4k", "4K", "4KiB", "512M", "2G", "1 T"].map(|t| parse_size(t).unwrap());
        assert_eq!(read, [512, 4096, 4096, 4096, 512 << 20, 2 << 30, 1 << 40]);
    }

    #[test]
    fn a_text_that_is_not_a_size_is_refused() {
        for text in ["", "k", "1.5M", "-1", "4kk", "4 bananas", "99999999999999999999", "16777216T"]
        {
            assert_eq!(parse_size(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_duration_without_its_unit_is_refused_unless_it_is_0() {
        assert_eq!(parse_duration_ns("0"), Some(0));
        assert_eq!(parse_duration_ns("10"), None);
        assert_eq!(parse_duration_ns("10 ms"), Some(10_000_000));
        assert_eq!(parse_duration_ns("50us"), parse_duration_ns("50µs"));
        assert_eq!(parse_duration_ns("1.5min"), Some(90_000_000_000));
        assert_eq!(parse_duration_ns("1h"), parse_duration_ns("60m"));
        assert_eq!(parse_duration_ns("99999999999999min"), None);
    }

    #[test]
    fn a_duration_that_cannot_be_read_names_its_fault() {
        for text in ["", "s", "-1s", "infs", ".", "1.2.3s", "١s"] {
            assert_eq!(parse_duration(text), Err(DurationError::NoNumber), "{text:?}");
        }
        assert_eq!(parse_duration("60"), Err(DurationError::NoUnit));
        assert_eq!(parse_duration("2 weeks"), Err(DurationError::UnknownUnit("weeks".into())));
        assert_eq!(parse_duration("0.5ns"), Err(DurationError::OutOfRange));
        assert_eq!(parse_duration("600000h"), Ok(Duration::from_secs(600_000 * 3600)));
        assert_eq!(parse_duration("6000000h"), Err(DurationError::OutOfRange));
    }

    #[test]
    fn rounded_amounts_and_spans_are_written_for_people() {
        assert_eq!(
            [999, 1536, 3 << 30, 1 << 40].map(format_bytes),
            ["999 B", "1.5 KiB", "3.0 GiB", "1.0 TiB"].map(String::from)
        );
        assert_eq!(
            [999, 536_870_912, 2_500_000_000_000].map(format_bytes_decimal),
            ["999 B", "536.9 MB", "2.5 TB"].map(String::from)
        );
        let spans = [850, 59_000, 600_000, 7_300_000, 90_000_000]
            .map(|ms| format_span(Duration::from_millis(ms)));
        assert_eq!(spans, ["850 ms", "59 s", "10 min 0 s", "2 h 1 min", "1 d 1 h"]);
    }

    proptest! {
        #[test]
        fn an_exact_text_is_read_back(value: u64) {
            prop_assert_eq!(parse_size(&format_size(value)), Some(value));
            prop_assert_eq!(parse_duration_ns(&format_duration(value)), Some(value));
        }

        #[test]
        fn round_values_are_read_back_from_their_short_form(value in 0u64..1 << 20, shift in 0u32..41) {
            prop_assert_eq!(parse_size(&format_size(value << shift)), Some(value << shift));
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text: String) {
            let _ = (parse_size(&text), parse_duration(&text), parse_switch(&text), nearest_of_itself(&text));
        }
    }

    fn nearest_of_itself(text: &str) -> Option<&str> {
        crate::nearest(text, [text])
    }
}
