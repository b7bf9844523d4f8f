//! Detection by a gate, and its false alarm rate without changes.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::plan::Plan;
use crate::results::{Header, Observation, Trial};

/// A results file with two variants on one workload; `factor` scales variant `mine`, `all` both
/// variants.
fn results(arena: &str, seed: u64, rounds: u32, factor: f64, all: f64, noise: f64) -> Results {
    let plan = Plan::from_toml(&format!(
        "arena = '{arena}'\ndevice = 'x'\n[[variant]]\nname = 'base'\nscheduler = 'none'\n[[variant]]\nname = 'mine'\n\
         scheduler = 'bfq'\n[[workload]]\nname = 'w'\nkind = 'randread'\nprimary = 'iops'\n"
    ))
    .expect("a plan");
    let header = Header {
        schema: crate::plan::SCHEMA,
        schedlab: "x".into(),
        plan,
        environment: Default::default(),
        started_unix_ms: 0,
        command: String::new(),
    };
    let mut results = Results::new(header);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..rounds {
        // Noise common to both variants of a round.
        let common: f64 = StandardNormal.sample(&mut random);
        for (position, (variant, level)) in
            [("base", all), ("mine", all * factor)].into_iter().enumerate()
        {
            let own: f64 = StandardNormal.sample(&mut random);
            let iops = 1000.0 * level * (noise * (common + own)).exp();
            results.trials.push(Trial {
                sequence: results.trials.len() as u64,
                workload: "w".into(),
                round,
                position: position as u32,
                variant: variant.into(),
                started_ms: 0,
                observation: Observation {
                    metrics: [("iops".into(), iops)].into(),
                    ..Observation::default()
                },
            });
        }
    }
    results
}

fn verdicts(now: &Results, then: &Results, choice: &Choice) -> Vec<(String, Verdict)> {
    compare(now, then, choice).into_iter().map(|found| (found.variant, found.verdict)).collect()
}

#[test]
fn one_variant_that_became_slower_is_worse_and_the_other_is_not() {
    let then = results("disk", 1, 30, 1.0, 1.0, 0.005);
    let now = results("disk", 2, 30, 0.9, 1.0, 0.005);
    let found = verdicts(&now, &then, &Choice::default());
    assert_eq!(
        found,
        [("base".to_owned(), Verdict::Equivalent), ("mine".to_owned(), Verdict::Worse)]
    );
    let better =
        verdicts(&then, &now, &Choice { variant: Some("mine".into()), ..Choice::default() });
    assert_eq!(better, [("mine".to_owned(), Verdict::Better)]);
}

#[test]
fn a_change_that_slows_every_variant_is_seen_in_values_and_not_in_ratios() {
    let then = results("disk", 1, 30, 1.0, 1.0, 0.005);
    let now = results("disk", 2, 30, 1.0, 0.8, 0.005);
    assert!(
        verdicts(&now, &then, &Choice::default())
            .iter()
            .all(|(_, verdict)| *verdict == Verdict::Worse)
    );
    let ratios = verdicts(&now, &then, &Choice { ratios: true, ..Choice::default() });
    assert_eq!(ratios, [("mine".to_owned(), Verdict::Equivalent)]);
}

#[test]
fn in_virtual_time_rounds_are_pairs_and_identical_results_are_equivalent() {
    let then = results("sim", 7, 6, 1.0, 1.0, 0.3);
    let same = compare(&then, &then, &Choice::default());
    assert!(
        is_green(&same)
            && same.iter().all(|found| found.ratio == Some(1.0) && found.basis == Basis::Rounds)
    );
    // Equal seeds: the round's noise cancels, and a small change shows through 30 % of noise.
    let now = results("sim", 7, 6, 0.95, 1.0, 0.3);
    assert_eq!(verdicts(&now, &then, &Choice::default())[1].1, Verdict::Worse);
    // A longer results file adds no pairs.
    let longer = results("sim", 7, 9, 0.95, 1.0, 0.3);
    assert_eq!(
        compare(&longer, &then, &Choice::default())[1].ratio,
        compare(&now, &then, &Choice::default())[1].ratio
    );
}

#[test]
fn invalid_and_missing_evidence_is_invalid_and_never_green() {
    let then = results("disk", 1, 10, 1.0, 1.0, 0.01);
    let mut now = results("disk", 2, 10, 1.0, 1.0, 0.01);
    for trial in now.trials.iter_mut().filter(|trial| trial.variant == "mine" && trial.round < 3) {
        trial.observation.metrics.clear();
    }
    let found = compare(&now, &then, &Choice::default());
    assert_eq!(found[1].verdict, Verdict::Invalid);
    assert_eq!((found[1].now.n, found[1].now.invalid), (7, 3));
    assert!(!is_green(&found) && outcome(&found) == Outcome::PartlyInvalid);
    now.trials.clear();
    assert_eq!(outcome(&compare(&now, &then, &Choice::default())), Outcome::Invalid);
    assert!(!is_green(&[]));
}

/// Counts red gates among 1,000 without changes.
fn false_alarms(
    arena: &str,
    choice: &Choice,
    compare: impl Fn(&Results, &Results, &Choice) -> Vec<GateComparison>,
) -> usize {
    let red = |i: &u64| {
        let [then, now] = [2 * i, 2 * i + 1].map(|seed| results(arena, seed, 8, 1.0, 1.0, 0.05));
        let found = compare(&now, &then, choice);
        found.iter().any(|one| matches!(one.verdict, Verdict::Worse | Verdict::Better))
    };
    (0..1000).filter(red).count()
}

#[test]
fn without_a_change_at_most_alpha_of_the_gates_find_one_and_a_mutant_without_holm_more() {
    // 5 % of 1,000 are 50; three standard deviations of counting above that are 71. The margin of 1
    // % reduces it.
    for (arena, choice) in [
        ("disk", Choice::default()),
        ("sim", Choice::default()),
        ("disk", Choice { ratios: true, variant: None }),
    ] {
        let alarms = false_alarms(arena, &choice, compare);
        assert!(alarms <= 71, "{arena}, ratios {}: {alarms}", choice.ratios);
    }
    // Planted fault: every comparison at the whole alpha, without a margin.
    let greedy = |now: &Results, then: &Results, choice: &Choice| {
        let mut now = now.clone();
        now.header.plan.criteria.margin = 0.0;
        ["base", "mine"]
            .map(|variant| {
                compare(&now, then, &Choice { variant: Some(variant.into()), ..choice.clone() })
            })
            .concat()
    };
    assert!(false_alarms("sim", &Choice::default(), greedy) > 71);
}
