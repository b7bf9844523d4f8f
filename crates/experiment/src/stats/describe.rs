//! Descriptive statistics of a variant's values; not used for verdicts. Outliers are more than 3.5
//! scaled (1.4826) median absolute deviations from the median (Hampel 1974; Iglewicz & Hoaglin
//! 1993). They are marked and kept: on a disk an outlier is usually real.

use super::Moments;

/// An outlier's minimum distance from the median, in scaled deviations.
pub const OUTLIER_BOUND: f64 = 3.5;

/// Two close values would make any third one an outlier.
pub const MIN_FOR_OUTLIERS: usize = 6;

/// A description of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Description {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` with fewer than two.
    pub sd: Option<f64>,
    /// Median; the mean of the middle two for an even number.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// More than [`OUTLIER_BOUND`] scaled median absolute deviations from the median.
    pub outliers: usize,
}

/// Describes finite values; `None` if empty.
pub fn describe(values: &[f64]) -> Option<Description> {
    let moments = Moments::of(values);
    let median = median(values)?;
    Some(Description {
        n: moments.n,
        mean: moments.mean,
        sd: (moments.n >= 2).then_some(moments.sd),
        median,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        outliers: outliers(values).len(),
    })
}

/// Indices of outliers; none among fewer than [`MIN_FOR_OUTLIERS`] values, or if more than half
/// are equal, which makes the deviation 0.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values).filter(|_| values.len() >= MIN_FOR_OUTLIERS) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let scaled =
        1.4826 * median(&distances).expect("as many distances as values, and there are values");
    if scaled == 0.0 {
        return Vec::new();
    }
    (0..values.len()).filter(|i| distances[*i] > OUTLIER_BOUND * scaled).collect()
}

/// The `q` quantile (0 to 1) of ascending values, interpolated.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let at = q * (sorted.len().checked_sub(1)? as f64);
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

/// The median; of an even number the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(0.5 * (sorted[middle - 1] + sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_its_neighbours() {
        assert_eq!(
            [&[3.0, 1.0, 2.0, 10.0][..], &[], &[4.0]].map(median),
            [Some(2.5), None, Some(4.0)]
        );
    }

    #[test]
    fn the_published_linpack_rates_have_the_deviation_that_n_minus_one_gives() {
        // The first four of `default` in the published LINPACK table; expected value by Python's
        // statistics.stdev.
        let rates = [9_717_238.512, 9_655_598.973, 9_567_577.259, 9_526_415.548];
        let description = describe(&rates).unwrap();
        assert!((description.sd.unwrap() - 85_995.054_552).abs() < 1e-5, "{description:?}");
    }

    #[test]
    fn an_outlier_is_marked_and_still_counted() {
        let values = [10.0, 10.1, 9.9, 10.05, 9.95, 14.0];
        assert_eq!(outliers(&values), [5]);
        let description = describe(&values).unwrap();
        assert_eq!((description.n, description.max, description.outliers), (6, 14.0, 1));
        assert_eq!(
            outliers(&[1.0, 1.0, 1.0, 1.0, 1.1, 9.0]),
            [] as [usize; 0],
            "more than half are equal"
        );
        assert_eq!(outliers(&[1.0, 1.01, 9.0]), [] as [usize; 0], "too few to tell");
    }

    #[test]
    fn one_value_has_no_deviation_and_no_values_no_description() {
        assert_eq!(describe(&[3.0]).unwrap().sd, None);
        assert_eq!(describe(&[]), None);
        assert_eq!(describe(&[1.0, 2.0, 3.0, 10.0]).unwrap().median, 2.5);
    }

    proptest! {
        #[test]
        fn mean_and_median_lie_between_the_extremes_and_shifting_moves_only_the_place(
            values in proptest::collection::vec(-100.0..100.0_f64, 2..40), shift in -1000.0..1000.0_f64
        ) {
            let here = describe(&values).unwrap();
            prop_assert!(here.min <= here.median && here.median <= here.max);
            prop_assert!(here.min - 1e-9 <= here.mean && here.mean <= here.max + 1e-9);
            let there = describe(&values.iter().map(|value| value + shift).collect::<Vec<_>>()).unwrap();
            prop_assert!((there.sd.unwrap() - here.sd.unwrap()).abs() < 1e-9);
            prop_assert!((there.median - here.median - shift).abs() < 1e-9);
        }
    }
}
