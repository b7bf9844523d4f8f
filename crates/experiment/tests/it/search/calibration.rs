//! The guarantees of a recommendation, counted over simulated searches: without a real improvement
//! at most alpha of them recommend something, and the final interval covers. A wrong rule must fail
//! the same count.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use experiment::search::{
    BASELINE, Branch, Dimension, Mode, Options, Outcome, Proposals, Search, Space, belief,
};
use experiment::stats::{Interval, Moments, fixed};
use rand_distr::{Distribution, StandardNormal};

const ALPHA: f64 = 0.05;
/// Searches for the correct rule, and the 99.99 % point at 5 %: a rule that errs in 9 % fails with
/// probability 99 %.
const SEARCHES: u32 = 1500;
const BOUND: u32 = 108;
/// Searches for the wrong rule, which errs in more than 12 % and so fails with probability 98 %.
const FEW_SEARCHES: u32 = 500;
const FEW_BOUND: u32 = 45;

fn space() -> Space {
    let dimension = |name: &str, levels: usize| Dimension {
        name: name.to_owned(),
        levels: (0..levels).map(|level| level.to_string()).collect(),
        default: 0,
    };
    let branch = |name: &str| Branch {
        name: name.to_owned(),
        dimensions: vec![dimension("x", 4), dimension("y", 3)],
    };
    Space::new(vec![branch("a"), branch("b")]).unwrap()
}

/// The winner's effects: in the search, and in fresh rounds until a decision or twelve.
struct Searched {
    search: Vec<f64>,
    fresh: Vec<f64>,
    interval: Interval,
}

type Rule = fn(&Space, &experiment::search::Point, &[f64], &[f64]) -> Interval;

fn corrected(
    space: &Space,
    winner: &experiment::search::Point,
    search: &[f64],
    fresh: &[f64],
) -> Interval {
    belief::interval(space, winner, search, fresh, ALPHA)
}

/// The wrong rule: Student's interval over the winner's own search trials.
fn naive(_: &Space, _: &experiment::search::Point, search: &[f64], _: &[f64]) -> Interval {
    fixed::paired_t(&Moments::of(search), ALPHA)
}

/// A search over candidates all `truth` better than the default, and the winner's confirmation.
/// Part of each round's noise is the default's, common to all candidates.
fn searched(seed: u64, mode: Mode, truth: f64, rule: Rule) -> Option<Searched> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let shared: Vec<f64> = (0..400).map(|_| 0.02 * normal()).collect();
    let options = Options {
        seed,
        mode,
        margin: 0.0,
        trials: 120,
        width: 4,
        patience: None,
        proposals: Proposals::Mixed,
    };
    let mut search = Search::new(space(), None, options);
    loop {
        let wanted = search.next();
        if wanted.is_empty() {
            break;
        }
        for request in wanted {
            let own = truth + shared[request.round as usize] + 0.02 * normal();
            let effect = if request.candidate == BASELINE { 0.0 } else { own };
            search.report(request, &Outcome { effect: Some(effect), excess: None });
        }
    }
    let winner = &search.candidates()[search.chosen()?];
    let point = winner.point.clone().unwrap();
    let seen: Vec<f64> = winner.effects.values().copied().collect();
    let mut fresh = Vec::new();
    let mut interval = Interval::UNBOUNDED;
    // Looking after each round is the hardest case.
    while fresh.len() < 12 && interval.low <= 0.0 {
        fresh.push(truth + 0.02 * normal() + 0.02 * normal());
        interval = rule(&space(), &point, &seen, &fresh);
    }
    Some(Searched { search: seen, fresh, interval })
}

/// Counts false recommendations, and intervals that miss the truth.
fn counts(searches: u32, mode: Mode, truth: f64, rule: Rule) -> (u32, u32) {
    let (mut recommended, mut missed) = (0, 0);
    for seed in 0..u64::from(searches) {
        let Some(seen) = searched(seed, mode, truth, rule) else { continue };
        recommended += u32::from(seen.interval.low > 0.0);
        missed += u32::from(!seen.interval.contains(truth));
        assert!(!seen.search.is_empty() && !seen.fresh.is_empty());
    }
    (recommended, missed)
}

#[test]
fn where_nothing_is_better_at_most_alpha_of_the_searches_recommend_and_the_intervals_cover() {
    for mode in [Mode::Reused, Mode::Fresh] {
        let (recommended, missed) = counts(SEARCHES, mode, 0.0, corrected);
        println!(
            "{mode:?}, A/A: {recommended} of {SEARCHES} recommended, {missed} intervals missed"
        );
        assert!(
            recommended <= BOUND && missed <= BOUND,
            "{mode:?}: {recommended} recommended, {missed} missed"
        );
        let (_, missed) = counts(SEARCHES, mode, 0.08, corrected);
        println!("{mode:?}, +8 %: {missed} of {SEARCHES} intervals missed");
        assert!(missed <= BOUND, "{mode:?}: {missed} missed");
    }
}

#[test]
fn without_a_correction_for_the_choice_the_same_count_convicts() {
    for mode in [Mode::Reused, Mode::Fresh] {
        let (recommended, missed) = counts(FEW_SEARCHES, mode, 0.0, naive);
        println!(
            "{mode:?}, no correction: {recommended} of {FEW_SEARCHES} recommended, {missed} intervals missed"
        );
        assert!(recommended > FEW_BOUND, "{mode:?}: the wrong rule was not caught: {recommended}");
    }
}
