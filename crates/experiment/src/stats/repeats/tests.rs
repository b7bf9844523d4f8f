//! The interval computed by hand, its coverage over simulated days, and two mutants.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::*;
use crate::stats::fixed::paired_t;

#[test]
fn two_repeats_give_the_interval_of_one_degree_of_freedom() {
    let at = |mean| Repeat { mean, variance: Some(1e-6), degrees: 7.0 };
    let pooled = Pooled::of(&[at(0.1), at(0.3)]);
    // Mean 0.2, standard error 0.1, t = 12.706.
    let interval = pooled.interval(0.05);
    assert!(
        (interval.high - (0.2 + 1.2706)).abs() < 1e-3 && (interval.low + 1.0706).abs() < 1e-3,
        "{interval:?}"
    );
    let next = pooled.next(0.05);
    assert!((next.high - 0.2 - 12.706 * 0.141_421 * 1.5_f64.sqrt()).abs() < 1e-3, "{next:?}");
    assert_eq!(Pooled::of(&[at(0.1)]).interval(0.05), Interval::UNBOUNDED);
    assert_eq!(Pooled::of(&[]).next(0.05), Interval::UNBOUNDED);
}

#[test]
fn repeats_that_agree_by_chance_are_not_taken_for_certainty() {
    let at = |mean| Repeat { mean, variance: Some(0.01), degrees: 7.0 };
    let pooled = Pooled::of(&[at(0.1), at(0.1), at(0.1)]);
    let interval = pooled.interval(0.05);
    // The scatter of the rounds alone: t with 21 degrees of freedom is 2.080.
    assert!((interval.high - 0.1 - 2.0796 * (0.03_f64 / 9.0).sqrt()).abs() < 1e-4, "{interval:?}");
    assert!(pooled.next(0.05).high > interval.high);
    assert!(pooled.interval_of(12, 0.05).high < interval.high);
}

/// Paule & Mandel's τ² makes Q equal its expectation; for equal variances I² is τ²/(τ² + v).
#[test]
fn what_varies_between_repeats_is_what_their_own_scatter_does_not_explain() {
    let at = |mean, variance| Repeat { mean, variance: Some(variance), degrees: 7.0 };
    let (tau, share) = between(&[at(0.0, 0.01), at(0.3, 0.01), at(0.6, 0.01)]).unwrap();
    // The means have variance 0.09, of which 0.01 is scatter within.
    assert!((tau.powi(2) - 0.08).abs() < 1e-9 && (share - 8.0 / 9.0).abs() < 1e-9, "{tau} {share}");
    let (none, no_share) = between(&[at(0.0, 0.01), at(0.01, 0.02)]).unwrap();
    assert_eq!((none, no_share), (0.0, 0.0));
    let unequal = [at(0.0, 0.01), at(0.3, 0.04), at(0.9, 0.002)];
    let (tau, _) = between(&unequal).unwrap();
    let pairs: Vec<(f64, f64)> = unequal.iter().map(|o| (o.mean, o.variance.unwrap())).collect();
    assert!((generalised_q(&pairs, tau * tau) - 2.0).abs() < 1e-6);
    assert_eq!(between(&[at(0.1, 0.0), at(0.1, 0.0)]), Some((0.0, 0.0)));
    assert_eq!(between(&[at(0.1, 0.0), at(0.3, 0.0)]).map(|(_, share)| share), Some(1.0));
    assert_eq!(between(&[at(0.1, 0.1)]), None);
    assert_eq!(between(&[at(0.1, 0.1), Repeat { mean: 0.1, variance: None, degrees: 0.0 }]), None);
}

type Rule = fn(&[Vec<f64>], f64) -> Interval;

fn by_repeats(rounds: &[Vec<f64>], alpha: f64) -> Interval {
    let repeats: Vec<Repeat> =
        rounds.iter().filter_map(|rounds| Repeat::of_rounds(rounds)).collect();
    Pooled::of(&repeats).interval(alpha)
}

/// The mutant: every round counts as an independent value.
fn as_one_list(rounds: &[Vec<f64>], alpha: f64) -> Interval {
    paired_t(&Moments::of(&rounds.concat()), alpha)
}

/// The mutant: normal quantiles, as if τ were known rather than estimated from K repeats.
fn with_normal_quantiles(rounds: &[Vec<f64>], _: f64) -> Interval {
    let means: Vec<f64> = rounds.iter().map(|rounds| Moments::of(rounds).mean).collect();
    let means = Moments::of(&means);
    Interval::around(means.mean, 1.96 * means.sd / (means.n as f64).sqrt())
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Even,
    /// Every other repeat has 4 times the noise and half the rounds.
    Uneven,
    /// Rounds of Student's t with 3 degrees of freedom.
    HeavyTailed,
}

/// Misses of the mean effect in `n` experiments of `k` repeats, whose effects vary by `tau`
/// standard errors of one.
fn misses(rule: Rule, kind: Kind, k: usize, tau: f64, n: u64) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(k as u64 * 1000 + (tau * 10.0) as u64);
    let student = StudentT::new(3.0).unwrap();
    let mut missed = 0;
    for _ in 0..n {
        let repeats: Vec<Vec<f64>> = (0..k)
            .map(|at| {
                let loud = kind == Kind::Uneven && at % 2 == 1;
                let (sd, rounds) = if loud { (4.0, 4) } else { (1.0, 8) };
                let normal: f64 = StandardNormal.sample(&mut rng);
                let day = tau / 8.0_f64.sqrt() * normal;
                let noise = |rng: &mut ChaCha8Rng| match kind {
                    Kind::HeavyTailed => student.sample(rng) / 3.0_f64.sqrt(),
                    _ => StandardNormal.sample(rng),
                };
                (0..rounds).map(|_| 0.5 + day + sd * noise(&mut rng)).collect()
            })
            .collect();
        missed += u64::from(!rule(&repeats, 0.05).contains(0.5));
    }
    missed
}

/// The 99.99 % point of misses in `n` at 5 %.
fn bound(n: u64) -> u64 {
    Binomial::new(0.05, n).unwrap().inverse_cdf(0.9999)
}

const TAUS: [f64; 3] = [0.0, 0.5, 2.0];

#[test]
fn the_interval_misses_the_mean_effect_of_all_days_in_at_most_five_percent_however_they_differ() {
    let n = 4000;
    for kind in [Kind::Even, Kind::Uneven, Kind::HeavyTailed] {
        for k in [2, 3, 5, 10] {
            let missed = TAUS.map(|tau| misses(by_repeats, kind, k, tau, n));
            let percent = missed.map(|missed| 100.0 * missed as f64 / n as f64);
            assert!(
                missed.iter().all(|missed| *missed <= bound(n)),
                "{kind:?}, {k} repeats: {percent:?} %"
            );
        }
    }
}

#[test]
fn a_pool_that_forgets_what_differs_between_days_is_caught() {
    let n = 4000;
    assert!(misses(as_one_list, Kind::Even, 3, 2.0, n) > 4 * bound(n));
    assert!(misses(with_normal_quantiles, Kind::Even, 3, 2.0, n) > 2 * bound(n));
}
