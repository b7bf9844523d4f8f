//! Properties of the search, over many spaces, seeds and noises.

use std::collections::BTreeSet;

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use experiment::search::{
    BASELINE, Branch, Dimension, Ended, Mode, Options, Outcome, Point, Proposals, Request, Search,
    Space, State,
};
use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};

/// Builds one branch per list, with a dimension for each number of levels.
fn space(shape: &[Vec<usize>]) -> Space {
    let dimension = |i: usize, levels: usize| Dimension {
        name: format!("d{i}"),
        levels: (0..levels).map(|level| level.to_string()).collect(),
        default: levels / 2,
    };
    let branch = |(b, of): (usize, &Vec<usize>)| Branch {
        name: format!("b{b}"),
        dimensions: of.iter().enumerate().map(|(i, levels)| dimension(i, *levels)).collect(),
    };
    Space::new(shape.iter().enumerate().map(branch).collect()).unwrap()
}

fn options(seed: u64, mode: Mode, trials: u32) -> Options {
    Options {
        seed,
        mode,
        margin: 0.01,
        trials,
        width: 4,
        patience: None,
        proposals: Proposals::Mixed,
    }
}

/// A candidate's noise in a round, repeatable.
fn noise(seed: u64, key: &str, round: u32) -> f64 {
    let hash =
        key.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    StandardNormal.sample(&mut ChaCha12Rng::seed_from_u64(hash ^ (u64::from(round) << 40)))
}

fn walk(search: &mut Search, sd: f64, truth: impl Fn(&Space, &Point) -> f64) -> Vec<Vec<Request>> {
    let mut asked = Vec::new();
    loop {
        let wanted = search.next();
        if wanted.is_empty() {
            return asked;
        }
        assert_eq!(search.next(), wanted, "nothing new before every outcome is reported");
        asked.push(wanted.clone());
        for request in wanted {
            let effect = if request.candidate == BASELINE {
                0.0
            } else {
                let point = search.candidates()[request.candidate].point.clone().unwrap();
                truth(search.space(), &point)
                    + sd * noise(7, &search.key(request.candidate), request.round)
            };
            search.report(request, &Outcome { effect: Some(effect), excess: None });
        }
    }
}

/// A surface with one maximum: every step away from the far corner of the last branch costs.
fn slope(space: &Space, point: &Point) -> f64 {
    let branches = space.branches();
    let off = (branches.len() - 1 - point.branch) as f64 * 0.2;
    let dimensions = branches[point.branch].dimensions.iter().zip(&point.levels);
    0.4 - off - dimensions.map(|(d, level)| 0.04 * (d.levels.len() - 1 - level) as f64).sum::<f64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_search_stays_within_its_space_and_budget_asks_nothing_twice_and_is_the_same_every_time(
        shape in prop::collection::vec(prop::collection::vec(1_usize..5, 0..4), 1..4),
        seed: u64,
        trials in 0_u32..120,
        fresh: bool,
        sd in 0.0..0.1_f64,
    ) {
        let mode = if fresh { Mode::Fresh } else { Mode::Reused };
        let space = space(&shape);
        let baseline = space.default_of(0);
        let make = || Search::new(space.clone(), Some(baseline.clone()), options(seed, mode, trials));
        let (mut one, mut other) = (make(), make());
        let asked = walk(&mut one, sd, slope);
        prop_assert_eq!(&asked, &walk(&mut other, sd, slope), "a function of seed and evidence");
        let all: Vec<Request> = asked.concat();
        prop_assert!(all.len() as u32 <= trials, "{} of {trials}", all.len());
        prop_assert_eq!(all.len() as u32, one.spent());
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no trial is asked for twice");
        let mut points = BTreeSet::new();
        for candidate in one.candidates() {
            let point = candidate.point.clone().unwrap();
            prop_assert!(space.contains(&point));
            prop_assert!(points.insert(point), "no candidate twice");
        }
        prop_assert!(one.ended().is_some());
        for batch in &asked {
            for request in batch.iter().filter(|request| request.candidate != BASELINE) {
                let with_default = all.contains(&Request { candidate: BASELINE, ..*request });
                prop_assert!(with_default, "the default is in every round");
            }
            if fresh {
                let rounds: BTreeSet<u32> = batch.iter().map(|request| request.round).collect();
                prop_assert_eq!(rounds.len(), 1, "on a machine a round is measured together");
                prop_assert!(batch.iter().any(|request| request.candidate == BASELINE));
            }
        }
    }

    #[test]
    fn what_is_chosen_was_measured_and_looked_better_than_the_default(seed: u64, sd in 0.0..0.2_f64, fresh: bool) {
        let mode = if fresh { Mode::Fresh } else { Mode::Reused };
        let mut search = Search::new(space(&[vec![4, 3], vec![5]]), None, options(seed, mode, 60));
        walk(&mut search, sd, |_, _| 0.0);
        if let Some(chosen) = search.chosen() {
            let candidate = &search.candidates()[chosen];
            prop_assert!(chosen != BASELINE && candidate.rounds() > 0 && candidate.effect() > 0.0);
        }
    }
}

#[test]
fn a_race_spends_little_on_bad_candidates_and_finds_the_best_nearly_always() {
    for mode in [Mode::Reused, Mode::Fresh] {
        let mut found = 0;
        for seed in 0..40 {
            let space = space(&[vec![5, 4], vec![5, 4], vec![5, 5]]);
            let mut search = Search::new(space, None, options(seed, mode, 160));
            walk(&mut search, 0.02, slope);
            let chosen = search.chosen().expect("most of the surface is better than the default");
            let truth = slope(search.space(), search.candidates()[chosen].point.as_ref().unwrap());
            found += u32::from(truth > 0.4 - 0.021 - 0.04);
            let bad = |c: &&experiment::search::Candidate| {
                slope(search.space(), c.point.as_ref().unwrap()) < truth - 0.15
            };
            let dropped: Vec<u32> = search.candidates()[1..]
                .iter()
                .filter(|c| c.state == State::Dropped)
                .filter(bad)
                .map(|c| c.asked)
                .collect();
            let mean = f64::from(dropped.iter().sum::<u32>()) / dropped.len().max(1) as f64;
            assert!(mean < 1.6, "a bad candidate costs one trial, not {mean}");
            assert!(
                search.candidates()[chosen].rounds() >= 3,
                "what is chosen was seen more than once"
            );
        }
        assert!(found >= 36, "{mode:?}: {found} of 40");
    }
}

#[test]
fn settings_that_do_nothing_have_no_place_in_the_choice() {
    for seed in 0..20 {
        // Only the first dimension of the second branch matters.
        let truth = |_: &Space, point: &Point| {
            if point.branch == 1 { 0.1 * point.levels[0] as f64 } else { 0.0 }
        };
        let mut search = Search::new(
            space(&[vec![3], vec![4, 5, 5, 2]]),
            None,
            options(seed, Mode::Reused, 150),
        );
        let asked = |search: &mut Search| loop {
            let wanted = search.next();
            if wanted.is_empty() {
                break;
            }
            for request in wanted {
                let point = search.candidates()[request.candidate].point.clone();
                // In virtual time an ineffective setting changes no digit.
                let effect = point.map_or(0.0, |p| {
                    truth(search.space(), &p)
                        + 0.01 * noise(3, &p.levels[0].to_string(), request.round)
                });
                search.report(request, &Outcome { effect: Some(effect), excess: None });
            }
        };
        asked(&mut search);
        let chosen = search.chosen().unwrap();
        let point = search.candidates()[chosen].point.as_ref().unwrap();
        assert_eq!(search.space().departures(point), 1, "{}", search.key(chosen));
    }
}

#[test]
fn a_small_space_is_searched_to_its_end_and_invalid_candidates_are_given_up() {
    let mut search = Search::new(space(&[vec![2], vec![3]]), None, options(1, Mode::Reused, 500));
    loop {
        let wanted = search.next();
        if wanted.is_empty() {
            break;
        }
        for request in wanted {
            let invalid = search.key(request.candidate).starts_with("b1");
            let effect =
                (!invalid).then_some(if request.candidate == BASELINE { 0.0 } else { 0.1 });
            search.report(request, &Outcome { effect, excess: None });
        }
    }
    assert_eq!(search.ended(), Some(Ended::Exhausted));
    assert_eq!(search.candidates().len(), 6, "the default, and every point");
    assert!(
        search
            .candidates()
            .iter()
            .filter(|c| c.point.as_ref().is_some_and(|p| p.branch == 1))
            .all(|c| c.state == State::Hopeless)
    );
    assert!(search.spent() < 60, "{}", search.spent());
}

#[test]
fn a_constraint_outweighs_any_effect_and_a_default_that_breaks_it_is_beaten_by_whatever_holds_it() {
    for mode in [Mode::Reused, Mode::Fresh] {
        let mut search = Search::new(space(&[vec![5, 4]]), None, options(5, mode, 120));
        loop {
            let wanted = search.next();
            if wanted.is_empty() {
                break;
            }
            for request in wanted {
                let point = search.candidates()[request.candidate].point.clone();
                // The faster, the more it violates the constraint; the default violates it too.
                let level = point.map_or(2, |p| p.levels[0]);
                let effect = 0.3 * (level as f64 - 2.0);
                let excess = level as f64 - 1.5;
                search.report(request, &Outcome { effect: Some(effect), excess: Some(excess) });
            }
        }
        let chosen = search.chosen().expect("something holds it");
        assert_eq!(search.candidates()[chosen].point.as_ref().unwrap().levels[0], 1, "{mode:?}");
        let beaten = &search.candidates()[search.incumbent()];
        assert!(
            beaten.feasible(),
            "{mode:?}: what breaks it is never the one to beat: {}",
            search.key(search.incumbent())
        );
    }
}

#[test]
fn patience_ends_a_search_that_finds_nothing() {
    let patient = Options { patience: Some(15), ..options(2, Mode::Reused, 4000) };
    let mut search = Search::new(space(&[vec![5, 5, 5, 5]]), None, patient);
    walk(&mut search, 0.001, |_, _| -0.5);
    assert_eq!(search.ended(), Some(Ended::Patience));
    assert!(search.chosen().is_none() && search.spent() < 60, "{}", search.spent());
}
