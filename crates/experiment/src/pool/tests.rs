//! Pools of small tables with known answers.

use super::*;
use crate::plan::Plan;
use crate::results::{Environment, Header, InvalidReason, Observation, Trial};

const ROUNDS: [f64; 8] = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 100.8, 99.8];

fn sample(variant: &str, round: Option<u32>, value: f64) -> Sample {
    let (workload, metric) = ("oltp".to_string(), "iops".to_string());
    Sample {
        workload,
        metric,
        variant: variant.to_string(),
        round,
        sequence: 0,
        value,
        requests: None,
        invalid: Vec::new(),
    }
}

/// A repeat with `bfq` at `factor` times `none`, with slight noise.
fn repeat(name: &str, factor: f64) -> RepeatSamples {
    let mut samples = Vec::new();
    for (round, base) in ROUNDS.iter().enumerate() {
        samples.push(sample("none", Some(round as u32), *base));
        let wobble = 1.0 + 0.001 * ((round * 7) % 5) as f64;
        samples.push(sample("bfq", Some(round as u32), base * factor * wobble));
    }
    RepeatSamples { name: name.to_string(), samples }
}

fn repeats(factors: &[f64]) -> Vec<RepeatSamples> {
    factors
        .iter()
        .enumerate()
        .map(|(i, factor)| repeat(&format!("day {}", i + 1), *factor))
        .collect()
}

fn options() -> Options {
    Options { arena: "disk".to_string(), baseline: Some("none".to_string()), ..Options::default() }
}

fn pool(factors: &[f64]) -> Analysis {
    pool_samples("x", &repeats(factors), &options(), None).unwrap()
}

#[test]
fn days_that_disagree_are_inconclusive_together_however_sure_each_of_them_is() {
    // The guide's figures for one question in four repeats.
    let analysis = pool(&[3.8, 1.68, 1.43, 0.64]);
    let comparison = &analysis.comparisons[0];
    assert_eq!((comparison.verdict, comparison.rounds), (Verdict::Inconclusive, 32));
    let one = analyze_samples("x", &repeats(&[3.8])[0].samples, &options());
    assert_eq!(one.comparisons[0].verdict, Verdict::Better);
    let effect = &analysis.pooled.as_ref().unwrap().effects[0];
    assert!(
        effect.between_share.unwrap() > 0.99 && effect.between_percent.unwrap() > 50.0,
        "{effect:?}"
    );
    assert!(effect.next_low.unwrap() < 1.0 && effect.next_high.unwrap() > 3.8, "{effect:?}");
    assert!(effect.more_repeats.unwrap() > 1);
    assert!(
        analysis.recommendation.sentence.starts_with("Keep none"),
        "{}",
        analysis.recommendation.sentence
    );
}

#[test]
fn days_that_agree_give_a_verdict_whose_interval_is_students_over_the_days() {
    let analysis = pool(&[1.11, 1.12, 1.13]);
    let comparison = &analysis.comparisons[0];
    let logs: Vec<f64> = comparison.log_ratios.clone();
    assert_eq!((comparison.verdict, logs.len()), (Verdict::Better, 3));
    let expected = crate::stats::fixed::paired_t(&Moments::of(&logs), 0.05);
    assert!(
        (comparison.low.unwrap().ln() - expected.low).abs() < 1e-9,
        "{comparison:?} {expected:?}"
    );
    assert_eq!(analysis.recommendation.variant.as_deref(), Some("bfq"));
    assert_eq!(analysis.pooled.unwrap().to_string(), "over 3 repeats");
}

#[test]
fn two_days_are_pooled_and_bound_little() {
    assert_eq!(pool(&[1.10, 1.14]).comparisons[0].verdict, Verdict::Inconclusive);
    assert_eq!(pool(&[1.500, 1.501]).comparisons[0].verdict, Verdict::Better);
}

#[test]
fn a_repeat_with_invalid_evidence_is_left_out_and_named() {
    let mut all = repeats(&[1.11, 1.12, 1.13, 1.12, 1.11, 9.0]);
    let invalid = InvalidReason::Steal { share: 0.5, limit: 0.25 };
    all[5].samples.iter_mut().for_each(|sample| sample.invalid.push(invalid.clone()));
    let analysis = pool_samples("x", &all, &options(), None).unwrap();
    let comparison = &analysis.comparisons[0];
    assert_eq!(comparison.verdict, Verdict::Better);
    assert!(
        comparison.reasons.iter().any(|reason| reason.to_string().starts_with("day 6 omitted: ")),
        "{comparison:?}"
    );
    assert_eq!(analysis.pooled.unwrap().effects[0].ratios[5], None);
    // A single valid repeat has no interval; none at all is invalid.
    let mut two = repeats(&[1.1, 1.1]);
    two[1].samples.retain(|sample| sample.round == Some(0) || sample.variant == "none");
    two[1]
        .samples
        .iter_mut()
        .filter(|sample| sample.variant == "bfq")
        .for_each(|s| s.invalid.push(invalid.clone()));
    let one = pool_samples("x", &two, &options(), None).unwrap();
    let reasons: Vec<String> = one.comparisons[0].reasons.iter().map(ToString::to_string).collect();
    assert_eq!(one.comparisons[0].verdict, Verdict::Inconclusive, "{reasons:?}");
    assert!(
        reasons.iter().any(|reason| reason.starts_with("one repeat that counts")),
        "{reasons:?}"
    );
}

#[test]
fn tables_without_rounds_are_pooled_by_their_means() {
    let mut all = repeats(&[1.11, 1.12, 1.13]);
    all.iter_mut().flat_map(|repeat| &mut repeat.samples).for_each(|sample| sample.round = None);
    let analysis = pool_samples("x", &all, &options(), None).unwrap();
    let comparison = &analysis.comparisons[0];
    assert_eq!(
        (comparison.verdict, comparison.log_ratios.len()),
        (Verdict::Better, 3),
        "{comparison:?}"
    );
}

#[test]
fn an_unfinished_series_says_that_its_verdict_is_not_the_last() {
    let analysis = pool_samples("x", &repeats(&[1.11, 1.12]), &options(), Some(3)).unwrap();
    assert!(analysis.cautions[0].starts_with("2 of 3 planned repeats"), "{:?}", analysis.cautions);
    assert_eq!(analysis.pooled.unwrap().to_string(), "over 2 of 3 repeats");
}

fn results(seed: u64, started_unix_ms: u64) -> Results {
    let plan = "device = '/dev/sdb'\nworkload = [{ name = 'oltp', kind = 'oltp', primary = 'iops' }]\n\
                variant = [{ name = 'none', scheduler = 'none' }, { name = 'bfq', scheduler = 'bfq' }]";
    let plan = Plan { seed, ..Plan::from_toml(plan).unwrap() };
    let (schedlab, command) = ("0.1.0".to_string(), "schedlab".to_string());
    let mut results = Results::new(Header {
        schema: crate::plan::SCHEMA,
        schedlab,
        plan,
        environment: Environment::new(),
        started_unix_ms,
        command,
    });
    for (at, sample) in repeat("x", 1.1).samples.into_iter().enumerate() {
        let observation = Observation {
            metrics: [("iops".to_string(), sample.value)].into(),
            ..Observation::default()
        };
        let (workload, variant, round) = (sample.workload, sample.variant, sample.round.unwrap());
        let position = at as u32 % 2;
        results.trials.push(Trial {
            sequence: at as u64,
            workload,
            round,
            position,
            variant,
            started_ms: 0,
            observation,
        });
    }
    results
}

#[test]
fn results_of_another_question_are_refused_and_what_differs_is_named() {
    let (first, second) = (results(1, 10), results(2, 20));
    let refused = |change: &dyn Fn(&mut Results)| {
        let mut other = second.clone();
        change(&mut other);
        let all_results = [("a".to_string(), &first), ("b".to_string(), &other)];
        pool_results(&all_results, None, None)
            .err()
            .map(|difference| difference.to_string())
            .unwrap_or_default()
    };
    assert_eq!(refused(&|_| {}), "", "another seed and another day are what a repeat is");
    type Change = fn(&mut Results);
    let changes: [(&str, Change); 10] = [
        ("build of schedlab differs from a (found other, expected 0.1.0)", |r| {
            r.header.schedlab = "other".to_string()
        }),
        ("list of variants differs from a", |r| r.header.plan.variants.pop().map(drop).unwrap()),
        ("setting of variant bfq differs from a", |r| {
            r.header.plan.variants[1].scheduler = "kyber".to_string()
        }),
        ("list of workloads differs from a", |r| {
            r.header.plan.workloads[0].name = "dss".to_string()
        }),
        ("workload oltp differs from a", |r| {
            r.header.plan.workloads[0].primary = Some("tps".to_string())
        }),
        ("baseline differs from a", |r| r.header.plan.baseline = Some("bfq".to_string())),
        ("arena differs from a", |r| r.header.plan.arena = &crate::plan::CPU),
        ("margin differs from a", |r| r.header.plan.criteria.margin = 0.05),
        ("device differs from a", |r| {
            let facts = [("identity".to_string(), "wwid naa.6".to_string())].into();
            r.header.environment.insert("device".to_string(), facts);
        }),
        ("the same results file", |r| {
            r.header.started_unix_ms = 10;
        }),
    ];
    for (words, change) in changes {
        let said = refused(&change);
        assert!(said.starts_with("b: ") && said.contains(words), "{words}: {said}");
    }
    let mut virtual_results = [results(1, 0), results(1, 0)];
    virtual_results.iter_mut().for_each(|results| results.header.plan.arena = &crate::plan::SIM);
    let [one, other] = &virtual_results;
    let same =
        pool_results(&[("a".to_string(), one), ("b".to_string(), other)], None, None).unwrap_err();
    assert!(same.to_string().contains("same seed"), "{same}");
    assert_eq!(pool_results(&[("a".to_string(), one)], None, None).unwrap_err(), Difference::One);
}

#[test]
fn what_may_differ_from_day_to_day_is_a_caution() {
    let (first, mut second) = (results(1, 10), results(2, 20));
    let kernel = [("release".to_string(), "6.13".to_string())].into();
    second.header.environment.insert("kernel".to_string(), kernel);
    second.header.plan.trial.duration_ms = Some(500);
    let analysis =
        pool_results(&[("a".to_string(), &first), ("b".to_string(), &second)], None, None).unwrap();
    let said = analysis.cautions.join("\n");
    assert!(
        said.contains("the kernel differs")
            && said.contains("6.13")
            && said.contains("length of a trial"),
        "{said}"
    );
}

#[test]
fn the_results_of_one_repeat_says_so_where_it_decides_something() {
    let analysis = crate::analysis::analyze(&results(1, 10), None);
    assert!(
        analysis.cautions.iter().any(|caution| caution.starts_with("one repeat: ")),
        "{:?}",
        analysis.cautions
    );
    let mut simulated = results(1, 0);
    simulated.header.plan.arena = &crate::plan::SIM;
    let analysis = crate::analysis::analyze(&simulated, None);
    assert!(
        !analysis.cautions.iter().any(|caution| caution.starts_with("one repeat: ")),
        "{:?}",
        analysis.cautions
    );
}

#[test]
fn the_means_of_a_pool_are_the_two_sides_of_its_ratio_however_many_rounds_a_repeat_has() {
    let mut days = repeats(&[3.0, 0.9]);
    // A slow day with two rounds: pooling rounds would give another ratio.
    days[1].samples.retain(|sample| sample.round < Some(2));
    days[1].samples.iter_mut().for_each(|sample| sample.value /= 50.0);
    let analysis = pool_samples("x", &days, &options(), None).unwrap();
    let comparison = &analysis.comparisons[0];
    let ratio = comparison.variant_mean.unwrap() / comparison.baseline_mean.unwrap();
    assert!((ratio / comparison.ratio.unwrap() - 1.0).abs() < 1e-9, "{comparison:?}");
}

#[test]
fn a_starved_round_opens_the_pooled_interval_too() {
    let days = |completed: fn(usize) -> u64| -> Vec<RepeatSamples> {
        let samples = |day: u32| {
            let of = |(round, base): (usize, &f64)| {
                let base = base + f64::from(day);
                let done = completed(round) as f64;
                let counted = |variant: &str, value: f64| Sample {
                    requests: Some(value.round() as u64),
                    ..sample(variant, Some(round as u32), value)
                };
                [counted("none", base), counted("bfq", done)]
            };
            ROUNDS.iter().enumerate().flat_map(of).collect()
        };
        (0..3)
            .map(|day| RepeatSamples { name: format!("day {day}"), samples: samples(day) })
            .collect()
    };
    let pooled = |completed| {
        pool_samples("x", &days(completed), &options(), None).unwrap().comparisons.remove(0)
    };
    let worse = pooled(|_| 0);
    assert_eq!((worse.verdict, worse.low), (Verdict::Worse, None));
    assert!(worse.high.unwrap() < 0.011, "{worse:?}");
    let better_but_once = pooled(|round| if round == 3 { 0 } else { 10_000 });
    assert!(better_but_once.ratio.unwrap() > 10.0);
    assert_eq!((better_but_once.verdict, better_but_once.low), (Verdict::Inconclusive, None));
}
