//! Statements made before the first trial.

use std::fs;

use testbed::{Loop, require};

use crate::common::{Lab, Ran, trials};

const SIM: &str =
    "compare --arena sim --device hp97560 --schedulers none,deadline --workload randread";

fn first_line(text: &str) -> serde_json::Value {
    serde_json::from_str(text.lines().next().expect("a header")).expect("a line of a results file")
}

#[test]
fn trials_that_would_hold_too_few_requests_become_longer_and_the_results_have_their_length() {
    let lab = Lab::new();
    let run = |out: &str| {
        lab.run(&format!("{SIM}:primary=latency_p999_us --json --out {}", lab.path(out).display()))
            .expect_measured();
        fs::read_to_string(lab.path(out).join("results.jsonl")).expect("a results file")
    };
    let results = run("a");
    assert_eq!(results, run("b"), "the same plan gives the same results file, byte for byte");
    let note = results
        .lines()
        .find(|line| line.contains("lengthened-trials"))
        .expect("a note before the first trial");
    let note: serde_json::Value = serde_json::from_str(note).expect("a note");
    let planned = first_line(&results)["plan"]["trial"]["duration_ms"].as_u64().expect("a length");
    assert_eq!(
        note["to_ms"].as_u64(),
        Some(planned),
        "the plan of the results file has the new length"
    );
    assert!(
        note["from_ms"].as_u64() < Some(planned) && note["events"].as_u64() < Some(10_000),
        "{note}"
    );
    let measured = trials(&lab.path("a"));
    let held = |trial: &serde_json::Value| {
        trial["observation"]["metrics"]["iops"].as_f64().unwrap() * planned as f64 / 1e3
    };
    assert!(
        measured.len() >= 8 && measured.iter().all(|trial| held(trial) >= 10_000.0),
        "every trial holds enough"
    );
}

#[test]
fn a_resumed_experiment_goes_on_with_the_longer_trials() {
    let lab = Lab::new();
    let out = lab.path("out");
    let words =
        |more: &str| format!("{SIM}:primary=latency_p999_us --out {} {more}", out.display());
    lab.run(&words("--rounds 4 --budget 8000s"))
        .expect_measured()
        .says(&["latency_p999_us needs 10000); trials extended"]);
    let before = trials(&out);
    lab.run(&words("--rounds 6 --budget 8000s --resume")).expect_measured();
    let after = trials(&out);
    assert!(after.len() == 12 && after[..8] == before[..], "the results file grows");
    let length = |trial: &serde_json::Value| trial["observation"]["duration_ns"].as_u64();
    assert!(
        after.iter().all(|trial| length(trial) == length(&before[0])),
        "all trials are of one length"
    );
}

#[test]
fn a_length_that_the_user_has_set_is_kept_with_a_caution_before_and_after() {
    let lab = Lab::new();
    let out = lab.path("out");
    let ran = lab
        .run(&format!("{SIM} --trial-time 100ms --budget 5s --quiet --out {}", out.display()))
        .expect_measured()
        .says(&[
            "CAUTION: randread: a trial will have about",
            "iops needs 100",
            "leave out --trial-time",
        ]);
    assert!(ran.stdout.contains("fewer than the 100 that iops"), "{}", ran.stdout);
    let analysis: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("analysis.json")).unwrap()).unwrap();
    let first = analysis["cautions"][0].as_str().expect("a caution");
    assert!(
        first.starts_with("randread: a trial has ")
            && first.contains("fewer than the 100 that iops"),
        "{first}"
    );
    let results = fs::read_to_string(out.join("results.jsonl")).expect("a results file");
    assert_eq!(first_line(&results)["plan"]["trial"]["duration_ms"], 100);
    assert!(!results.contains("lengthened-trials"));
    assert!(ran.stdout.contains("of simulated time"), "{}", ran.stdout);
}

#[test]
fn a_budget_too_small_for_longer_trials_says_so_and_leaves_room_for_eight_rounds() {
    let lab = Lab::new();
    let out = lab.path("out");
    let asks = [
        "CAUTION: randread",
        "give a larger --budget, with room for trials of",
        "rounds fit into 10 s of simulated time",
    ];
    lab.run(&format!("{SIM} --open-ended --margin 0.01% --budget 10s --out {}", out.display()))
        .expect_measured()
        .says(&asks);
    assert!(trials(&out).iter().filter(|trial| trial["variant"] == "none").count() >= 8);
}

#[test]
fn a_design_that_cannot_give_an_interval_is_refused_with_one_that_can() {
    let lab = Lab::new();
    let refused = |more: &str, says: &[&str]| {
        lab.run(&format!("{SIM} {more} --out {}", lab.path("none").display()))
            .expect_status(2)
            .says(says);
        assert!(!lab.path("none").exists(), "{more}: nothing is measured");
    };
    refused(
        "--rounds 2",
        &[
            "--rounds: too few for an interval (found 2",
            "give --rounds 12",
            "--method fixed",
            "--figures-only",
        ],
    );
    refused("--rounds 2 --dry-run", &["too few for an interval"]);
    refused("--rounds 1 --method fixed", &["found 1, expected at least 2"]);
    refused(
        "--trial-time 10s --warmup 0 --budget 40s",
        &["--budget: too short for an interval (found room for 2 rounds", "give --budget"],
    );
    for more in ["--rounds 2 --method fixed", "--rounds 1 --figures-only"] {
        lab.run(&format!(
            "{SIM} {more} --trial-time 2s --out {}",
            lab.path(&more.replace(' ', "")).display()
        ))
        .expect_measured();
    }
}

#[test]
fn a_plan_says_what_its_rounds_can_find_before_anything_is_measured() {
    let lab = Lab::new();
    let text =
        lab.run(&format!("{SIM} --rounds 12 --method fixed --dry-run")).expect_status(0).stdout;
    let words = "# 12 rounds: finds an effect as large as the round-to-round SD (1 sd) beyond the margin of 1 % with a probability of 88 %";
    assert!(text.starts_with(words), "{text}");
    fs::write(lab.path("plan.toml"), &text).unwrap();
    lab.run(&format!("run {} --dry-run", lab.path("plan.toml").display())).expect_status(0);
    let found = lab
        .run(&format!("{SIM} --rounds 12 --method fixed --dry-run --json"))
        .expect_status(0)
        .json();
    assert_eq!(
        (found["feasibility"]["rounds"].as_u64(), found["plan"]["budget"]["rounds"].as_u64()),
        (Some(12), Some(12))
    );
    let power = found["feasibility"]["power_at_1_sd"].as_f64().unwrap();
    assert!((power - 0.883).abs() < 0.01, "{power}");
    let looked_at = lab
        .run(&format!("{SIM} --trial-time 4s --budget 100s --out {}", lab.path("out").display()))
        .expect_measured()
        .says(&[
            "rounds fit into 100 s of simulated time",
            "the round-to-round SD is",
            "with 80 % power",
        ]);
    let once = |text: &str| looked_at.stderr.matches(text).count() == 1;
    assert!(once("the round-to-round SD is") && once("rounds fit into"), "{}", looked_at.stderr);
}

#[test]
fn lines_of_progress_are_written_without_a_terminal() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    // Variants that behave alike here.
    let words = format!(
        "compare --device {} --schedulers mq-deadline,mq-deadline:writes_starved=3 --workload randread --open-ended --alpha 0.1% --margin 0.01% --trial-time 100ms --budget 3s --out {}",
        device.path,
        lab.path("out").display()
    );
    let ran = Ran::from(lab.command(&words).env("SCHEDLAB_PROGRESS_S", "0.2").output().unwrap())
        .expect_measured();
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" s left")).collect();
    assert!(lines.iter().all(|line| line.starts_with("randread · round ")), "{lines:?}");
    let known = " of 1 decided; iops: mq-deadline:writes_starved=3 ";
    assert!(lines.last().is_some_and(|line| line.contains(known)), "{}", ran.stderr);
}
