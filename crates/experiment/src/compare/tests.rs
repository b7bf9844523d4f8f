//! Verdicts on small tables with known answers.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::results::InvalidReason;

pub(crate) const ROUNDS: [f64; 8] = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 100.8, 99.8];

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

/// Eight rounds of a baseline, and of variants at `factor` times it with slight noise.
fn table(variants: &[(&str, f64)]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (round, base) in ROUNDS.iter().enumerate() {
        samples.push(sample("none", Some(round as u32), *base));
        for (i, (variant, factor)) in variants.iter().enumerate() {
            let wobble = 1.0 + 0.001 * ((round * 7 + i * 3) % 5) as f64;
            samples.push(sample(variant, Some(round as u32), base * factor * wobble));
        }
    }
    samples
}

struct Asked {
    variants: Vec<String>,
    direction: Direction,
    criteria: Criteria,
    looks: Looks,
}

impl Asked {
    fn about(variants: &[&str]) -> Asked {
        let variants = variants.iter().map(|variant| variant.to_string()).collect();
        Asked {
            variants,
            direction: Direction::HigherIsBetter,
            criteria: Criteria::default(),
            looks: Looks::default(),
        }
    }

    fn compare(&self, samples: &[Sample]) -> Vec<Comparison> {
        let question = Question {
            workload: "oltp",
            metric: "iops",
            primary: true,
            baseline: "none",
            variants: &self.variants,
            direction: self.direction,
            criteria: &self.criteria,
            looks: self.looks,
            projects: true,
        };
        compare(&question, &samples.iter().collect::<Vec<_>>())
    }

    fn one(&self, samples: &[Sample]) -> Comparison {
        self.compare(samples).remove(0)
    }
}

fn verdicts(comparisons: &[Comparison]) -> Vec<Verdict> {
    comparisons.iter().map(|comparison| comparison.verdict).collect()
}

#[test]
fn clear_cases_get_the_verdict_that_anybody_would_give() {
    use Verdict::{Better, Equivalent, Worse};
    let samples = table(&[("kyber", 1.2), ("bfq", 0.7), ("mq-deadline", 1.0)]);
    let asked = Asked::about(&["kyber", "bfq", "mq-deadline"]);
    let compared = asked.compare(&samples);
    assert_eq!(verdicts(&compared), [Better, Worse, Equivalent]);
    assert!((compared[0].ratio.unwrap() - 1.2024).abs() < 0.001, "{:?}", compared[0]);
    assert_eq!(
        (compared[0].rounds, compared[0].invalid_rounds, compared[0].log_ratios.len()),
        (8, 0, 8)
    );
    let reversed = Asked { direction: Direction::LowerIsBetter, ..asked };
    assert_eq!(verdicts(&reversed.compare(&samples)), [Worse, Better, Equivalent]);
}

#[test]
fn the_shown_interval_always_agrees_with_the_verdict_and_holds_the_estimate() {
    let margin = 0.01_f64.ln_1p();
    for factor in [0.5, 0.97, 0.985, 0.99, 1.0, 1.003, 1.01, 1.02, 1.05, 3.0] {
        let asked = Asked::about(&["a", "b", "c"]);
        for comparison in asked.compare(&table(&[("a", factor), ("b", 1.0), ("c", 1.5)])) {
            let log = |end: Option<f64>, otherwise: f64| end.map_or(otherwise, f64::ln);
            let shown = Interval {
                low: log(comparison.low, f64::NEG_INFINITY),
                high: log(comparison.high, f64::INFINITY),
            };
            assert!(shown.contains(comparison.ratio.unwrap().ln()));
            match comparison.verdict {
                Verdict::Better => assert!(shown.low > margin, "{comparison:?}"),
                Verdict::Worse => assert!(shown.high < -margin, "{comparison:?}"),
                Verdict::Equivalent => assert!(equivalent(&shown, margin), "{comparison:?}"),
                Verdict::Inconclusive => {
                    assert!(
                        !differs(&shown, margin) && !equivalent(&shown, margin),
                        "{comparison:?}"
                    );
                }
                Verdict::Invalid => panic!("nothing is invalid here: {comparison:?}"),
            }
        }
    }
}

#[test]
fn holm_lends_the_level_of_a_decided_variant_to_the_others_of_its_kind_and_stopped_variants_still_count()
 {
    let asked = Asked::about(&["kyber", "bfq", "absent"]);
    let compared = asked.compare(&table(&[("kyber", 1.2), ("bfq", 1.02)]));
    assert!(
        (compared[0].confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12,
        "first of three: {}",
        compared[0].confidence
    );
    assert_eq!(compared[2].verdict, Verdict::Invalid);
    assert_eq!(compared[2].reasons, ["no value of absent".into()]);
}

#[test]
fn an_undecided_variant_is_shown_at_the_stricter_of_the_two_levels_that_it_may_be_compared_at() {
    let mut samples = table(&[("kyber", 1.2), ("bfq", 1.0)]);
    // Scatter that leaves the second variant undecided.
    for (i, sample) in samples.iter_mut().filter(|sample| sample.variant == "bfq").enumerate() {
        sample.value *= if i % 2 == 0 { 1.04 } else { 0.97 };
    }
    let compared = Asked::about(&["kyber", "bfq"]).compare(&samples);
    assert_eq!(verdicts(&compared), [Verdict::Better, Verdict::Inconclusive]);
    // A claim of difference would now be tested at alpha, one of equivalence still at alpha / 2.
    assert!((compared[1].confidence - 0.975).abs() < 1e-12, "{}", compared[1].confidence);
}

#[test]
fn invalid_rounds_are_left_out_counted_and_named_with_their_first_example() {
    let mut samples = table(&[("kyber", 1.2)]);
    let foreign = InvalidReason::ForeignIo { share: 0.12, limit: 0.05 };
    samples[5].invalid = vec![foreign];
    let asked = Asked::about(&["kyber"]);
    let comparison = asked.one(&samples);
    assert_eq!(
        (comparison.verdict, comparison.rounds, comparison.invalid_rounds),
        (Verdict::Better, 7, 1)
    );
    let words = "1 of 8 rounds invalid: others used the device (in round 3, kyber: other programs moved 12.0 % of the device's bytes, \
                 more than the bound of 5.0 %: their work was measured too)";
    assert_eq!(comparison.reasons[0].to_string(), words);
}

#[test]
fn too_many_invalid_rounds_make_the_comparison_invalid() {
    let mut samples = table(&[("kyber", 1.2)]);
    for i in [1, 3] {
        samples[i].invalid = vec![InvalidReason::Throttled { events: 2 }];
    }
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(
        (comparison.verdict, comparison.invalid_rounds),
        (Verdict::Invalid, 2),
        "2 of 8 are more than 20 %"
    );
    assert_eq!((comparison.ratio, comparison.low), (None, None));
    assert!(
        comparison.reasons[0]
            .to_string()
            .starts_with("2 of 8 rounds invalid: CPU throttled (first in round 1"),
        "{comparison:?}"
    );
    let mut patient = Asked::about(&["kyber"]);
    patient.criteria.max_invalid_share = 0.25;
    assert_eq!(patient.one(&samples).verdict, Verdict::Better);
}

#[test]
fn a_trial_that_the_user_cut_off_leaves_its_round_unfinished_and_the_evidence_valid() {
    let mut samples = table(&[("kyber", 1.2)]);
    for i in [11, 13, 15] {
        samples[i].invalid = vec![InvalidReason::Interrupted { by: "SIGINT".to_string() }];
    }
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(
        (comparison.verdict, comparison.rounds, comparison.invalid_rounds),
        (Verdict::Better, 5, 0)
    );
    assert!(
        comparison.reasons.iter().any(|reason| reason.to_string().contains("3 unfinished")),
        "{comparison:?}"
    );
}

#[test]
fn an_experiment_cut_off_in_its_first_round_is_inconclusive_and_not_invalid() {
    for method in [Method::Anytime, Method::Fixed] {
        let mut samples: Vec<Sample> = table(&[("kyber", 1.2)]).into_iter().take(2).collect();
        samples[1].invalid = vec![InvalidReason::Interrupted { by: "SIGTERM".to_string() }];
        let mut asked = Asked::about(&["kyber"]);
        asked.criteria.method = method;
        let comparison = asked.one(&samples);
        assert_eq!(
            (comparison.verdict, comparison.rounds, comparison.ratio),
            (Verdict::Inconclusive, 0, None),
            "{comparison:?}"
        );
    }
}

#[test]
fn values_that_cannot_be_put_on_a_log_scale_are_invalid_and_named() {
    for bad in [0.0, -3.0, f64::NAN, f64::INFINITY] {
        let mut samples = table(&[("kyber", 1.2)]);
        samples[0].value = bad;
        let comparison = Asked::about(&["kyber"]).one(&samples);
        assert_eq!((comparison.rounds, comparison.invalid_rounds), (7, 1), "{bad}");
        assert!(
            comparison.reasons[0].to_string().contains("log scale")
                && comparison.reasons[0].to_string().contains(&format!("iops is {bad}"))
        );
    }
}

#[test]
fn the_last_round_of_cut_results_are_incomplete_and_not_invalid() {
    let mut samples = table(&[("kyber", 1.2)]);
    samples.remove(14);
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((comparison.rounds, comparison.invalid_rounds), (7, 0));
    assert!(
        comparison
            .reasons
            .iter()
            .any(|reason| reason.to_string().contains("1 unfinished: no whole pair with none")),
        "{comparison:?}"
    );
}

#[test]
fn several_values_in_one_round_are_one_unit_of_evidence() {
    let mut samples = table(&[("kyber", 1.2)]);
    let once = Asked::about(&["kyber"]).one(&samples);
    samples.extend(samples.clone());
    let twice = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((once.rounds, once.low), (twice.rounds, twice.low));
}

#[test]
fn one_observation_per_variant_gives_a_ratio_without_an_interval() {
    for round in [None, Some(0)] {
        let comparison = Asked::about(&["cfq"])
            .one(&[sample("none", round, 1000.0), sample("cfq", round, 1300.0)]);
        assert_eq!(
            (comparison.verdict, comparison.low, comparison.high),
            (Verdict::Inconclusive, None, None)
        );
        assert!((comparison.ratio.unwrap() - 1.3).abs() < 1e-12);
        assert!(
            comparison
                .reasons
                .contains(&"one observation per variant: no variance, so no interval".into())
        );
    }
}

#[test]
fn without_rounds_welchs_interval_is_used_and_said_so() {
    let samples: Vec<Sample> =
        table(&[("kyber", 1.3)]).into_iter().map(|s| Sample { round: None, ..s }).collect();
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((comparison.verdict, comparison.rounds), (Verdict::Better, 8));
    assert!(
        comparison.reasons.iter().any(|reason| reason.to_string().contains("Welch")),
        "{comparison:?}"
    );
    assert!(comparison.log_ratios.is_empty());
}

#[test]
fn the_three_sigma_rule_knows_no_margin_and_never_finds_equivalence() {
    let mut asked = Asked::about(&["kyber", "bfq", "mq-deadline"]);
    asked.criteria.method = Method::ThreeSigma;
    // The baseline's values spread by 0.7 %, and 1.2 % are within three of them.
    let variants = [("kyber", 1.1), ("bfq", 1.012), ("mq-deadline", 0.7)];
    let compared = asked.compare(&table(&variants));
    assert_eq!(verdicts(&compared), [Verdict::Better, Verdict::Inconclusive, Verdict::Worse]);
    assert_eq!((compared[0].confidence, compared[0].more_rounds), (0.9973, None));
    asked.direction = Direction::LowerIsBetter;
    assert_eq!(
        verdicts(&asked.compare(&table(&variants))),
        [Verdict::Worse, Verdict::Inconclusive, Verdict::Better]
    );
    asked.criteria.method = Method::Fixed;
    let compared = asked.compare(&table(&variants));
    assert_eq!(
        compared[1].verdict,
        Verdict::Worse,
        "twelve steady thousandths are beyond the margin: {:?}",
        compared[1]
    );
}

#[test]
fn an_inconclusive_comparison_says_how_many_more_rounds_would_probably_settle_it() {
    let samples: Vec<Sample> =
        table(&[("kyber", 1.02)]).into_iter().filter(|s| s.round < Some(3)).collect();
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(comparison.verdict, Verdict::Inconclusive);
    let more = comparison.more_rounds.expect("the effect is clear and the noise is small");
    assert!((1..10).contains(&more), "{more}");
    // A value on the margin is never decided.
    let on_the_margin: Vec<Sample> = ROUNDS
        .iter()
        .enumerate()
        .flat_map(|(i, base)| {
            let factor = if i % 2 == 0 { 1.01 * 1.05 } else { 1.01 / 1.05 };
            [sample("none", Some(i as u32), *base), sample("kyber", Some(i as u32), base * factor)]
        })
        .collect();
    assert_eq!(Asked::about(&["kyber"]).one(&on_the_margin).more_rounds, None);
}

#[test]
fn outliers_are_flagged_and_kept() {
    let mut samples = table(&[("kyber", 1.2)]);
    samples[7].value *= 3.0;
    let comparison = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(comparison.rounds, 8);
    assert!(
        comparison.reasons.contains(&"1 of 8 rounds far from the others, flagged and kept".into()),
        "{comparison:?}"
    );
}

#[test]
fn exactly_equal_ratios_are_settled_late_and_called_coarse() {
    let flat = |rounds: u32| -> Vec<Sample> {
        (0..rounds)
            .flat_map(|b| [sample("none", Some(b), 84.0), sample("kyber", Some(b), 80.0)])
            .collect()
    };
    let early = Asked::about(&["kyber"]).one(&flat(3));
    assert_eq!(early.verdict, Verdict::Inconclusive);
    let ended = Looks { planned: Some(4), ended: true, ..Looks::default() };
    let short = Asked { looks: ended, ..Asked::about(&["kyber"]) }.one(&flat(4));
    assert_eq!((short.verdict, short.new_plan_rounds), (Verdict::Inconclusive, Some(6)));
    let late = Asked::about(&["kyber"]).one(&flat(6));
    assert_eq!(late.verdict, Verdict::Worse);
    assert!(late.reasons[0].to_string().contains("too coarse"), "{late:?}");
}

/// A sample of a rate from this number of requests in a one-second trial.
fn counted(variant: &str, round: u32, requests: u64) -> Sample {
    Sample { requests: Some(requests), ..sample(variant, Some(round), requests as f64) }
}

/// Eight rounds with these numbers of requests for variant and baseline.
fn starving(variant: impl Fn(u32) -> u64, baseline: impl Fn(u32) -> u64) -> Vec<Sample> {
    (0..8)
        .flat_map(|round| {
            [counted("none", round, baseline(round)), counted("bfq", round, variant(round))]
        })
        .collect()
}

#[test]
fn a_starved_variant_is_worse_and_its_change_a_bound() {
    let compared = Asked::about(&["bfq"]).one(&starving(|_| 0, |round| 98 + u64::from(round)));
    assert_eq!(compared.verdict, Verdict::Worse);
    assert!(compared.low.is_none() && compared.high.unwrap() < 0.02, "{compared:?}");
    assert!(
        (compared.ratio.unwrap() * 101.5 - 1.0).abs() < 0.01,
        "less than one request in each trial: {compared:?}"
    );
    assert!((compared.variant_mean.unwrap() - 1.0).abs() < 1e-9);
    let words = "bfq completed no requests in 8 of 8 rounds: the change is a bound, and the truth is further out";
    assert!(compared.reasons.contains(&Reason::from(words)), "{:?}", compared.reasons);
}

#[test]
fn a_starved_baseline_makes_the_other_variant_better() {
    let compared = Asked::about(&["bfq"]).one(&starving(|round| 98 + u64::from(round), |_| 0));
    assert_eq!(compared.verdict, Verdict::Better);
    assert!(compared.low.unwrap() > 50.0 && compared.high.is_none(), "{compared:?}");
}

#[test]
fn a_starved_latency_is_at_least_the_trial() {
    let asked = Asked { direction: Direction::LowerIsBetter, ..Asked::about(&["bfq"]) };
    let waits = |round: u32| {
        let starved = Sample { requests: Some(0), ..sample("bfq", Some(round), 1e6) };
        [
            Sample {
                requests: Some(2000),
                ..sample("none", Some(round), 500.0 + f64::from(round))
            },
            starved,
        ]
    };
    let compared = asked.one(&(0..8).flat_map(waits).collect::<Vec<_>>());
    assert_eq!(compared.verdict, Verdict::Worse);
    assert!(compared.low.unwrap() > 1900.0 && compared.high.is_none(), "{compared:?}");
}

#[test]
fn starvation_on_both_sides_is_no_evidence() {
    let compared = Asked::about(&["bfq"]).one(&starving(|_| 0, |_| 0));
    assert_eq!(compared.verdict, Verdict::Invalid);
    assert!(compared.reasons[0].to_string().contains("make it longer"), "{:?}", compared.reasons);
    let waited = |variant: &str, round: u32| Sample {
        requests: Some(0),
        ..sample(variant, Some(round), 1e6)
    };
    let waits: Vec<Sample> =
        (0..8).flat_map(|round| ["none", "bfq"].map(|variant| waited(variant, round))).collect();
    let asked = Asked { direction: Direction::LowerIsBetter, ..Asked::about(&["bfq"]) };
    assert_eq!(
        asked.one(&waits).verdict,
        Verdict::Invalid,
        "two bounds say nothing of their ratio"
    );
}

#[test]
fn a_bound_equal_to_the_baseline_is_not_equivalent() {
    let compared = Asked::about(&["bfq"]).one(&starving(|_| 0, |_| 1));
    assert_eq!((compared.verdict, compared.ratio), (Verdict::Inconclusive, Some(1.0)));
    assert!(compared.low.is_none() && compared.high.is_some());
}

/// Eight rounds of shares of missed deadlines, each with its number of requests.
fn missed(variant: impl Fn(u32) -> (f64, u64), baseline: impl Fn(u32) -> (f64, u64)) -> Comparison {
    let share = |name: &str, round: u32, (percent, requests): (f64, u64)| Sample {
        metric: "deadline_miss_percent".to_string(),
        requests: Some(requests),
        ..sample(name, Some(round), percent)
    };
    let samples: Vec<Sample> = (0..8)
        .flat_map(|round| {
            [share("none", round, baseline(round)), share("bfq", round, variant(round))]
        })
        .collect();
    Asked { direction: Direction::LowerIsBetter, ..Asked::about(&["bfq"]) }.one(&samples)
}

#[test]
fn variants_without_a_missed_deadline_are_equal_however_many_they_met() {
    let compared = missed(|round| (0.0, 900 + u64::from(round)), |_| (0.0, 400));
    assert_eq!((compared.verdict, compared.ratio), (Verdict::Equivalent, Some(1.0)));
    assert_eq!((compared.variant_mean, compared.baseline_mean), (Some(0.0), Some(0.0)));
    assert!(compared.reasons.is_empty(), "{:?}", compared.reasons);
}

#[test]
fn no_missed_deadline_counts_as_half_a_one() {
    let compared = missed(|_| (0.0, 1000), |round| (5.0 + f64::from(round % 2), 1000));
    assert_eq!(compared.verdict, Verdict::Better);
    let ratio = compared.ratio.unwrap();
    assert!((ratio * 5.477 / 0.05 - 1.0).abs() < 0.01, "{compared:?}");
    let words = "bfq has 0 in 8 of 8 rounds: half an event is assumed, so the size of the change is uncertain";
    assert!(compared.reasons.contains(&Reason::from(words)), "{:?}", compared.reasons);
    let compared = missed(|round| (f64::from(round % 2), 1000), |_| (0.0, 1000));
    assert_eq!(compared.verdict, Verdict::Inconclusive, "{compared:?}");
    assert!(compared.low.is_some() && compared.high.is_some(), "a count of 0 is no bound");
}

#[test]
fn one_starved_trial_forbids_better() {
    let compared =
        Asked::about(&["bfq"]).one(&starving(|round| if round == 3 { 0 } else { 900 }, |_| 100));
    assert_eq!(
        compared.verdict,
        Verdict::Inconclusive,
        "a starved trial may be worse by any factor: {compared:?}"
    );
    assert!(compared.low.is_none());
}

fn few(rng: &mut SmallRng, mean: f64) -> u64 {
    let (mut product, mut requests) = (rng.random::<f64>(), 0);
    while product > (-mean).exp() {
        product *= rng.random::<f64>();
        requests += 1;
    }
    requests
}

#[test]
fn equal_variants_that_starve_at_random_give_few_findings() {
    let looks = Looks { planned: Some(16), ended: true, no_early_stop: true, ..Looks::default() };
    let asked = Asked { looks, ..Asked::about(&["bfq"]) };
    let mut rng = SmallRng::seed_from_u64(30);
    for mean in [0.3, 1.0, 3.0] {
        let found = (0..500).filter(|_| {
            let mut samples = Vec::new();
            for round in 0..16 {
                samples.extend(
                    ["none", "bfq"].map(|variant| counted(variant, round, few(&mut rng, mean))),
                );
            }
            !matches!(asked.one(&samples).verdict, Verdict::Inconclusive | Verdict::Invalid)
        });
        let found = found.count();
        assert!(
            found <= 25,
            "{mean} requests a trial: {found} findings of 500 where 5 % are allowed"
        );
    }
}

#[test]
fn between_two_looks_of_a_long_experiment_the_evidence_is_that_of_the_former() {
    let mut rng = SmallRng::seed_from_u64(5);
    let samples: Vec<Sample> = (0..209)
        .flat_map(|round| {
            let value = 100.0 * rng.random_range(0.8..1.25);
            [sample("none", Some(round), 100.0), sample("kyber", Some(round), value)]
        })
        .collect();
    let asked = |each_round, ended| Asked {
        looks: Looks { planned: Some(400), ended, each_round, ..Looks::default() },
        ..Asked::about(&["kyber"])
    };
    let thin = |rounds: usize| asked(false, false).one(&samples[..2 * rounds]);
    assert_eq!([204, 205, 208, 209].map(|rounds| thin(rounds).rounds), [204, 204, 204, 209]);
    assert_eq!(
        (thin(208).ratio, thin(208).low, thin(208).high, thin(208).log_ratios),
        (thin(204).ratio, thin(204).low, thin(204).high, thin(204).log_ratios)
    );
    let to_go = [204, 208].map(|rounds| thin(rounds).more_rounds.or(thin(rounds).new_plan_rounds));
    assert!(to_go[0].is_some() && to_go[0] == to_go[1], "{to_go:?}");
    let each = asked(true, false).one(&samples[..416]);
    let ended = asked(false, true).one(&samples[..416]);
    assert_eq!((each.rounds, ended.rounds), (208, 208), "schema 2, and the end");
    assert!(ended.low > each.low, "the end spends the rest: {ended:?} {each:?}");
}
