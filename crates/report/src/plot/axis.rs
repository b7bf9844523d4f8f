//! Axes and their ticks.
//!
//! A position is what plotters maps linearly to pixels: the value, its logarithm, or the logarithm
//! of a ratio. One kind of chart therefore serves all axes.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::number;

#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) range: Range<f64>,
    /// Position and label.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Whether positions are log10 of values.
    pub(crate) log: bool,
    /// Whether ticks are variant names, none of which may be omitted.
    pub(crate) names: bool,
}

/// Exceeds real measurements; arithmetic on smaller values cannot overflow.
const ABSURD: f64 = 1e60;

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, pixels: (i32, i32)) -> i32 {
        let share = (position - self.range.start) / (self.range.end - self.range.start);
        // Far positions must still fit an `i32`.
        pixels.0 + (share.clamp(-8.0, 8.0) * f64::from(pixels.1 - pixels.0)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.iter().map(|(at, _)| *at).collect()
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(position: &f64) -> String {
        plain(*position)
    }

    fn format_ext(&self, position: &f64) -> String {
        self.label(*position)
    }
}

impl Axis {
    /// Logarithmic above a factor of 20; starts at 0 if that wastes little room.
    pub(crate) fn of_values(values: impl IntoIterator<Item = f64>) -> Option<Axis> {
        let (low, high) = extent(values)?;
        if low > 0.0 && high / low > 20.0 {
            return Some(Axis::log10(low, high, plain));
        }
        let pad = if high > low { (high - low) * 0.08 } else { (high.abs() * 0.05).max(1e-9) };
        let from = if low >= 0.0 && low < 0.35 * high { 0.0 } else { low - pad };
        let range = from..high + pad;
        Some(Axis {
            ticks: linear_ticks(range.start, range.end, 6),
            range,
            log: false,
            names: false,
        })
    }

    /// `None` if the ends are not finite or are out of order.
    pub(crate) fn linear(low: f64, high: f64) -> Option<Axis> {
        let (low, high) = extent([low, high]).filter(|_| low <= high)?;
        let pad = ((high - low) * 0.08).max(high.abs() * 1e-3).max(1e-9);
        let range = low - pad..high + pad;
        Some(Axis {
            ticks: linear_ticks(range.start, range.end, 5),
            range,
            log: false,
            names: false,
        })
    }

    pub(crate) fn log10(low: f64, high: f64, write: impl Fn(f64) -> String) -> Axis {
        let (low, high) =
            (low.clamp(1.0 / ABSURD, ABSURD).log10(), high.clamp(1.0 / ABSURD, ABSURD).log10());
        let pad = ((high - low) * 0.05).max(0.03);
        let range = low - pad..high + pad;
        let ticks =
            log_ticks(&range).into_iter().map(|value| (value.log10(), write(value))).collect();
        Axis { range, ticks, log: true, names: false }
    }

    pub(crate) fn from_zero(high: f64) -> Axis {
        let high = if high.is_finite() && high > 0.0 { high.min(ABSURD) } else { 1.0 };
        let range = -0.01 * high..high * 1.01;
        Axis { ticks: linear_ticks(0.0, range.end, 8), range, log: false, names: false }
    }

    /// Positions are natural logarithms of ratios; ticks are percentages or factors.
    pub(crate) fn of_changes(range: Range<f64>) -> Axis {
        let (low, high) = (range.start.exp(), range.end.exp());
        let ticks = if low > 0.4 && high < 2.5 {
            let tick = |(percent, label): (f64, String)| {
                let sign = if percent > 0.0 { "+" } else { "" };
                ((1.0 + percent / 100.0).ln(), format!("{sign}{label} %").replace('-', "−"))
            };
            linear_ticks((low - 1.0) * 100.0, (high - 1.0) * 100.0, 7)
                .into_iter()
                .map(tick)
                .collect()
        } else {
            let factor = |value: f64| match value {
                v if (v - 1.0).abs() < 1e-9 => "same".into(),
                v => format!("{}×", plain(v)),
            };
            let tens = range.start / std::f64::consts::LN_10..range.end / std::f64::consts::LN_10;
            log_ticks(&tens).into_iter().map(|value| (value.ln(), factor(value))).collect()
        };
        Axis { range, ticks, log: false, names: false }
    }

    /// Names at 0, 1, 2 …; top to bottom if `down`.
    pub(crate) fn of_names(names: Vec<String>, down: bool) -> Axis {
        let count = names.len();
        let at = |i: usize| if down { (count - 1 - i) as f64 } else { i as f64 };
        let ticks = names.into_iter().enumerate().map(|(i, name)| (at(i), name)).collect();
        Axis { range: -0.5..count as f64 - 0.5, ticks, log: false, names: true }
    }

    pub(crate) fn position(&self, value: f64) -> f64 {
        if self.log {
            value.clamp(1.0 / ABSURD, ABSURD).log10()
        } else {
            value.clamp(-ABSURD, ABSURD)
        }
    }

    /// Removes ticks whose labels would overlap; ticks at 0, no change, have priority. `size`
    /// returns a label's length along the axis.
    pub(crate) fn thinned(&self, pixels: i32, size: impl Fn(&str) -> f64) -> Axis {
        let mut axis = self.clone();
        if self.names {
            return axis;
        }
        let each = f64::from(pixels) / (self.range.end - self.range.start);
        let (zero, others): (Vec<_>, Vec<_>) = self.ticks.iter().partition(|(at, _)| *at == 0.0);
        axis.ticks = Vec::new();
        for (at, label) in zero.into_iter().chain(others) {
            let free = |(other, text): &(f64, String)| {
                (other - at).abs() * each >= (size(label) + size(text)) / 2.0
            };
            if axis.ticks.iter().all(free) {
                axis.ticks.push((*at, label.clone()));
            }
        }
        axis.ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        axis
    }

    pub(crate) fn label(&self, position: f64) -> String {
        let distance = |at: f64| (at - position).abs();
        let nearest =
            self.ticks.iter().min_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b)));
        nearest.map_or_else(String::new, |(_, label)| label.clone())
    }
}

fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).map(|v| v.clamp(-ABSURD, ABSURD)).fold(
        None,
        |found, v| match found {
            None => Some((v, v)),
            Some((low, high)) => Some((low.min(v), high.max(v))),
        },
    )
}

/// About `wanted` round numbers, with enough decimals to distinguish them.
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let raw = (high - low) / wanted as f64;
    if !raw.is_finite() || raw <= 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let off = |step: &f64| (step / raw).ln().abs();
    let step =
        steps.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).expect("there are four steps");
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).clamp(0.0, 50.0) as usize;
    (0..=count)
        .map(|i| (first + i as f64) * step)
        .filter(|value| (low..=high).contains(value))
        .map(|value| {
            let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
            (value, if value.abs() >= 1e9 { plain(value) } else { number::fixed(value, decimals) })
        })
        .collect()
}

/// Powers of ten if they suffice, then 1, 2, 5, then more digits.
fn log_ticks(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.floor() as i32, range.end.ceil() as i32);
    let apart = ((last - first) / 7).max(1);
    let inside = |value: &f64| (range.start..=range.end).contains(&value.log10());
    let of = |digits: &[f64], apart: i32| -> Vec<f64> {
        (first..=last)
            .filter(|power| power.rem_euclid(apart) == 0)
            .flat_map(|power| {
                digits.iter().map(move |digit| digit * 10f64.powi(power)).collect::<Vec<_>>()
            })
            .filter(inside)
            .collect()
    };
    for digits in [&[1.0][..], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]] {
        let ticks = of(digits, apart);
        if ticks.len() >= 3 {
            return ticks;
        }
    }
    linear_ticks(10f64.powf(range.start), 10f64.powf(range.end), 4)
        .into_iter()
        .map(|(value, _)| value)
        .collect()
}

/// Without trailing zeros: `0.5`, `20`, `5,000`.
pub(crate) fn plain(value: f64) -> String {
    let text = number::significant(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_carry_only_the_decimals_that_they_need() {
        let axis = Axis::of_values([982.0, 1051.0]).expect("there are values");
        assert_eq!(
            labels(&axis),
            ["980", "990", "1,000", "1,010", "1,020", "1,030", "1,040", "1,050"]
        );
        assert_eq!(
            labels(&Axis::of_values([3.0, 20.0]).expect("values")),
            ["0", "5", "10", "15", "20"]
        );
        let axis = Axis::of_values([10.0, 4000.0]).expect("there are values");
        assert!(axis.log);
        assert_eq!(labels(&axis), ["10", "100", "1,000"]);
    }

    #[test]
    fn changes_are_percent_while_small_and_factors_when_huge() {
        let axis = Axis::of_changes((0.93f64).ln()..(1.26f64).ln());
        assert_eq!(labels(&axis), ["−5 %", "0 %", "+5 %", "+10 %", "+15 %", "+20 %", "+25 %"]);
        let axis = Axis::of_changes((0.05f64).ln()..(200.0f64).ln());
        assert_eq!(labels(&axis), ["0.1×", "same", "10×", "100×"]);
    }

    #[test]
    fn labels_that_would_touch_are_left_out_and_the_one_of_no_change_stays() {
        let axis = Axis::of_changes((0.5f64).ln()..(2.3f64).ln());
        assert_eq!(
            labels(&axis),
            ["−40 %", "−20 %", "0 %", "+20 %", "+40 %", "+60 %", "+80 %", "+100 %", "+120 %"]
        );
        let width = |label: &str| label.chars().count() as f64 * 7.2 + 10.0;
        assert_eq!(
            labels(&axis.thinned(330, width)),
            ["−40 %", "−20 %", "0 %", "+20 %", "+60 %", "+120 %"]
        );
        assert_eq!(labels(&axis.thinned(3000, width)), labels(&axis));
        let names = Axis::of_names(vec!["a".repeat(90), "b".into()], false);
        assert_eq!(
            names.thinned(10, width).ticks.len(),
            2,
            "a variant without its name would be nothing"
        );
    }

    proptest! {
        #[test]
        fn any_values_give_an_axis_that_holds_them_and_readable_ticks(values in prop::collection::vec(prop::num::f64::ANY, 1..6)) {
            if let Some(axis) = Axis::of_values(values.iter().copied()) {
                prop_assert!(axis.range.start < axis.range.end);
                prop_assert!(axis.ticks.len() <= 12, "{:?}", axis.ticks);
                for value in values.into_iter().filter(|v| v.is_finite()) {
                    let at = axis.position(value);
                    prop_assert!(axis.range.contains(&at), "{value} at {at} in {:?}", axis.range);
                }
                for (at, label) in &axis.ticks {
                    prop_assert!(axis.range.contains(at) || *at == axis.range.end);
                    prop_assert_eq!(&axis.label(*at), label);
                }
            }
        }

        #[test]
        fn any_range_of_changes_has_ticks(low in -40.0f64..40.0, width in 1e-3f64..60.0) {
            let axis = Axis::of_changes(low..low + width);
            prop_assert!(axis.ticks.len() <= 16, "{:?}", axis.ticks);
            prop_assert!(axis.ticks.iter().all(|(at, _)| *at >= low - 1e-9 && *at <= low + width + 1e-9));
        }
    }
}
