//! Which plans are sweeps, and the summary of each tunable.

use std::collections::BTreeMap;

use super::*;
use crate::analysis::analyze;
use crate::plan::parse_variants;
use crate::results::{Header, Observation, Results, Trial};

fn plan(variants: &[&str]) -> Plan {
    let mut plan: Plan = toml::from_str("device = 'sda'\nvariant = []\nworkload = []").unwrap();
    plan.variants = parse_variants(variants).unwrap();
    plan.workloads = crate::plan::parse_workloads(&["oltp:primary=iops"]).unwrap();
    plan
}

fn turned(variants: &[&str]) -> Vec<(String, Vec<String>)> {
    let values = |turned: SweptTunable| turned.points.into_iter().map(|(_, value)| value).collect();
    of_plan(&plan(variants)).map_or_else(Vec::new, |sweep| {
        sweep.tunables.into_iter().map(|turned| (turned.name.clone(), values(turned))).collect()
    })
}

fn one(name: &str, values: &[&str]) -> (String, Vec<String>) {
    (name.to_string(), values.iter().map(|value| value.to_string()).collect())
}

#[test]
fn variants_that_differ_in_one_tunable_are_points_in_ascending_order() {
    let variants = ["d=bfq", "c=bfq:a=100", "b=bfq:a=9", "e=bfq:b=true", "f=bfq:b=1_000"];
    assert_eq!(turned(&variants), [one("a", &["9", "100"]), one("b", &["true", "1_000"])]);
}

#[test]
fn other_schedulers_and_variants_with_two_differences_are_no_points() {
    assert_eq!(
        turned(&["d=bfq", "x=bfq:a=1:b=2", "n=none:a=4", "c=bfq:a=1", "b=bfq:a=2"]),
        [one("a", &["1", "2"])]
    );
    assert_eq!(turned(&["none", "kyber", "bfq"]), []);
    assert_eq!(
        turned(&["d=bfq", "b=bfq:a=1", "none"]),
        [],
        "one point is a comparison and no curve"
    );
    assert_eq!(
        turned(&["d=bfq", "same=bfq", "b=bfq:a=1"]),
        [],
        "a variant that is the baseline is no point"
    );
}

#[test]
fn the_baseline_may_be_tuned_itself() {
    let variants =
        ["d=bfq:a=1:b=2", "x=bfq:a=5:b=2", "y=bfq:a=1:b=3", "z=bfq:a=1", "w=bfq:a=1:b=2:c=7"];
    assert_eq!(turned(&variants), [one("a", &["5"]), one("b", &["3"]), one("c", &["7"])]);
    let sweep = of_plan(&plan(&variants)).unwrap();
    let asked: Vec<Option<&str>> =
        sweep.tunables.iter().map(|turned| turned.baseline_value.as_deref()).collect();
    assert_eq!(asked, [Some("1"), Some("2"), None]);
}

#[test]
fn a_baseline_that_is_named_last_is_the_baseline() {
    let mut plan = plan(&["b=bfq:a=2", "c=bfq:a=1", "d=bfq"]);
    assert_eq!(
        of_plan(&plan).map(|sweep| sweep.tunables[0].points.len()),
        None,
        "b sets what the others leave alone"
    );
    plan.baseline = Some("d".to_string());
    assert_eq!(of_plan(&plan).map(|sweep| sweep.tunables[0].points.len()), Some(2));
}

#[test]
fn values_are_read_as_the_kernel_and_plans_write_them() {
    assert_eq!(
        ["5", " 5 ", "1_000", "true", "false", "-1"].map(number),
        [5.0, 5.0, 1000.0, 1.0, 0.0, -1.0].map(Some)
    );
    assert_eq!(["", "ext4", "inf", "nan"].map(number), [None; 4]);
    assert_eq!(
        ["350us", "3ms"].map(number),
        [Some(350.0), Some(3000.0)],
        "a time is in microseconds"
    );
}

/// A results file of `oltp` with variants at `factor` times the baseline; the baseline has eight
/// rounds, the others six, while the machine slows down.
fn results(variants: &[&str], factors: &[f64]) -> Results {
    let plan = plan(variants);
    let names: Vec<String> = plan.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut results = Results::new(Header {
        schema: crate::plan::SCHEMA,
        schedlab: String::new(),
        plan,
        environment: BTreeMap::from([(
            DEFAULTS.to_string(),
            BTreeMap::from([("a".to_string(), "3".to_string())]),
        )]),
        started_unix_ms: 0,
        command: String::new(),
    });
    for round in 0..8_u32 {
        for (variant, factor) in names.iter().zip(factors) {
            if round >= 6 && *variant != names[0] {
                continue;
            }
            let wobble = 1.0 + 0.0002 * f64::from((round * 7 + variant.len() as u32) % 5);
            let iops = 1000.0 * 0.8_f64.powi(round as i32) * factor * wobble;
            let metrics = BTreeMap::from([("iops".to_string(), iops)]);
            results.trials.push(Trial {
                sequence: results.trials.len() as u64,
                workload: "oltp".to_string(),
                round,
                position: 0,
                variant: variant.clone(),
                started_ms: 0,
                observation: Observation { metrics, ..Observation::default() },
            });
        }
    }
    results
}

#[test]
fn a_response_has_the_verdicts_of_its_variants_and_values_of_the_same_rounds() {
    let variants = ["d=bfq", "a=4=bfq:a=4", "x=bfq:a=1", "y=bfq:b=1", "z=bfq:b=2"];
    let variants = variants.map(|word| word.replace("a=4=", "a4="));
    let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
    let analysis = analyze(&results(&variants, &[1.0, 1.1, 0.8, 1.0, 1.0]), None);
    let [a, b] = &analysis.responses[..] else { panic!("{:?}", analysis.responses) };
    assert_eq!(
        (a.tunable.as_str(), a.default.as_deref(), b.default.as_deref()),
        ("a", Some("3"), None)
    );
    assert_eq!(a.effect, Effect::Helps { variant: "a4".to_string() });
    assert_eq!(b.effect, Effect::Nothing);
    for point in a.points.iter().chain(&b.points) {
        let comparison = analysis.comparisons.iter().find(|j| j.variant == point.variant).unwrap();
        assert_eq!(
            (point.verdict, point.low, point.high),
            (comparison.verdict, comparison.low, comparison.high)
        );
        let (default, value, ratio) =
            (point.at_default.unwrap(), point.at_value.unwrap(), point.ratio.unwrap());
        assert!((value / default - ratio).abs() < 1e-12, "{value} / {default} is {ratio}");
        // Without the baseline's last, slow rounds.
        assert!((570.0..590.0).contains(&default), "{default}");
    }
}

fn points(verdicts: &[(Verdict, f64, Option<u32>)]) -> Vec<Point> {
    let point = |(i, (verdict, ratio, more)): (usize, &(Verdict, f64, Option<u32>))| Point {
        variant: format!("variant{i}"),
        value: i.to_string(),
        at_default: None,
        at_value: None,
        ratio: Some(*ratio),
        low: None,
        high: None,
        verdict: *verdict,
        rounds: 6,
        more_rounds: *more,
    };
    verdicts.iter().enumerate().map(point).collect()
}

#[test]
fn the_effect_is_the_best_gain_else_the_worst_loss_else_what_is_open() {
    use Verdict::{Better, Equivalent, Inconclusive, Invalid, Worse};
    let up = |verdicts: &[_]| effect(&points(verdicts), Direction::HigherIsBetter);
    let variant = |i: usize| format!("variant{i}");
    assert_eq!(
        up(&[(Worse, 0.5, None), (Better, 1.1, None), (Better, 1.3, None)]),
        Effect::Helps { variant: variant(2) }
    );
    assert_eq!(
        up(&[(Worse, 0.9, None), (Worse, 0.5, None), (Inconclusive, 1.9, None)]),
        Effect::Hurts { variant: variant(1) }
    );
    let open =
        [(Inconclusive, 1.0, Some(5)), (Inconclusive, 1.0, Some(40)), (Equivalent, 1.0, None)];
    assert_eq!(up(&open), Effect::Open { more_rounds: Some(40) });
    let never = [(Inconclusive, 1.0, Some(5)), (Inconclusive, 1.0, None)];
    assert_eq!(
        up(&never),
        Effect::Open { more_rounds: None },
        "one that is never settled is not guaranteed"
    );
    assert_eq!(up(&[(Equivalent, 1.0, None), (Invalid, 1.0, None)]), Effect::Nothing);
    assert_eq!(up(&[(Invalid, 1.0, None)]), Effect::Invalid);
    assert_eq!(up(&[]), Effect::Invalid);
    let down =
        effect(&points(&[(Better, 0.9, None), (Better, 0.5, None)]), Direction::LowerIsBetter);
    assert_eq!(down, Effect::Helps { variant: variant(1) }, "less latency is a gain");
}

#[test]
fn an_experiment_that_is_no_sweep_has_no_responses_and_its_analysis_says_nothing_of_them() {
    let analysis = analyze(&results(&["none", "kyber"], &[1.0, 1.1]), None);
    assert_eq!(analysis.responses, []);
    assert!(!serde_json::to_string(&analysis).unwrap().contains("responses"));
}

#[test]
fn cpu_settings_beside_a_baseline_without_them_are_no_sweep() {
    let mut plan = plan(&["default", "nice10=default:nice=10", "nice20=default:nice=20"]);
    assert!(of_plan(&plan).is_some(), "of a device they would be one");
    (plan.arena, plan.device) = (&crate::plan::CPU, crate::plan::CPU_DEVICE.to_owned());
    assert_eq!(of_plan(&plan), None);
}

#[test]
fn cpu_settings_with_numbers_are_a_sweep_where_the_baseline_has_them_too() {
    let of_cpus = |variants: &[&str]| {
        let mut plan = plan(variants);
        (plan.arena, plan.device) = (&crate::plan::CPU, crate::plan::CPU_DEVICE.to_owned());
        of_plan(&plan).map(|sweep| sweep.tunables)
    };
    let swept = of_cpus(&[
        "d=default:nice=0:slice=3ms",
        "a=default:nice=19:slice=3ms",
        "b=default:nice=-20:slice=3ms",
    ]);
    let [nice] = &swept.unwrap()[..] else { panic!("one tunable") };
    let point = |variant: &str, value: &str| (variant.to_owned(), value.to_owned());
    assert_eq!((nice.name.as_str(), nice.baseline_value.as_deref()), ("nice", Some("0")));
    assert_eq!(nice.points, [point("b", "-20"), point("a", "19")]);
    let slices =
        of_cpus(&["d=default:slice=3ms", "a=default:slice=12000us", "b=default:slice=750us"])
            .unwrap();
    assert_eq!(slices[0].points, [point("b", "750us"), point("a", "12000us")]);
    assert_eq!(
        of_cpus(&["d=default:affinity=0", "a=default:affinity=1", "b=default:affinity=2"]),
        None
    );
    assert_eq!(
        of_cpus(&["d=default:policy=other", "a=default:policy=batch", "b=default:policy=idle"]),
        None
    );
}
