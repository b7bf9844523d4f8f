//! Estimates how many values would settle an open question, by plugging in the current mean and
//! deviation. The actual number is as likely larger as smaller; the purpose is to tell five minutes
//! from a week.

use super::Interval;

/// The smallest n up to `most`, if any. `settled` must be monotone in n, as for intervals that
/// shrink around one centre.
pub fn values_needed(
    most: usize,
    interval_at: impl Fn(usize) -> Interval,
    settled: impl Fn(&Interval) -> bool,
) -> Option<usize> {
    let enough = |n: usize| settled(&interval_at(n));
    let mut high = 2;
    while !enough(high) {
        if high >= most {
            return None;
        }
        high = (high * 2).min(most);
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Moments, sequence};
    use super::*;

    #[test]
    fn what_lies_on_the_boundary_is_never_settled() {
        let at = |n| sequence::interval(&Moments { n, mean: 0.0, sd: 1.0 }, 0.05);
        assert_eq!(values_needed(10_000, at, |interval| interval.low > 0.0), None);
    }

    proptest! {
        #[test]
        fn the_number_of_values_needed_is_the_first_that_settles(mean in 0.05..2.0, sd in 0.01..1.0) {
            let at = |n| sequence::interval(&Moments { n, mean, sd }, 0.05);
            let beyond = |interval: &Interval| interval.low > 0.0;
            let n = values_needed(100_000, at, beyond).expect("an effect of a twentieth of a deviation shows by then");
            prop_assert!(beyond(&at(n)));
            prop_assert!(n == 2 || !beyond(&at(n - 1)));
        }
    }
}
