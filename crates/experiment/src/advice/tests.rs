//! Advice on hand-made comparisons.

use super::*;

fn comparison(workload: &str, variant: &str, verdict: Verdict, ratio: f64) -> Comparison {
    let ratio = (verdict != Verdict::Invalid).then_some(ratio);
    Comparison {
        workload: workload.to_string(),
        metric: "iops".to_string(),
        primary: true,
        variant: variant.to_string(),
        baseline: "none".to_string(),
        variant_mean: None,
        baseline_mean: None,
        ratio,
        low: ratio.map(|ratio| ratio - 0.03),
        high: ratio.map(|ratio| ratio + 0.03),
        verdict,
        rounds: 8,
        invalid_rounds: 0,
        confidence: 0.983,
        more_rounds: (verdict == Verdict::Inconclusive).then_some(14),
        new_plan_rounds: None,
        reasons: if verdict == Verdict::Invalid {
            vec!["8 of 8 rounds invalid: device errors".into()]
        } else {
            vec![]
        },
        log_ratios: vec![],
    }
}

fn advise(comparisons: &[Comparison]) -> Recommendation {
    let mut workloads: Vec<String> =
        comparisons.iter().map(|comparison| comparison.workload.clone()).collect();
    workloads.dedup();
    recommend(comparisons, &workloads, &Criteria::default(), &|metric| {
        crate::metric::direction_of(metric).unwrap_or(crate::metric::Direction::Descriptive)
    })
}

use Verdict::{Better, Equivalent, Inconclusive, Invalid, Worse};

#[test]
fn the_better_variant_with_the_largest_gain_is_recommended_in_a_sentence_that_a_tired_dba_understands()
 {
    let advice = advise(&[
        comparison("oltp", "bfq", Better, 1.05),
        comparison("oltp", "kyber", Better, 1.12),
    ]);
    assert_eq!(advice.variant.as_deref(), Some("kyber"));
    assert_eq!(
        advice.sentence,
        "Use kyber for oltp: 12 % more IO/s than none (between 9 % and 15 %, 95 % sure). \
         bfq is better too: 5 % more IO/s than none (between 2 % and 8 %, 95 % sure)."
    );
}

#[test]
fn for_a_latency_less_is_better_and_the_interval_reads_from_small_to_large() {
    let mut lower = comparison("oltp", "kyber", Better, 0.8);
    lower.metric = "latency_p99_us".to_string();
    let words =
        "Use kyber for oltp: 20 % lower p99 latency than none (between 17 % and 23 %, 95 % sure).";
    assert_eq!(advise(&[lower]).sentence, words);
}

#[test]
fn a_multiple_is_told_as_a_multiple() {
    let words =
        "Use bfq for oltp: 3.2 times the IO/s of none (between 3.2 and 3.2 times, 95 % sure).";
    assert_eq!(advise(&[comparison("oltp", "bfq", Better, 3.2)]).sentence, words);
}

#[test]
fn when_nothing_is_better_the_baseline_stays_and_the_others_are_told() {
    let advice = advise(&[
        comparison("oltp", "kyber", Equivalent, 1.001),
        comparison("oltp", "bfq", Worse, 0.77),
        comparison("oltp", "mq-deadline", Inconclusive, 1.03),
        comparison("oltp", "broken", Invalid, 1.0),
    ]);
    assert_eq!(advice.variant.as_deref(), Some("none"));
    assert_eq!(
        advice.sentence,
        "Keep none for oltp: nothing was shown to be better by more than 1 %; kyber is equivalent (within 1 %), \
         bfq is worse (23 % less IO/s), mq-deadline is undecided (3 % more IO/s so far; about 14 more rounds would \
         probably settle it), broken has invalid evidence."
    );
}

#[test]
fn many_variants_of_one_verdict_are_told_together_by_the_most_promising() {
    let advice = advise(&[
        comparison("oltp", "a", Inconclusive, 1.01),
        comparison("oltp", "b", Inconclusive, 1.04),
        comparison("oltp", "c", Inconclusive, 0.98),
        comparison("oltp", "d", Worse, 0.7),
    ]);
    let words = "; of 3 others b looks most promising and is undecided (4 % more IO/s so far; about 14 more rounds would \
                 probably settle it), d is worse (30 % less IO/s).";
    assert!(advice.sentence.ends_with(words), "{}", advice.sentence);
}

#[test]
fn invalid_evidence_gives_no_advice_and_says_why() {
    let advice = advise(&[comparison("oltp", "kyber", Invalid, 1.0)]);
    assert_eq!(advice.variant, None);
    assert_eq!(
        advice.sentence,
        "No advice for oltp: the evidence is invalid: 8 of 8 rounds invalid: device errors."
    );
}

#[test]
fn an_undecided_variant_that_may_be_better_still_is_mentioned() {
    let advice = advise(&[
        comparison("oltp", "kyber", Better, 1.12),
        comparison("oltp", "bfq", Inconclusive, 1.4),
    ]);
    assert!(advice.sentence.ends_with(
        "bfq is undecided (40 % more IO/s so far; about 14 more rounds would probably settle it)."
    ));
}

#[test]
fn a_variant_that_is_better_somewhere_and_nowhere_a_risk_is_recommended_for_all() {
    for (elsewhere, ratio, overall) in [
        (Equivalent, 1.0, Some("kyber")),
        (Better, 1.3, Some("kyber")),
        (Inconclusive, 0.995, Some("kyber")),
        (Inconclusive, 0.97, None),
        (Worse, 0.9, None),
        (Invalid, 1.0, None),
    ] {
        let advice = advise(&[
            comparison("oltp", "kyber", Better, 1.12),
            comparison("dss", "kyber", elsewhere, ratio),
        ]);
        assert_eq!(
            advice.variant.as_deref(),
            overall,
            "{elsewhere:?} {ratio}: {}",
            advice.sentence
        );
    }
}

#[test]
fn a_middling_variant_for_all_beats_the_best_variants_that_hurt_elsewhere() {
    let advice = advise(&[
        comparison("oltp", "kyber", Better, 1.5),
        comparison("oltp", "bfq", Better, 1.1),
        comparison("dss", "kyber", Worse, 0.6),
        comparison("dss", "bfq", Better, 1.1),
    ]);
    assert_eq!(advice.variant.as_deref(), Some("bfq"));
    assert_eq!(advice.workloads[0].variant.as_deref(), Some("kyber"));
    assert!(
        advice.sentence.starts_with("Use bfq: for oltp 10 % more IO/s than none"),
        "{}",
        advice.sentence
    );
}

#[test]
fn workloads_that_disagree_get_no_common_variant_but_each_its_own() {
    let advice =
        advise(&[comparison("oltp", "kyber", Better, 1.5), comparison("dss", "kyber", Worse, 0.6)]);
    assert_eq!(
        advice.sentence,
        "No single choice suits all: use kyber for oltp, keep none for dss."
    );
    let advice =
        advise(&[comparison("oltp", "kyber", Worse, 0.5), comparison("dss", "kyber", Worse, 0.6)]);
    assert_eq!(advice.variant.as_deref(), Some("none"));
    assert_eq!(
        advice.sentence,
        "Keep none: nothing was shown to be better by more than 1 % for oltp, dss."
    );
}
