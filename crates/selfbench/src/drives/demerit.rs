//! The demerit figure: the root mean square of the horizontal distance of two distributions of
//! response times.
//!
//! The inverse distribution functions are subtracted at the middle of n equal steps of probability,
//! n being the longer list's length. Source: Ruemler & Wilkes, IEEE Computer 27(3), 1994.
//! Departures: DiskSim's program (rms) interpolates in histograms with 1 µs classes; its figures
//! differ by at most 0.02 ms.

/// Returns the demerit in the unit of the times; `None` if a list is empty.
pub(super) fn demerit(measured: &[f64], modelled: &[f64]) -> Option<f64> {
    let (measured, modelled) = (sorted(measured), sorted(modelled));
    let steps = measured.len().max(modelled.len());
    if measured.is_empty() || modelled.is_empty() {
        return None;
    }
    let of = |list: &[f64], step: usize| list[(2 * step + 1) * list.len() / (2 * steps)];
    let sum: f64 = (0..steps).map(|step| (of(&measured, step) - of(&modelled, step)).powi(2)).sum();
    Some((sum / steps as f64).sqrt())
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_no_distance_from_itself_in_any_order() {
        assert_eq!(demerit(&[3.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(demerit(&[1.0, 2.0], &[1.0, 1.0, 2.0, 2.0]), Some(0.0));
        assert_eq!(demerit(&[], &[1.0]), None);
    }

    #[test]
    fn a_shift_is_its_own_distance_and_far_ones_weigh_more() {
        assert_eq!(demerit(&[1.0, 5.0, 9.0, 2.0], &[3.5, 7.5, 11.5, 4.5]), Some(2.5));
        // One of four is 2 too slow: the mean would be 0.5.
        assert_eq!(demerit(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 6.0]), Some(1.0));
    }

    #[test]
    fn lists_of_different_lengths_are_compared_at_the_longer_ones_steps() {
        // Steps of a third: the single time represents them all.
        let expected = ((1.0 + 0.0 + 4.0) / 3.0_f64).sqrt();
        assert_eq!(demerit(&[1.0, 2.0, 4.0], &[2.0]), Some(expected));
    }
}
