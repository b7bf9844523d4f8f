//! A ratio to a baseline with its interval, in one notation everywhere: `+12 % [+8, +17]` below a
//! factor of two, `6.2× [6.1, 6.3]` and `0.15× [0.03, 0.87]` from there on.
//!
//! The estimate decides between percent and factor, and the ends of the interval follow it, so that
//! no interval has both. Estimate and ends have the same decimals, as many as the interval's width
//! warrants: digits that the evidence does not carry only look like knowledge.

use std::fmt;

use text::grouped;

/// Beyond this many decimals, or this size, a number is written with an exponent.
const MAX_DECIMALS: i32 = 5;
const MAX_GROUPED: f64 = 1e15;

/// A ratio to a baseline; an end of its interval that is not known is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The estimate.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Change {
    /// An estimate without an interval.
    pub fn alone(ratio: f64) -> Change {
        Change { ratio, low: None, high: None }
    }

    /// `+12 %` or `6.2×`.
    pub fn estimate(&self) -> String {
        let unit = if is_factor(self.ratio) { "×" } else { " %" };
        self.write(self.ratio) + unit
    }

    /// `[+8, +17]` or `[6.1, 6.3]`; an open end is what a ratio cannot pass: 0 or infinity.
    pub fn interval(&self) -> String {
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(f64::INFINITY));
        format!("[{}, {}]", self.write(low), self.write(high))
    }

    /// An end in the notation of the estimate.
    fn write(&self, ratio: f64) -> String {
        let factor = is_factor(self.ratio);
        let value = if factor { ratio.max(0.0) } else { (ratio.max(0.0) - 1.0) * 100.0 };
        let sign = if factor || value <= 0.0 { "" } else { "+" };
        if !ratio.is_finite() {
            return if ratio.is_nan() { "-".into() } else { format!("{sign}∞") };
        }
        // An open or impossible end is exact.
        let decimals = if ratio <= 0.0 { 0 } else { self.decimals() };
        if decimals > MAX_DECIMALS || value >= MAX_GROUPED {
            return format!("{sign}{value:.1e}");
        }
        let text = grouped(&format!("{value:.0$}", decimals as usize));
        // Rounded to nothing, it has no sign.
        match text.trim_start_matches('-') {
            digits if digits.chars().all(|c| c == '0' || c == '.') => digits.into(),
            _ => sign.to_owned() + &text,
        }
    }

    fn decimals(&self) -> i32 {
        // One open end: the other is as far from the estimate as the open one can be trusted to be.
        let width = match (self.low, self.high) {
            (Some(low), Some(high)) => Some(high - low),
            (Some(end), None) | (None, Some(end)) => Some((self.ratio - end).abs() * 2.0),
            (None, None) => None,
        };
        if !is_factor(self.ratio) {
            return match width.map(|width| width * 100.0) {
                None => 1,
                Some(width) if width < 0.5 => 2,
                Some(width) if width < 5.0 => 1,
                Some(_) => 0,
            };
        }
        // Two digits of the estimate, and one more where the ends would not differ without.
        let two_digits = (1 - self.ratio.max(1e-99).log10().floor() as i32).max(0);
        let apart =
            width.map_or(0, |width| -(width.max(1e-99) / 2.0 * 1.001).log10().floor() as i32);
        apart.clamp(two_digits, (two_digits + 1).min(MAX_DECIMALS.max(two_digits)))
    }
}

/// Estimate and interval.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (None, None) => f.write_str(&self.estimate()),
            _ => write!(f, "{} {}", self.estimate(), self.interval()),
        }
    }
}

/// A ratio alone as a change: `+12.3 %`, `3.8×`.
pub fn change(ratio: f64) -> String {
    Change::alone(ratio).estimate()
}

/// Two ratios as the ends of a range, in one notation: `-3 to +12 %`, `0.40 to 3.1×`.
pub fn range(low: f64, high: f64) -> String {
    let between = Change { ratio: (low * high).sqrt(), low: Some(low), high: Some(high) };
    let unit = if is_factor(between.ratio) { "×" } else { " %" };
    format!("{} to {}{unit}", between.write(low), between.write(high))
}

/// Twice as much, or half: from here on a factor says more than a percentage.
fn is_factor(ratio: f64) -> bool {
    ratio >= 2.0 || ratio <= 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(ratio: f64, low: f64, high: f64) -> String {
        Change { ratio, low: Some(low), high: Some(high) }.to_string()
    }

    #[test]
    fn changes_read_as_the_style_guide_has_them() {
        for (ratio, low, high, text) in [
            (1.12, 1.08, 1.17, "+12 % [+8, +17]"),
            (6.2, 6.1, 6.3, "6.2× [6.1, 6.3]"),
            (0.15, 0.03, 0.87, "0.15× [0.03, 0.87]"),
            (0.902, 0.896, 0.909, "-9.8 % [-10.4, -9.1]"),
            (1.0, 0.9999, 1.0001, "0.00 % [-0.01, +0.01]"),
            (9.5, 9.5, 9.5, "9.50× [9.50, 9.50]"),
            (11.6, 11.4, 11.8, "11.6× [11.4, 11.8]"),
            (1.6, 0.8, 3.1, "+60 % [-20, +210]"),
            (83.6, 56.7, 123.2, "84× [57, 123]"),
            (1234.0, 900.0, 1500.0, "1,234× [900, 1,500]"),
        ] {
            assert_eq!(written(ratio, low, high), text);
        }
    }

    #[test]
    fn an_open_end_is_the_bound_of_any_ratio() {
        let open = |ratio, low, high| Change { ratio, low, high }.to_string();
        assert_eq!(open(1.123, Some(0.9), None), "+12 % [-10, +∞]");
        assert_eq!(open(0.9, None, Some(1.2)), "-10 % [-100, +20]");
        assert_eq!(open(0.01, None, Some(0.012)), "0.010× [0, 0.012]");
        assert_eq!(open(3.0, Some(2.5), None), "3.0× [2.5, ∞]");
        assert_eq!(open(3.0, None, None), "3.0×");
    }

    #[test]
    fn changes_and_ranges_have_one_notation() {
        assert_eq!(
            [1.1234, 0.995, 1.0, 1.999, 107.0, 2.0, 0.05, 0.5, 0.0].map(change),
            ["+12.3 %", "-0.5 %", "0.0 %", "+99.9 %", "107×", "2.0×", "0.050×", "0.50×", "0×"]
        );
        assert_eq!(
            [change(f64::INFINITY), change(f64::NAN), change(1e-7)],
            ["∞×", "- %", "1.0e-7×"]
        );
        assert_eq!(range(0.97, 1.12), "-3 to +12 %");
        assert_eq!(range(1.2, 9.0), "1.2 to 9.0×");
    }

    /// The ratios that the ends of an interval stand for.
    fn read(interval: &str, factor: bool) -> Vec<f64> {
        let inside = interval.trim_start_matches('[').trim_end_matches(']');
        let value = |text: &str| match text.trim_start_matches('+') {
            "∞" => f64::INFINITY,
            text => text.replace(',', "").parse::<f64>().expect("a number"),
        };
        let ratio = |text| if factor { value(text) } else { value(text) / 100.0 + 1.0 };
        inside.split(", ").map(ratio).collect()
    }

    proptest! {
        /// Never a percentage and a factor in one interval; the unit stands once, with the
        /// estimate; a percentage has its sign and a factor none; nothing is off by more than its
        /// last digit.
        #[test]
        fn a_change_is_in_percent_or_a_factor_throughout(
            log in -12.0f64..12.0,
            below in prop::option::of(0.0f64..3.0),
            above in prop::option::of(0.0f64..3.0),
        ) {
            let ratio = log.exp();
            let low = below.map(|below| ratio * (-below).exp());
            let high = above.map(|above| ratio * above.exp());
            let change = Change { ratio, low, high };
            let (estimate, interval) = (change.estimate(), change.interval());
            let factor = estimate.ends_with('×');
            prop_assert_eq!(factor, !(0.5..2.0).contains(&ratio) || ratio == 0.5, "{}", &estimate);
            prop_assert_eq!(estimate.ends_with(" %"), !factor);
            prop_assert!(!interval.contains(['%', '×', '÷']), "{}", &interval);
            let inside = interval.trim_start_matches('[').trim_end_matches(']');
            for end in inside.split(", ") {
                let signed = end.starts_with(['+', '-']);
                let nothing = end.chars().all(|c| c == '0' || c == '.');
                prop_assert!(if factor { !signed } else { signed || nothing }, "{}", &interval);
            }
            let read = read(&interval, factor);
            prop_assert!(read[0] <= read[1], "{}", &interval);
            for (end, read) in [(low, read[0]), (high, read[1])] {
                let decimals = change.decimals();
                let digit = if factor { 10f64.powi(-decimals) } else { 10f64.powi(-decimals - 2) };
                let exponent = decimals > MAX_DECIMALS;
                let off = |end: f64| if exponent { end * 0.05 } else { digit / 2.0 };
                let near = |end: f64| (read - end).abs() <= off(end) * 1.001 + 1e-12;
                prop_assert!(end.is_none_or(near), "{:?} as {}", end, &interval);
            }
            // Ends that differ by a digit or more differ in print.
            if let (Some(low), Some(high)) = (low, high) {
                prop_assert!(read[0] < read[1] || high - low < 0.01 * ratio.max(1.0) , "{}", &interval);
            }
        }
    }
}
