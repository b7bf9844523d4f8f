//! The interval of a search's winner, corrected for the selection. The error α is split in advance:
//!
//! 1. Fresh evidence, at [`FRESH`]·α: the confirmation's rounds.
//! 2. All evidence: a sequence over the first n search rounds of point p and the confirmation, at
//!    (1 − [`FRESH`])·α·w(p)·v(n), with fixed weights that sum to at most 1: w is 1/((d+1)(d+2))
//!    shared by all points with d departures, v(n) = 1/((n+1)(n+2)).
//!
//! The intersection errs with at most α. Weights by candidate number would be invalid: rounds share
//! seeds, so the k-th candidate is itself chosen by the evidence.

use crate::stats::{Interval, Moments, sequence};

use crate::search::space::{Point, Space};

/// The share of α for the fresh evidence.
pub const FRESH: f64 = 0.8;

/// The interval at confidence 1 − `alpha`. The ends of an empty intersection (probability below
/// `alpha`) are swapped.
pub fn interval(
    space: &Space,
    winner: &Point,
    search: &[f64],
    fresh: &[f64],
    alpha: f64,
) -> Interval {
    let alone = sequence::interval(&Moments::of(fresh), FRESH * alpha);
    if search.is_empty() {
        return alone;
    }
    let all: Vec<f64> = search.iter().chain(fresh).copied().collect();
    let level = (1.0 - FRESH) * alpha * weight(space, winner, search.len());
    let joined = sequence::interval(&Moments::of(&all), level);
    let (low, high) = (alone.low.max(joined.low), alone.high.min(joined.high));
    Interval { low: low.min(high), high: high.max(low) }
}

/// The winner's weight w(p)·v(n).
pub fn weight(space: &Space, winner: &Point, search_rounds: usize) -> f64 {
    let (d, n) = (space.departures(winner) as f64, search_rounds as f64);
    1.0 / ((d + 1.0)
        * (d + 2.0)
        * space.count_departing(space.departures(winner)).max(1.0)
        * (n + 1.0)
        * (n + 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::space::tests::small;

    #[test]
    fn the_weights_of_all_points_and_numbers_of_rounds_sum_to_at_most_one() {
        let space = small();
        let sum: f64 = space
            .points()
            .map(|point| (0..10_000).map(|n| weight(&space, &point, n)).sum::<f64>())
            .sum();
        assert!(sum <= 1.0 && sum > 0.7, "{sum}");
    }

    #[test]
    fn the_interval_is_what_fresh_evidence_and_all_evidence_allow_each_at_its_own_level() {
        let space = small();
        let winner = Point { branch: 0, levels: vec![2, 0] };
        let (seen, fresh) =
            ([0.11, 0.12, 0.13, 0.12, 0.1, 0.11, 0.13], [0.08, 0.1, 0.09, 0.1, 0.08, 0.11]);
        let all: Vec<f64> = seen.iter().chain(&fresh).copied().collect();
        // One departure; three points have one: 1/(2·3·3); seven rounds: 1/(8·9).
        let level = 0.2 * 0.05 / (6.0 * 3.0 * 72.0);
        let joined = sequence::interval(&Moments::of(&all), level);
        let alone = sequence::interval(&Moments::of(&fresh), 0.8 * 0.05);
        let both = interval(&space, &winner, &seen, &fresh, 0.05);
        assert!(joined.is_bounded() && alone.is_bounded());
        assert_eq!((both.low, both.high), (alone.low.max(joined.low), alone.high.min(joined.high)));
    }

    #[test]
    fn evidence_of_the_search_narrows_the_interval_only_where_it_is_strong_enough_for_its_level() {
        let space = small();
        let winner = space.default_of(1);
        let wobble = |n: usize, centre: f64| -> Vec<f64> {
            (0..n).map(|i| centre + 0.01 * ((i * 7 % 5) as f64 - 2.0)).collect()
        };
        let fresh = wobble(4, 0.1);
        let alone = interval(&space, &winner, &[], &fresh, 0.05);
        assert_eq!(alone, sequence::interval(&Moments::of(&fresh), 0.04));
        let few = interval(&space, &winner, &wobble(2, 0.1), &fresh, 0.05);
        let many = interval(&space, &winner, &wobble(30, 0.1), &fresh, 0.05);
        let width = |i: &Interval| i.high - i.low;
        assert!(
            width(&few) <= width(&alone) && width(&many) < 0.8 * width(&alone),
            "{alone:?} {few:?} {many:?}"
        );
    }
}
