//! From a results file or a table to analysis.json, on small evidence.

use std::collections::BTreeMap;

use experiment::analysis::{Analysis, Verdict, sha256_of};
use experiment::plan::{Criteria, Method, Plan, parse_variants, parse_workloads};
use experiment::reason::Reason;
use experiment::results::{
    CPU_TIME_OMITTED, End, EndReason, Header, InvalidReason, Line, Observation, Results, Trial,
};
use experiment::samples::Sample;
use experiment::schedule::order;
use experiment::{Decider, Options, analyze, analyze_samples};

/// A realistic value, equal on every machine: the round's level, the variant's factor, and a
/// wobble.
fn value(base: f64, factor: f64, round: u32, variant: usize) -> f64 {
    let level = 1.0 + 0.02 * f64::from((round * 5) % 7) / 7.0;
    let wobble = 1.0 + 0.004 * f64::from((round * 11 + variant as u32 * 3) % 8) / 8.0;
    (base * factor * level * wobble * 1000.0).round() / 1000.0
}

fn plan() -> Plan {
    let empty = r#"{"name":"golden","device":"loop:64M","variant":[],"workload":[]}"#;
    let mut plan: Plan = serde_json::from_str(empty).unwrap();
    plan.variants = parse_variants(&["none", "kyber", "bfq"]).unwrap();
    plan.workloads =
        parse_workloads(&["oltp:primary=iops", "seqread:primary=read_mb_per_s"]).unwrap();
    plan.check().unwrap();
    plan
}

/// kyber is 12 % faster at oltp and equal at seqread; bfq is slower at oltp; one trial is invalid.
fn trial(workload: &str, variant: &str, round: u32, sequence: u64) -> Trial {
    let place = ["none", "kyber", "bfq"].iter().position(|known| *known == variant).unwrap();
    let mut observation = Observation { duration_ns: 1_000_000_000, ..Observation::default() };
    let mut put = |metric: &str, base: f64, factors: [f64; 3]| {
        observation.metrics.insert(metric.to_string(), value(base, factors[place], round, place));
    };
    if workload == "oltp" {
        put("iops", 8000.0, [1.0, 1.12, 0.8]);
        put("latency_p99_us", 900.0, [1.0, 0.9, 1.3]);
    } else {
        put("read_mb_per_s", 500.0, [1.0, 1.0, 1.0]);
    }
    if workload == "oltp" && variant == "bfq" && round == 1 {
        observation.invalid.push(InvalidReason::ForeignIo { share: 0.12, limit: 0.05 });
    }
    let (workload, variant) = (workload.to_string(), variant.to_string());
    Trial {
        sequence,
        workload,
        round,
        position: 0,
        variant,
        started_ms: sequence * 1000,
        observation,
    }
}

fn results_text() -> String {
    let plan = plan();
    let header = Header {
        schema: experiment::plan::SCHEMA,
        schedlab: "0.1.0".to_string(),
        plan: plan.clone(),
        environment: BTreeMap::new(),
        started_unix_ms: 0,
        command: "schedlab run plan.toml".to_string(),
    };
    let mut text = Line::Header(Box::new(header)).to_json_line() + "\n";
    let mut decider = Decider::new(&plan);
    let mut sequence = 0;
    for round in 0..20 {
        for workload in ["oltp", "seqread"] {
            let active = decider.active_variants(workload);
            let names: Vec<&str> = active.iter().map(String::as_str).collect();
            for variant in order(plan.seed, workload, round, &names) {
                let trial = trial(workload, variant, round, sequence);
                decider.push(&trial);
                text += &(Line::Trial(Box::new(trial)).to_json_line() + "\n");
                sequence += 1;
            }
        }
    }
    let end = End { at_ms: sequence * 1000, reason: EndReason::VerdictsReached };
    text + &Line::End(end).to_json_line() + "\n"
}

/// Six digits: logarithms may differ in the last ones between machines.
fn round(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap();
            *value = serde_json::json!((float * 1e6).round() / 1e6);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(round),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

#[test]
fn small_results_give_this_analysis() {
    let results = Results::parse(&results_text()).unwrap();
    let analysis = analyze(&results, None);
    let mut rounded = serde_json::to_value(&analysis).unwrap();
    round(&mut rounded);
    assert_eq!(rounded["origin"]["compared_by"], text::build::UNNAMED);
    rounded["origin"]["compared_by"] = "this version".into();
    let hash = rounded["origin"]["plan_sha256"].as_str().unwrap();
    assert_eq!(
        hash,
        sha256_of(&results.header.plan),
        "of plan.toml, with the defaults of this version"
    );
    rounded["origin"]["plan_sha256"] = "0".repeat(hash.len()).into();
    insta::assert_json_snapshot!("small_results", rounded);
    let written = serde_json::to_string(&analysis).unwrap();
    assert_eq!(
        serde_json::from_str::<Analysis>(&written).unwrap(),
        analysis,
        "analysis.json can be read again"
    );
}

#[test]
fn variants_without_cpu_time_on_flash_are_not_equivalent() {
    let mut results = Results::parse(&results_text()).unwrap();
    let of = |results: &Results, variant: &str| {
        let compared = analyze(results, None).comparisons;
        compared
            .into_iter()
            .find(|j| j.workload == "seqread" && j.variant == variant && j.primary)
            .unwrap()
    };
    assert_eq!(of(&results, "kyber").verdict, Verdict::Equivalent);
    for omitted in ["none", "kyber"] {
        let variants = BTreeMap::from([(omitted.to_string(), "cpu_percent=0".to_string())]);
        results.header.environment.insert(CPU_TIME_OMITTED.to_string(), variants);
        let found = of(&results, "kyber");
        assert_eq!(
            (found.verdict, found.reasons.last()),
            (Verdict::Inconclusive, Some(&Reason::CpuTimeOmitted))
        );
    }
    assert_eq!(
        of(&results, "bfq").verdict,
        Verdict::Equivalent,
        "both sides of this comparison have CPU time"
    );
    results
        .header
        .plan
        .variants
        .iter_mut()
        .for_each(|variant| variant.scheduler = "none".to_string());
    assert_eq!(
        of(&results, "kyber").verdict,
        Verdict::Equivalent,
        "the same scheduler costs the same"
    );
}

#[test]
fn the_analysis_reaches_the_verdicts_at_which_the_runner_stopped() {
    let results = Results::parse(&results_text()).unwrap();
    let trials_of = |variant: &str| {
        results.trials.iter().filter(|t| t.workload == "oltp" && t.variant == variant).count()
    };
    assert!(trials_of("kyber") < 20 && trials_of("bfq") < 20, "the runner stopped early");
    let analysis = analyze(&results, None);
    for comparison in analysis.comparisons.iter().filter(|comparison| comparison.primary) {
        assert!(
            !matches!(comparison.verdict, Verdict::Inconclusive | Verdict::Invalid),
            "{comparison:?}"
        );
    }
    assert_eq!(analysis.recommendation.variant.as_deref(), Some("kyber"));
    let one = "one repeat: this interval excludes day-to-day variation (--repeat N)";
    assert_eq!(analysis.cautions, [one]);
}

#[test]
fn cut_results_are_studied_with_a_caution_and_criteria_changed_afterwards_are_called_so() {
    let text = results_text();
    let results = Results::parse(&text[..text.len() * 9 / 10]).unwrap();
    assert!(results.cut.is_some());
    let criteria = Criteria { method: Method::Fixed, ..Criteria::default() };
    let analysis = analyze(&results, Some(&criteria));
    for words in [
        "last line of the results file was cut off",
        "before its end",
        "chosen after",
        "does not hold here",
    ] {
        assert!(
            analysis.cautions.iter().any(|caution| caution.contains(words)),
            "{words}: {:?}",
            analysis.cautions
        );
    }
}

fn foreign(rows: &[(&str, Option<u32>, f64)]) -> Vec<Sample> {
    let sample = |(i, (variant, round, value)): (usize, &(&str, Option<u32>, f64))| Sample {
        workload: "table".to_string(),
        metric: "score".to_string(),
        variant: variant.to_string(),
        round: *round,
        sequence: i as u64,
        value: *value,
        requests: None,
        invalid: Vec::new(),
    };
    rows.iter().enumerate().map(sample).collect()
}

fn higher() -> Options {
    let direction = experiment::metric::Direction::HigherIsBetter;
    Options { directions: [("score".to_string(), direction)].into(), ..Options::default() }
}

#[test]
fn a_foreign_table_without_rounds_is_compared_with_the_cautions_that_it_deserves_and_not_at_all_without_a_direction()
 {
    let rows: Vec<(&str, Option<u32>, f64)> = (0..6)
        .flat_map(|i| [("a", None, 10.0 + f64::from(i % 3)), ("b", None, 30.0 + f64::from(i % 2))])
        .collect();
    let analysis = analyze_samples("table.csv", &foreign(&rows), &Options::default());
    assert_eq!(
        (analysis.comparisons.as_slice(), analysis.recommendation.variant),
        ([].as_slice(), None)
    );
    assert!(
        analysis.cautions.iter().any(|caution| caution.contains("score is not compared")),
        "{:?}",
        analysis.cautions
    );
    let analysis = analyze_samples("table.csv", &foreign(&rows), &higher());
    assert_eq!(analysis.arena, "foreign");
    assert_eq!(analysis.comparisons[0].verdict, Verdict::Better);
    for words in ["no baseline was named: using the first, a", "there are no rounds"] {
        assert!(
            analysis.cautions.iter().any(|caution| caution.contains(words)),
            "{words}: {:?}",
            analysis.cautions
        );
    }
}

#[test]
fn one_run_each_as_in_the_published_pgbench_table_supports_no_verdict() {
    let rows = [("cfq", None, 1644.1), ("deadline", None, 2141.3), ("noop", None, 2150.0)];
    let analysis = analyze_samples("pgbench.csv", &foreign(&rows), &higher());
    for comparison in &analysis.comparisons {
        assert_eq!((comparison.verdict, comparison.low), (Verdict::Inconclusive, None));
        assert!(
            comparison
                .reasons
                .contains(&"one observation per variant: no variance, so no interval".into())
        );
    }
    assert_eq!(
        analysis.recommendation.variant.as_deref(),
        Some("cfq"),
        "{}",
        analysis.recommendation.sentence
    );
}

#[test]
fn a_baseline_that_is_not_in_the_data_leaves_nothing_to_compare() {
    let options = Options { baseline: Some("zzz".to_string()), ..higher() };
    let analysis = analyze_samples(
        "table.csv",
        &foreign(&[("a", Some(0), 1.0), ("b", Some(0), 2.0)]),
        &options,
    );
    assert!(analysis.comparisons.iter().all(|comparison| comparison.verdict == Verdict::Invalid));
    assert_eq!(analysis.comparisons[0].reasons, ["no value of zzz".into()]);
    assert_eq!(analysis.recommendation.variant, None);
}

#[test]
fn no_samples_give_an_empty_analysis_and_no_advice() {
    let analysis = analyze_samples("empty.csv", &[], &Options::default());
    assert_eq!((analysis.comparisons.len(), analysis.recommendation.variant), (0, None));
}
