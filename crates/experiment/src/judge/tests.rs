//! Verdicts on small tables whose answer is known beforehand.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::record::InvalidReason;

pub(crate) const BLOCKS: [f64; 8] = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 100.8, 99.8];

fn sample(variant: &str, block: Option<u32>, value: f64) -> Sample {
    let (workload, metric) = ("oltp".to_string(), "iops".to_string());
    Sample {
        workload,
        metric,
        variant: variant.to_string(),
        block,
        sequence: 0,
        value,
        requests: None,
        invalid: Vec::new(),
    }
}

/// Eight blocks of a baseline, and of variants that are `factor` times the baseline with a little
/// noise of their own.
fn table(variants: &[(&str, f64)]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (block, base) in BLOCKS.iter().enumerate() {
        samples.push(sample("none", Some(block as u32), *base));
        for (i, (variant, factor)) in variants.iter().enumerate() {
            let wobble = 1.0 + 0.001 * ((block * 7 + i * 3) % 5) as f64;
            samples.push(sample(variant, Some(block as u32), base * factor * wobble));
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

    fn judge(&self, samples: &[Sample]) -> Vec<Judgement> {
        let question = Question {
            workload: "oltp",
            metric: "iops",
            primary: true,
            baseline: "none",
            variants: &self.variants,
            direction: self.direction,
            criteria: &self.criteria,
            looks: self.looks,
        };
        judge(&question, &samples.iter().collect::<Vec<_>>())
    }

    fn one(&self, samples: &[Sample]) -> Judgement {
        self.judge(samples).remove(0)
    }
}

fn verdicts(judgements: &[Judgement]) -> Vec<Verdict> {
    judgements.iter().map(|judgement| judgement.verdict).collect()
}

#[test]
fn clear_cases_get_the_verdict_that_anybody_would_give() {
    use Verdict::{Better, Equivalent, Worse};
    let samples = table(&[("kyber", 1.2), ("bfq", 0.7), ("mq-deadline", 1.0)]);
    let asked = Asked::about(&["kyber", "bfq", "mq-deadline"]);
    let judged = asked.judge(&samples);
    assert_eq!(verdicts(&judged), [Better, Worse, Equivalent]);
    assert!((judged[0].ratio.unwrap() - 1.2024).abs() < 0.001, "{:?}", judged[0]);
    assert_eq!((judged[0].blocks, judged[0].invalid_blocks, judged[0].log_ratios.len()), (8, 0, 8));
    let reversed = Asked { direction: Direction::LowerIsBetter, ..asked };
    assert_eq!(verdicts(&reversed.judge(&samples)), [Worse, Better, Equivalent]);
}

#[test]
fn the_shown_interval_always_agrees_with_the_verdict_and_holds_the_estimate() {
    let margin = 0.01_f64.ln_1p();
    for factor in [0.5, 0.97, 0.985, 0.99, 1.0, 1.003, 1.01, 1.02, 1.05, 3.0] {
        let asked = Asked::about(&["a", "b", "c"]);
        for judgement in asked.judge(&table(&[("a", factor), ("b", 1.0), ("c", 1.5)])) {
            let log = |end: Option<f64>, otherwise: f64| end.map_or(otherwise, f64::ln);
            let shown = Interval {
                low: log(judgement.low, f64::NEG_INFINITY),
                high: log(judgement.high, f64::INFINITY),
            };
            assert!(shown.contains(judgement.ratio.unwrap().ln()));
            match judgement.verdict {
                Verdict::Better => assert!(shown.low > margin, "{judgement:?}"),
                Verdict::Worse => assert!(shown.high < -margin, "{judgement:?}"),
                Verdict::Equivalent => assert!(equivalent(&shown, margin), "{judgement:?}"),
                Verdict::Inconclusive => {
                    assert!(
                        !differs(&shown, margin) && !equivalent(&shown, margin),
                        "{judgement:?}"
                    );
                }
                Verdict::Invalid => panic!("nothing is invalid here: {judgement:?}"),
            }
        }
    }
}

#[test]
fn holm_lends_the_level_of_a_decided_variant_to_the_others_of_its_kind_and_stopped_variants_still_count()
 {
    let asked = Asked::about(&["kyber", "bfq", "absent"]);
    let judged = asked.judge(&table(&[("kyber", 1.2), ("bfq", 1.02)]));
    assert!(
        (judged[0].confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12,
        "first of three: {}",
        judged[0].confidence
    );
    assert_eq!(judged[2].verdict, Verdict::Invalid);
    assert_eq!(judged[2].reasons, ["there is no value of absent".into()]);
}

#[test]
fn an_undecided_variant_is_shown_at_the_stricter_of_the_two_levels_that_it_may_be_judged_at() {
    let mut samples = table(&[("kyber", 1.2), ("bfq", 1.0)]);
    // Scatter that leaves the second variant open.
    for (i, sample) in samples.iter_mut().filter(|sample| sample.variant == "bfq").enumerate() {
        sample.value *= if i % 2 == 0 { 1.04 } else { 0.97 };
    }
    let judged = Asked::about(&["kyber", "bfq"]).judge(&samples);
    assert_eq!(verdicts(&judged), [Verdict::Better, Verdict::Inconclusive]);
    // A claim of difference would now be judged at alpha, one of equivalence still at alpha / 2.
    assert!((judged[1].confidence - 0.975).abs() < 1e-12, "{}", judged[1].confidence);
}

#[test]
fn invalid_blocks_are_left_out_counted_and_named_with_their_first_example() {
    let mut samples = table(&[("kyber", 1.2)]);
    let foreign = InvalidReason::ForeignIo { share: 0.12, limit: 0.05 };
    samples[5].invalid = vec![foreign];
    let asked = Asked::about(&["kyber"]);
    let judgement = asked.one(&samples);
    assert_eq!(
        (judgement.verdict, judgement.blocks, judgement.invalid_blocks),
        (Verdict::Better, 7, 1)
    );
    let words = "1 of 8 blocks invalid: others used the device (in block 3, kyber: others moved 12.0 % of the device's bytes, \
                 more than the bound of 5.0 %: their work was measured too)";
    assert_eq!(judgement.reasons[0].to_string(), words);
}

#[test]
fn too_many_invalid_blocks_make_the_judgement_invalid() {
    let mut samples = table(&[("kyber", 1.2)]);
    for i in [1, 3] {
        samples[i].invalid = vec![InvalidReason::Throttled { events: 2 }];
    }
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(
        (judgement.verdict, judgement.invalid_blocks),
        (Verdict::Invalid, 2),
        "2 of 8 are more than 20 %"
    );
    assert_eq!((judgement.ratio, judgement.low), (None, None));
    assert!(
        judgement.reasons[0]
            .to_string()
            .starts_with("2 of 8 blocks invalid: CPU throttled (first in block 1"),
        "{judgement:?}"
    );
    let mut patient = Asked::about(&["kyber"]);
    patient.criteria.max_invalid_share = 0.25;
    assert_eq!(patient.one(&samples).verdict, Verdict::Better);
}

#[test]
fn a_trial_that_the_user_cut_off_leaves_its_block_unfinished_and_the_evidence_valid() {
    let mut samples = table(&[("kyber", 1.2)]);
    for i in [11, 13, 15] {
        samples[i].invalid = vec![InvalidReason::Interrupted { by: "SIGINT".to_string() }];
    }
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(
        (judgement.verdict, judgement.blocks, judgement.invalid_blocks),
        (Verdict::Better, 5, 0)
    );
    assert!(
        judgement.reasons.iter().any(|reason| reason.to_string().contains("3 unfinished")),
        "{judgement:?}"
    );
}

#[test]
fn an_experiment_cut_off_in_its_first_block_is_inconclusive_and_not_invalid() {
    for method in [Method::Anytime, Method::Fixed] {
        let mut samples: Vec<Sample> = table(&[("kyber", 1.2)]).into_iter().take(2).collect();
        samples[1].invalid = vec![InvalidReason::Interrupted { by: "SIGTERM".to_string() }];
        let mut asked = Asked::about(&["kyber"]);
        asked.criteria.method = method;
        let judgement = asked.one(&samples);
        assert_eq!(
            (judgement.verdict, judgement.blocks, judgement.ratio),
            (Verdict::Inconclusive, 0, None),
            "{judgement:?}"
        );
    }
}

#[test]
fn values_that_cannot_be_put_on_a_log_scale_are_invalid_and_named() {
    for bad in [0.0, -3.0, f64::NAN, f64::INFINITY] {
        let mut samples = table(&[("kyber", 1.2)]);
        samples[0].value = bad;
        let judgement = Asked::about(&["kyber"]).one(&samples);
        assert_eq!((judgement.blocks, judgement.invalid_blocks), (7, 1), "{bad}");
        assert!(
            judgement.reasons[0].to_string().contains("log scale")
                && judgement.reasons[0].to_string().contains(&format!("iops is {bad}"))
        );
    }
}

#[test]
fn the_last_block_of_a_cut_record_is_incomplete_and_not_invalid() {
    let mut samples = table(&[("kyber", 1.2)]);
    samples.remove(14);
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((judgement.blocks, judgement.invalid_blocks), (7, 0));
    assert!(
        judgement
            .reasons
            .iter()
            .any(|reason| reason.to_string().contains("1 unfinished: no whole pair with none")),
        "{judgement:?}"
    );
}

#[test]
fn several_values_in_one_block_are_one_unit_of_evidence() {
    let mut samples = table(&[("kyber", 1.2)]);
    let once = Asked::about(&["kyber"]).one(&samples);
    samples.extend(samples.clone());
    let twice = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((once.blocks, once.low), (twice.blocks, twice.low));
}

#[test]
fn one_observation_per_variant_gives_a_ratio_without_an_interval() {
    for block in [None, Some(0)] {
        let judgement = Asked::about(&["cfq"])
            .one(&[sample("none", block, 1000.0), sample("cfq", block, 1300.0)]);
        assert_eq!(
            (judgement.verdict, judgement.low, judgement.high),
            (Verdict::Inconclusive, None, None)
        );
        assert!((judgement.ratio.unwrap() - 1.3).abs() < 1e-12);
        assert!(
            judgement
                .reasons
                .contains(&"one observation per variant: no variance, so no interval".into())
        );
    }
}

#[test]
fn without_blocks_welchs_interval_is_used_and_said_so() {
    let samples: Vec<Sample> =
        table(&[("kyber", 1.3)]).into_iter().map(|s| Sample { block: None, ..s }).collect();
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!((judgement.verdict, judgement.blocks), (Verdict::Better, 8));
    assert!(
        judgement.reasons.iter().any(|reason| reason.to_string().contains("Welch")),
        "{judgement:?}"
    );
    assert!(judgement.log_ratios.is_empty());
}

#[test]
fn the_three_sigma_rule_knows_no_margin_and_never_finds_equivalence() {
    let mut asked = Asked::about(&["kyber", "bfq", "mq-deadline"]);
    asked.criteria.method = Method::ThreeSigma;
    // The baseline's values spread by 0.7 %, and 1.2 % are within three of them.
    let variants = [("kyber", 1.1), ("bfq", 1.012), ("mq-deadline", 0.7)];
    let judged = asked.judge(&table(&variants));
    assert_eq!(verdicts(&judged), [Verdict::Better, Verdict::Inconclusive, Verdict::Worse]);
    assert_eq!((judged[0].confidence, judged[0].more_blocks), (0.9973, None));
    asked.direction = Direction::LowerIsBetter;
    assert_eq!(
        verdicts(&asked.judge(&table(&variants))),
        [Verdict::Worse, Verdict::Inconclusive, Verdict::Better]
    );
    asked.criteria.method = Method::Fixed;
    let judged = asked.judge(&table(&variants));
    assert_eq!(
        judged[1].verdict,
        Verdict::Worse,
        "twelve steady thousandths are beyond the margin: {:?}",
        judged[1]
    );
}

#[test]
fn an_inconclusive_judgement_says_how_many_more_blocks_would_probably_settle_it() {
    let samples: Vec<Sample> =
        table(&[("kyber", 1.02)]).into_iter().filter(|s| s.block < Some(3)).collect();
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    let more = judgement.more_blocks.expect("the effect is clear and the noise is small");
    assert!((1..10).contains(&more), "{more}");
    // What lies on the margin is never settled.
    let on_the_margin: Vec<Sample> = BLOCKS
        .iter()
        .enumerate()
        .flat_map(|(i, base)| {
            let factor = if i % 2 == 0 { 1.01 * 1.05 } else { 1.01 / 1.05 };
            [sample("none", Some(i as u32), *base), sample("kyber", Some(i as u32), base * factor)]
        })
        .collect();
    assert_eq!(Asked::about(&["kyber"]).one(&on_the_margin).more_blocks, None);
}

#[test]
fn outliers_are_flagged_and_kept() {
    let mut samples = table(&[("kyber", 1.2)]);
    samples[7].value *= 3.0;
    let judgement = Asked::about(&["kyber"]).one(&samples);
    assert_eq!(judgement.blocks, 8);
    assert!(
        judgement.reasons.contains(&"1 of 8 blocks far from the others, flagged and kept".into()),
        "{judgement:?}"
    );
}

#[test]
fn exactly_equal_ratios_are_settled_late_and_called_coarse() {
    let flat = |blocks: u32| -> Vec<Sample> {
        (0..blocks)
            .flat_map(|b| [sample("none", Some(b), 84.0), sample("kyber", Some(b), 80.0)])
            .collect()
    };
    let early = Asked::about(&["kyber"]).one(&flat(3));
    assert_eq!(early.verdict, Verdict::Inconclusive);
    let late = Asked::about(&["kyber"]).one(&flat(6));
    assert_eq!(late.verdict, Verdict::Worse);
    assert!(late.reasons[0].to_string().contains("too coarse"), "{late:?}");
}

/// A sample of a rate that this number of requests makes in a trial of a second.
fn counted(variant: &str, block: u32, requests: u64) -> Sample {
    Sample { requests: Some(requests), ..sample(variant, Some(block), requests as f64) }
}

/// Eight blocks in which the variant completes this many requests, and the baseline about as many
/// as is said.
fn starving(variant: impl Fn(u32) -> u64, baseline: impl Fn(u32) -> u64) -> Vec<Sample> {
    (0..8)
        .flat_map(|block| {
            [counted("none", block, baseline(block)), counted("bfq", block, variant(block))]
        })
        .collect()
}

#[test]
fn a_starved_variant_is_worse_and_its_change_a_bound() {
    let judged = Asked::about(&["bfq"]).one(&starving(|_| 0, |block| 98 + u64::from(block)));
    assert_eq!(judged.verdict, Verdict::Worse);
    assert!(judged.low.is_none() && judged.high.unwrap() < 0.02, "{judged:?}");
    assert!(
        (judged.ratio.unwrap() * 101.5 - 1.0).abs() < 0.01,
        "less than one request in each trial: {judged:?}"
    );
    assert!((judged.variant_mean.unwrap() - 1.0).abs() < 1e-9);
    let words = "bfq completed no requests in 8 of 8 blocks: the change is a bound, and the truth is further out";
    assert!(judged.reasons.contains(&Reason::from(words)), "{:?}", judged.reasons);
}

#[test]
fn a_starved_baseline_makes_the_other_variant_better() {
    let judged = Asked::about(&["bfq"]).one(&starving(|block| 98 + u64::from(block), |_| 0));
    assert_eq!(judged.verdict, Verdict::Better);
    assert!(judged.low.unwrap() > 50.0 && judged.high.is_none(), "{judged:?}");
}

#[test]
fn a_starved_latency_is_at_least_the_trial() {
    let asked = Asked { direction: Direction::LowerIsBetter, ..Asked::about(&["bfq"]) };
    let waits = |block: u32| {
        let starved = Sample { requests: Some(0), ..sample("bfq", Some(block), 1e6) };
        [
            Sample {
                requests: Some(2000),
                ..sample("none", Some(block), 500.0 + f64::from(block))
            },
            starved,
        ]
    };
    let judged = asked.one(&(0..8).flat_map(waits).collect::<Vec<_>>());
    assert_eq!(judged.verdict, Verdict::Worse);
    assert!(judged.low.unwrap() > 1900.0 && judged.high.is_none(), "{judged:?}");
}

#[test]
fn starvation_on_both_sides_is_no_evidence() {
    let judged = Asked::about(&["bfq"]).one(&starving(|_| 0, |_| 0));
    assert_eq!(judged.verdict, Verdict::Invalid);
    assert!(judged.reasons[0].to_string().contains("make it longer"), "{:?}", judged.reasons);
    let waited = |variant: &str, block: u32| Sample {
        requests: Some(0),
        ..sample(variant, Some(block), 1e6)
    };
    let waits: Vec<Sample> =
        (0..8).flat_map(|block| ["none", "bfq"].map(|variant| waited(variant, block))).collect();
    let asked = Asked { direction: Direction::LowerIsBetter, ..Asked::about(&["bfq"]) };
    assert_eq!(
        asked.one(&waits).verdict,
        Verdict::Invalid,
        "two bounds say nothing of their ratio"
    );
}

#[test]
fn a_bound_equal_to_the_baseline_is_not_equivalent() {
    let judged = Asked::about(&["bfq"]).one(&starving(|_| 0, |_| 1));
    assert_eq!((judged.verdict, judged.ratio), (Verdict::Inconclusive, Some(1.0)));
    assert!(judged.low.is_none() && judged.high.is_some());
}

#[test]
fn one_starved_trial_forbids_better() {
    let judged =
        Asked::about(&["bfq"]).one(&starving(|block| if block == 3 { 0 } else { 900 }, |_| 100));
    assert_eq!(
        judged.verdict,
        Verdict::Inconclusive,
        "a starved trial may be worse by any factor: {judged:?}"
    );
    assert!(judged.low.is_none());
}

/// Requests of a trial that come at random: often none.
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
    let looks = Looks { planned: Some(16), ended: true, no_early_stop: true };
    let asked = Asked { looks, ..Asked::about(&["bfq"]) };
    let mut rng = SmallRng::seed_from_u64(30);
    for mean in [0.3, 1.0, 3.0] {
        let found = (0..500).filter(|_| {
            let mut samples = Vec::new();
            for block in 0..16 {
                samples.extend(
                    ["none", "bfq"].map(|variant| counted(variant, block, few(&mut rng, mean))),
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
