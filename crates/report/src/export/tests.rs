//! Exports of the fixture, also with hostile names.

use experiment::analysis::Analysis;
use experiment::results::Results;
use serde_json::Value;

use super::*;
use crate::fixture::Lab;

const HOSTILE: &str = "x\"}\n# EOF\\ </script>\u{1b}[2J-bencher-ignore";

fn lab(variant: &str) -> (Results, Analysis) {
    let lab = Lab::typical();
    let mut results = Results::new(lab.header.clone());
    results.trials = lab.trials.clone();
    let mut analysis = lab.analysis.clone();
    for trial in results.trials.iter_mut().filter(|trial| trial.variant == "bfq") {
        trial.variant = variant.to_owned();
    }
    results
        .header
        .plan
        .variants
        .iter_mut()
        .filter(|one| one.name == "bfq")
        .for_each(|one| one.name = variant.to_owned());
    analysis
        .comparisons
        .iter_mut()
        .filter(|one| one.variant == "bfq")
        .for_each(|one| one.variant = variant.to_owned());
    (results, analysis)
}

fn exported(format: &str, variant: &str) -> String {
    let (results, analysis) = lab(variant);
    let exported = Exported { name: "nightly", results: &results, analysis: &analysis };
    export(format, &exported).expect("it is rendered").expect("a format")
}

#[test]
fn bencher_has_a_value_with_its_interval_for_each_variant_and_workload() {
    let json: Value = serde_json::from_str(&exported("bencher", "bfq")).expect("JSON");
    let benchmarks = json.as_object().expect("an object");
    assert_eq!(benchmarks.len(), 12);
    let metric = &json["oltp/bfq"]["iops"];
    let [value, low, high] = ["value", "lower_value", "upper_value"]
        .map(|name| metric[name].as_f64().expect("a number"));
    assert!(low < value && value < high, "{metric}");
    for measures in benchmarks.values() {
        for metric in measures.as_object().expect("measures").values() {
            assert!(
                metric["value"].is_number() && metric.as_object().expect("a metric").len() <= 3
            );
        }
    }
}

#[test]
fn the_two_lists_of_the_action_hold_each_direction_once() {
    let list = |format: &str| {
        serde_json::from_str::<Vec<Value>>(&exported(format, "bfq")).expect("a list")
    };
    let (bigger, smaller) = (list("customBiggerIsBetter"), list("customSmallerIsBetter"));
    assert_eq!((bigger.len(), smaller.len()), (8, 4));
    assert!(
        smaller
            .iter()
            .all(|one| one["name"].as_str().expect("a name").ends_with("read_latency_p99_us"))
    );
    for one in bigger.iter().chain(&smaller) {
        assert!(
            one["value"].is_number()
                && one["unit"].is_string()
                && one["range"].is_string()
                && one["extra"].is_string()
        );
    }
}

#[test]
fn open_metrics_have_one_head_a_family_and_end_as_they_must() {
    let text = exported("openmetrics", "bfq");
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    assert!(text.contains("schedlab_verdict{experiment=\"nightly\",device="), "{text}");
    let mut types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let all = types.len();
    types.dedup();
    assert_eq!((types.len(), all), (all, 11));
    assert!(
        export("xml", &Exported { name: "", results: &lab("bfq").0, analysis: &lab("bfq").1 })
            .expect("no error")
            .is_none()
    );
}

#[test]
fn a_hostile_name_ends_no_text_no_script_and_no_alert() {
    let text = exported("openmetrics", HOSTILE);
    assert!(
        text.lines()
            .filter(|line| line.starts_with('#'))
            .all(|line| !line.contains("EOF") || line == "# EOF"),
        "{text}"
    );
    assert!(text.contains(r#"variant="x\"}\n# EOF\\ </script> [2J-bencher-ignore""#), "{text}");
    assert!(!exported("customBiggerIsBetter", HOSTILE).contains("</script>"));
    let json: Value = serde_json::from_str(&exported("bencher", HOSTILE)).expect("JSON");
    assert!(
        json.as_object().expect("an object").keys().all(|name| !name.ends_with("-bencher-ignore"))
    );
}

#[test]
fn spans_are_nested_in_time_and_a_hostile_name_is_text_in_them() {
    let json: Value = serde_json::from_str(&exported("otlp", HOSTILE)).expect("JSON");
    let spans = json["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    let text = |span: &Value, key: &str| span[key].as_str().expect("text").to_owned();
    let number =
        |span: &Value, key: &str| text(span, key).parse::<u64>().expect("a number as text");
    let (results, _) = lab(HOSTILE);
    assert_eq!(spans.iter().filter(|span| span.get("parentSpanId").is_none()).count(), 1);
    let mut numbers: Vec<String> = spans.iter().map(|span| text(span, "spanId")).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), spans.len(), "each has a number of its own");
    for span in spans {
        assert!(number(span, "startTimeUnixNano") <= number(span, "endTimeUnixNano"), "{span}");
        assert!(text(span, "spanId").len() == 16 && text(span, "traceId").len() == 32);
    }
    let trials = spans
        .iter()
        .filter(|span| span["attributes"].to_string().contains("schedlab.variant"))
        .count();
    assert_eq!(trials, results.trials.len());
    assert!(spans.iter().any(|span| span["name"] == HOSTILE));
}

#[test]
fn a_mail_is_plain_text_of_72_columns_in_every_arena() {
    let (mut results, mut analysis) = lab("bfq");
    let mail = |results: &Results, analysis: &Analysis| {
        let exported = Exported { name: "nightly", results, analysis };
        let mail = export("lkml", &exported).expect("it is rendered").expect("a format");
        let wide: Vec<&str> = mail.lines().filter(|line| line.chars().count() > 72).collect();
        assert_eq!(wide, [""; 0], "{mail}");
        mail
    };
    insta::assert_snapshot!("a_mail_of_a_disk", mail(&results, &analysis));
    let plan = &mut results.header.plan;
    plan.arena = &experiment::plan::KERNEL;
    plan.kernel = Some("debian:6.12".into());
    plan.variants[1].scheduler = "mq-deadline@fix.patch".into();
    analysis.arena = "kernel".into();
    let facts = [
        ("release", "6.12.30"),
        ("build", "0a1b"),
        ("release with fix.patch", "6.12.30"),
        ("build with fix.patch", "2c3d"),
        ("modules", "4e5f"),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    results.header.environment.insert("kernel".into(), facts.into());
    insta::assert_snapshot!("a_mail_of_a_patch", mail(&results, &analysis));
}
