//! Plans that can be bisected, and the content of a result.

use super::*;

const PLAN: &str = "name = 'p'\ndevice = 'hp97560'\narena = 'kernel'\n[[variant]]\nname = 'a'\nscheduler = 'kyber'\n\
                    [[variant]]\nname = 'b'\nscheduler = 'kyber@Cargo.toml'\n[[workload]]\nname = 'one'\nkind = 'randread'\n\
                    [[workload]]\nname = 'two'\nkind = 'oltp'\n";

fn spec<'a>(plan: &str, variant: Option<&'a str>, workload: Option<&'a str>) -> BisectSpec<'a> {
    BisectSpec {
        plan: Plan::from_toml(plan).unwrap(),
        variant,
        workload,
        source: "x",
        good: None,
        bad: None,
        output: Output::Named("x".into()),
        resume: false,
        command: String::new(),
        keep_kernels: false,
    }
}

#[test]
fn a_plan_gives_one_variant_and_one_workload_to_every_experiment() {
    let plan = base_plan(&spec(PLAN, None, Some("two"))).unwrap();
    assert_eq!(
        (plan.variants.len(), plan.workloads.len(), plan.variants[0].name.as_str()),
        (1, 1, "a")
    );
    assert_eq!(plan.workloads[0].name, "two");
    for (plan, variant, workload, says) in [
        (PLAN.to_owned(), None, None, "--workload (one of one, two)"),
        (PLAN.to_owned(), None, Some("three"), "expected one of one, two"),
        (PLAN.to_owned(), Some("c"), Some("one"), "expected one of a, b"),
        (PLAN.to_owned(), Some("b"), Some("one"), "its own kernel or patch"),
        (
            PLAN.replace("'kernel'", "'sim'").replace("@Cargo.toml", ""),
            None,
            Some("one"),
            "in the kernel arena",
        ),
    ] {
        let refused = base_plan(&spec(&plan, variant, workload)).unwrap_err();
        assert!(
            crate::failure::is_usage(&refused) && refused.to_string().contains(says),
            "{refused:#}"
        );
    }
}

fn step(name: &str) -> Step {
    Step { name: name.to_owned(), subject: String::new(), sum: name.to_owned() }
}

fn compared(
    baseline: usize,
    step: usize,
    verdict: ::experiment::analysis::Verdict,
    ratio: f64,
) -> Answer {
    let evidence = Evidence {
        verdict,
        ratio: Some(ratio),
        low: Some(ratio * 0.99),
        high: Some(ratio * 1.01),
        rounds: 8,
        confidence: 0.99,
        reasons: Vec::new(),
    };
    let result = AnswerResult::Compared(evidence);
    Answer {
        baseline,
        step,
        attempt: 1,
        alpha: 0.005,
        directory: "x".to_owned(),
        result,
        seconds: 2.0,
    }
}

#[test]
fn a_result_holds_the_verdicts_on_both_sides_and_the_part_of_the_difference() {
    use ::experiment::analysis::Verdict::{Equivalent, Worse};
    let plan = base_plan(&spec(PLAN, None, Some("one"))).unwrap();
    let steps: Vec<Step> = ["0", "1", "2", "3", "4"].map(step).into();
    let broken = Answer {
        result: AnswerResult::DoesNotBuild { message: "error: x".to_owned() },
        ..compared(0, 2, Worse, 1.0)
    };
    let answers = [
        compared(0, 4, Worse, 0.25),
        broken,
        compared(0, 1, Equivalent, 1.0),
        compared(0, 3, Worse, 0.5),
        compared(1, 3, Worse, 0.5),
    ];
    let range = Conclusion::Range { good: 1, bad: 3 };
    let result = BisectResult::of(&plan, &steps, &answers, range, std::path::Path::new("/tmp/a b"));
    assert_eq!(result.blamed, [step("2"), step("3")]);
    assert_eq!(result.last_good.as_ref().unwrap().verdict, Equivalent);
    assert!(
        (result.share_of_difference.unwrap() - 0.5).abs() < 1e-12,
        "half of the way on a scale of ratios"
    );
    assert_eq!(
        (result.skipped.len(), result.skipped[0].why.as_str()),
        (1, "does not build: error: x")
    );
    assert_eq!(
        result.command,
        "schedlab run '/tmp/a b/found.toml' --allow-commands --out '/tmp/a b/shown'"
    );
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!((json["conclusion"].as_str(), json["bad"].as_u64()), (Some("range"), Some(3)));
    assert_eq!(result::in_words(result.ends.as_ref().unwrap()), "worse, 0.250× [0.247, 0.253]");
}
