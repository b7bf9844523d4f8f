//! From a sweep's flags to its plan: values, variants, duration.

use clap::Parser;
use experiment::sweep::of_plan;

use super::*;
use crate::cli::{Cli, Command};
use crate::command::plan::resolve;

fn args(words: &str) -> SweepArgs {
    let all = format!("schedlab sweep --arena sim --device hp97560 --workload randread {words}");
    match Cli::try_parse_from(all.split_whitespace())
        .unwrap_or_else(|e| panic!("{words}: {e}"))
        .command
    {
        Command::Sweep(args) => args,
        _ => unreachable!("the word is sweep"),
    }
}

fn planned(words: &str) -> Result<Plan> {
    plan_of(&Root::real(), &args(words))
}

fn variants_of(words: &str) -> Vec<String> {
    planned(words)
        .unwrap_or_else(|e| panic!("{words}: {e}"))
        .variants
        .into_iter()
        .map(|variant| variant.name)
        .collect()
}

#[track_caller]
fn refused(words: &str, says: &[&str]) {
    let message = planned(words).expect_err(words).to_string();
    for word in says {
        assert!(message.contains(word), "{words}: expected {word:?} in {message}");
    }
}

#[test]
fn every_tunable_has_its_values_and_the_default_is_the_baseline_alone() {
    let names = variants_of("--scheduler deadline");
    let wanted = [
        "default",
        "read_expire=31",
        "read_expire=125",
        "read_expire=2000",
        "read_expire=8000",
        "write_expire=312",
        "write_expire=1250",
        "write_expire=20000",
        "write_expire=80000",
        "writes_starved=0",
        "writes_starved=8",
        "writes_starved=32",
        "fifo_batch=1",
        "fifo_batch=4",
        "fifo_batch=64",
        "fifo_batch=256",
        "front_merges=0",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn the_plan_is_a_sweep_to_the_report_and_can_be_carried_out() {
    for scheduler in
        ["deadline", "mq-deadline", "bfq", "kyber", "cfq", "anticipatory", "wpcas", "fscan"]
    {
        let plan = resolve(planned(&format!("--scheduler {scheduler}")).unwrap()).unwrap().plan;
        let sweep = of_plan(&plan).unwrap_or_else(|| panic!("{scheduler}: it is a sweep"));
        let points: usize = sweep.tunables.iter().map(|turned| turned.points.len()).sum();
        assert_eq!(
            points,
            plan.variants.len() - 1,
            "{scheduler}: every variant but the baseline is a point"
        );
        assert_eq!((plan.baseline(), plan.variants[0].tunables.len()), (DEFAULT, 0));
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }
}

#[test]
fn tunables_are_chosen_by_name_and_values_replace_the_usual_ones() {
    assert_eq!(
        variants_of("--scheduler deadline --tunables front_merges"),
        ["default", "front_merges=0"]
    );
    assert_eq!(
        variants_of("--scheduler deadline --values fifo_batch=9,2"),
        ["default", "fifo_batch=2", "fifo_batch=9"]
    );
    let both = variants_of(
        "--scheduler deadline --tunables fifo_batch,front_merges --values fifo_batch=2",
    );
    assert_eq!(both, ["default", "fifo_batch=2", "front_merges=0"]);
    let with_queue = variants_of("--scheduler noop --tunables nr_requests");
    assert_eq!(
        with_queue,
        ["default", "nr_requests=8", "nr_requests=32", "nr_requests=512", "nr_requests=2048"]
    );
    let all = variants_of("--scheduler deadline --tunables all,nr_requests --values nr_requests=4");
    assert_eq!((all.len(), all.last().map(String::as_str)), (18, Some("nr_requests=4")));
    assert_eq!(
        variants_of("--scheduler mq-deadline --values linux=601"),
        ["default", "linux=601"],
        "what is no knob only if asked"
    );
}

#[test]
fn a_tuned_scheduler_is_its_own_baseline() {
    let plan =
        planned("--scheduler deadline:fifo_batch=4 --tunables fifo_batch,writes_starved").unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    let wanted = [
        "default",
        "fifo_batch=0",
        "fifo_batch=1",
        "fifo_batch=16",
        "fifo_batch=64",
        "writes_starved=0",
        "writes_starved=8",
        "writes_starved=32",
    ];
    assert_eq!(names, wanted);
    assert!(plan.variants[5..].iter().all(|variant| variant.tunables["fifo_batch"] == "4"));
}

#[test]
fn a_default_among_the_values_is_left_out_and_alone_it_is_refused() {
    assert_eq!(
        variants_of("--scheduler deadline --values fifo_batch=16,1"),
        ["default", "fifo_batch=1"]
    );
    refused(
        "--scheduler deadline --values fifo_batch=16",
        &["fifo_batch", "16 is already the value of deadline"],
    );
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    refused(
        "--scheduler deadline --tunables fifo_bach",
        &["unknown tunable \"fifo_bach\"", "did you mean \"fifo_batch\"", "nr_requests"],
    );
    refused(
        "--scheduler deadline --values fifo_bach=1",
        &["--values", "did you mean \"fifo_batch\""],
    );
    refused(
        "--scheduler deadline --values front_merges=2",
        &["front_merges", "\"2\" is out of range", "from 0 to 1"],
    );
    refused(
        "--scheduler deadline --values fifo_batch=many",
        &["\"many\" is out of range", "from 0 to 2147483647"],
    );
    refused("--scheduler deadline --values fifo_batch=-1", &["\"-1\" is out of range"]);
    refused("--scheduler deadline --values fifo_batch", &["NAME=VALUE", "e.g. fifo_batch=1,4,64"]);
    refused("--scheduler deadline --values fifo_batch=4,8,4", &["fifo_batch", "4 is given twice"]);
    refused(
        "--scheduler deadline --values fifo_batch=4 --values fifo_batch=8",
        &["fifo_batch: given twice"],
    );
    refused("--scheduler deadline --tunables fifo_batch,fifo_batch", &["fifo_batch: given twice"]);
    refused(
        "--scheduler deadline --tunables fifo_batch --values writes_starved=1",
        &["writes_starved is not swept", "--tunables fifo_batch,writes_starved"],
    );
    refused(
        "--scheduler deadline --tunables all --values nr_requests=4",
        &["not swept", "--tunables all,nr_requests"],
    );
    refused("--scheduler noop", &["noop has no tunables", "--tunables nr_requests"]);
    refused("--scheduler deadlin", &["deadline"]);
    refused("--scheduler mine=deadline", &["without a label"]);
    let many: Vec<String> = (1..=65).map(|n| (n * 3).to_string()).collect();
    refused(
        &format!("--scheduler deadline --values fifo_batch={}", many.join(",")),
        &["65 values"],
    );
}

#[test]
fn a_budget_that_decides_nothing_is_refused_with_one_that_would_do() {
    let told = |words: &str| size::tell(&resolve(planned(words).unwrap()).unwrap().plan, true);
    told("--scheduler deadline").unwrap();
    let error = told("--scheduler deadline --trial-time 10s --warmup 0 --budget 400s")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("17 variants: a round takes about 2 min 50 s of virtual time"),
        "{error}"
    );
    assert!(error.contains("has no room for 4") && error.contains("--budget 3400s"), "{error}");
    told("--scheduler deadline --trial-time 10s --warmup 0 --budget 680s").unwrap();
    told("--scheduler deadline --trial-time 10s --warmup 0 --budget 340s --method fixed").unwrap();
    told("--scheduler deadline --trial-time 10s --warmup 0 --rounds 2").unwrap();
}

#[test]
fn on_the_host_a_sweep_has_time_for_twenty_rounds_of_a_second_unless_told_otherwise() {
    let host = |words: &str| {
        let all = format!(
            "schedlab sweep --device loop:16M --scheduler mq-deadline --workload randread --tunables front_merges {words}"
        );
        match Cli::try_parse_from(all.split_whitespace()).unwrap().command {
            Command::Sweep(args) => plan_of(&Root::real(), &args).unwrap(),
            _ => unreachable!("the word is sweep"),
        }
    };
    let plan = host("");
    assert_eq!((plan.trial.duration_ms, plan.trial.warmup_ms), (Some(1000), None));
    assert_eq!(plan.budget.time_s, (20.0_f64 * 2.0 * 1.23).ceil());
    assert_eq!(host("--trial-time 2s").budget.time_s, (20.0_f64 * 2.0 * 2.43).ceil());
    assert_eq!(
        (host("--budget 30s").trial.duration_ms, host("--budget 30s").budget.time_s),
        (None, 30.0)
    );
    assert_eq!(host("--rounds 3").trial.duration_ms, Some(1000));
}
