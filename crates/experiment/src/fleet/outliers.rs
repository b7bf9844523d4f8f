//! Machines whose effect is too far from those of the others to be chance.
//!
//! **Approach.** Centre and scale are the median and the scaled median absolute deviation of the
//! machines' effects (Hampel 1974), which nearly half of the machines could not move at will. Of
//! the scale's square the typical variance within a machine is taken off; what is left is that
//! between machines. A machine's distance is counted in the root of that plus its own variance,
//! which is never taken for less than the typical one: estimated from a few blocks it may be near 0
//! by chance.
//!
//! **Level.** A machine is named beyond the critical value at 5 % / K, two-sided, so that a fleet
//! of honest machines with normal effects names any in about one of twenty cases (Bonferroni). The
//! values are Student's with 0.35 (K − 1) degrees of freedom, which is about what the median
//! absolute deviation is worth (efficiency 37 %); the tests count the names that it gives to honest
//! fleets.
//!
//! **Bounds.** Below [`LEAST_FOR_OUTLIERS`] machines none is named. More than [`FAR_AT_MOST`] of
//! them, and more than one, are not outliers but another kind of machine: none is left out then.
//!
//! **Price.** An honest machine with a far effect and a wrong one look alike. A mean without the
//! far machines has a scatter that is too small by what they would have added: at 39 machines with
//! effects of Student's t with 3 degrees of freedom its interval covered the truth in 94.1 % of
//! 20,000 fleets where 95 % are guaranteed, at 80 in 93.9 %. [`Far::counted`] therefore takes the
//! scatter of Winsorised effects (Tukey & McLaughlin 1963; Yuen 1974), in which each machine that
//! is left out has the nearest effect of those that count, and the degrees of freedom of those that
//! count: 95.1 % and 95.6 %. Where the machines that are left out are wrong indeed, the interval is
//! wider than it had to be: by 15 % with 3 % of 1,000 machines.

use crate::stats::Moments;
use crate::stats::describe::median;
use crate::stats::fixed::critical;
use crate::stats::repeats::Repeat;

/// Below so many machines none is called far from the others.
pub const LEAST_FOR_OUTLIERS: usize = 6;

/// At most this share of the machines is left out.
pub const FAR_AT_MOST: f64 = 0.1;

/// The chance that a fleet of honest machines has a machine named.
const ALPHA: f64 = 0.05;

/// Degrees of freedom that the scale has for each machine.
const WORTH: f64 = 0.35;

/// Makes the median absolute deviation of normal values their standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// Which machines are far, by index.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Far {
    /// Distance of each from the median, in standard deviations; 0 where there is no scale.
    pub(super) distance: Vec<f64>,
    /// The median, from which they are counted.
    pub(super) centre: f64,
    /// Whether it is left out.
    pub(super) is_left_out: Vec<bool>,
    /// How many are far where none is left out because they are too many.
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
        if n < LEAST_FOR_OUTLIERS {
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

    /// Number and mean of the effects that count; their standard deviation is such that its share
    /// of the root of their number is the standard error of that mean, the choice of them included.
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

/// The median; 0 of nothing.
fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    median(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}
