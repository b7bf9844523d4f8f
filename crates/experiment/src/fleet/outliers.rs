//! Machines whose effect is too far from the others' to be chance.
//!
//! Centre and scale are median and scaled MAD (Hampel 1974). The scale's square minus the typical
//! variance within machines is that between them; distances add the machine's own variance, at
//! least the typical one. Critical value: Student's t at 5 % / K with 0.35 (K − 1) degrees of
//! freedom (the MAD's efficiency is 37 %). None is named below [`MIN_FOR_OUTLIERS`] machines, and
//! none omitted if more than [`FAR_AT_MOST`] are far.

use crate::stats::Moments;
use crate::stats::describe::median;
use crate::stats::fixed::critical;
use crate::stats::repeats::Repeat;

/// Minimum number of machines for outliers.
pub const MIN_FOR_OUTLIERS: usize = 6;

/// Maximum share of machines omitted.
pub const FAR_AT_MOST: f64 = 0.1;

/// The probability that a correct fleet has an outlier.
const ALPHA: f64 = 0.05;

/// Degrees of freedom of the scale per machine.
const WORTH: f64 = 0.35;

/// Scales the MAD of normal values to their standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// Far machines, by index.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Far {
    /// Distance from the median in standard deviations; 0 without a scale.
    pub(super) distance: Vec<f64>,
    pub(super) centre: f64,
    pub(super) is_left_out: Vec<bool>,
    /// Number of far machines if they are too many to omit.
    pub(super) far_but_counted: usize,
}

impl Far {
    pub(super) fn of(machines: &[Repeat]) -> Far {
        let n = machines.len();
        let centre = median_of(machines.iter().map(|machine| machine.mean));
        let scale =
            NORMAL * median_of(machines.iter().map(|machine| (machine.mean - centre).abs()));
        let typical = median_of(machines.iter().filter_map(|machine| machine.variance));
        let between = (scale * scale - typical).max(0.0);
        let distance = |machine: &Repeat| {
            let own = machine.variance.unwrap_or(typical).max(typical);
            let unit = (between + own).sqrt();
            if unit > 0.0 { (machine.mean - centre).abs() / unit } else { 0.0 }
        };
        let distance: Vec<f64> = machines.iter().map(distance).collect();
        let none = vec![false; n];
        if n < MIN_FOR_OUTLIERS {
            return Far { distance, centre, is_left_out: none, far_but_counted: 0 };
        }
        let limit = critical((WORTH * (n as f64 - 1.0)).max(1.0), ALPHA / n as f64);
        let is_far: Vec<bool> = distance.iter().map(|distance| *distance > limit).collect();
        let far = is_far.iter().filter(|far| **far).count();
        if far > 1 && far as f64 > FAR_AT_MOST * n as f64 {
            return Far { distance, centre, is_left_out: none, far_but_counted: far };
        }
        Far { distance, centre, is_left_out: is_far, far_but_counted: 0 }
    }

    /// Moments of counted effects; sd / √n is the standard error despite the selection. From
    /// Winsorised effects (Tukey & McLaughlin 1963; Yuen 1974). Coverage in 20,000 fleets with t(3)
    /// effects: 95.1 % at 39 machines and 95.6 % at 80, instead of 94.1 % and 93.9 %.
    pub(super) fn counted(&self, effects: &[f64]) -> Moments {
        let pairs = || effects.iter().zip(&self.is_left_out);
        let counted: Vec<f64> =
            pairs().filter(|(_, is_out)| !**is_out).map(|(effect, _)| *effect).collect();
        let of = Moments::of(&counted);
        if counted.len() == effects.len() || of.n < 2 {
            return of;
        }
        let low = counted.iter().copied().fold(f64::INFINITY, f64::min);
        let high = counted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let winsorised =
            Moments::of(&effects.iter().map(|effect| effect.clamp(low, high)).collect::<Vec<_>>());
        let degrees = |n: usize| n as f64 - 1.0;
        Moments { sd: winsorised.sd * (degrees(winsorised.n) / degrees(of.n)).sqrt(), ..of }
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    median(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}
