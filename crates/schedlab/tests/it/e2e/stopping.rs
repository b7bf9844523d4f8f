//! When an experiment stops, and what its verdicts then guarantee.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testbed::eventually;

use crate::common::{Lab, Ran, trials};

const DESIGN: &str = "--device hp97560 --schedulers noop,deadline,sstf --workload randread --clients 8 --trial-time 2s";

fn compare(lab: &Lab, out: &str, more: &str) -> Ran {
    let out = lab.path(out);
    lab.run(&format!("compare --arena sim --quiet --out {} {DESIGN} {more}", out.display()))
}

fn analyze(lab: &Lab, out: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(lab.path(out).join("analysis.json")).unwrap()).unwrap()
}

fn notes(lab: &Lab, out: &str, event: &str) -> Vec<Value> {
    let text = fs::read_to_string(lab.path(out).join("results.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == "note" && line["event"] == event).collect()
}

#[test]
fn the_number_of_rounds_is_fixed_before_the_first_look_and_named_in_the_analysis() {
    let lab = Lab::new();
    // 3 variants, 2 s each plus 0.4 s of warm-up: 10 rounds fit, and half as many more are planned
    // for variants that stop.
    compare(&lab, "time", "--budget 72s").expect_status(0);
    let planned = notes(&lab, "time", "planned");
    assert_eq!((planned.len(), planned[0]["rounds"].as_u64()), (1, Some(15)), "{planned:?}");
    let criteria = analyze(&lab, "time")["criteria"].clone();
    assert_eq!(
        (criteria["method"].as_str(), criteria["planned"].as_u64()),
        (Some("spending"), Some(15))
    );
    compare(&lab, "rounds", "--rounds 7").expect_status(0);
    assert!(notes(&lab, "rounds", "planned").is_empty(), "the plan has it");
    assert_eq!(analyze(&lab, "rounds")["criteria"]["planned"], 7);
    compare(&lab, "open", "--rounds 7 --open-ended").expect_status(0);
    assert_eq!(analyze(&lab, "open")["criteria"]["method"], "anytime");
}

#[test]
fn a_budget_that_is_changed_after_the_first_round_makes_the_results_open_ended_and_says_so() {
    let lab = Lab::new();
    compare(&lab, "out", "--rounds 5 --budget 600s").expect_status(0);
    compare(&lab, "out", "--rounds 9 --budget 600s --resume").expect_status(0);
    assert_eq!(notes(&lab, "out", "budget-changed").len(), 1);
    let analysis = analyze(&lab, "out");
    assert_eq!(analysis["criteria"]["method"], "anytime");
    let cautions = analysis["cautions"].to_string();
    assert!(cautions.contains("the budget was changed after the first round"), "{cautions}");
}

#[test]
fn a_rule_that_is_edited_after_the_first_round_is_refused() {
    let lab = Lab::new();
    compare(&lab, "out", "--rounds 5 --budget 600s").expect_status(0);
    let plan = lab.path("out").join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    assert!(text.contains("margin = 0.01"), "{text}");
    let edited = lab.path("edited.toml");
    fs::write(&edited, text.replace("margin = 0.01", "margin = 0.001")).unwrap();
    let run = |plan: &std::path::Path| {
        lab.run(&format!(
            "run {} --quiet --out {} --resume",
            plan.display(),
            lab.path("out").display()
        ))
    };
    run(&edited).expect_status(2).says(&["another plan"]);
    run(&plan).expect_status(0);
}

#[test]
fn a_table_is_one_look_unless_the_looks_are_asked_for() {
    let lab = Lab::new();
    let table = lab.path("table.csv");
    let mut text = "variant,round,iops\n".to_owned();
    for round in 0..20 {
        let noise = [0.0, 1.1, -0.7, 0.4, -1.3][round % 5];
        text += &format!("none,{round},{}\nbfq,{round},{}\n", 100.0 + noise, 130.0 - noise);
    }
    fs::write(&table, text).unwrap();
    let analyze = |more: &str| {
        let ran = lab.run(&format!(
            "analyze {} --variant variant --metric iops --round round --baseline none --json {more}",
            table.display()
        ));
        serde_json::from_str::<Value>(&ran.expect_status(0).stdout).unwrap()
    };
    let (once, looks) = (analyze(""), analyze("--method spending --planned 24"));
    assert_eq!(
        (once["criteria"]["method"].as_str(), once["comparisons"][0]["rounds"].as_u64()),
        (Some("fixed"), Some(20))
    );
    assert_eq!(looks["comparisons"][0]["verdict"], "better");
    let rounds = looks["comparisons"][0]["rounds"].as_u64().unwrap();
    assert!(
        (4..10).contains(&rounds),
        "an effect of 30 % is decided early, not after {rounds} rounds"
    );
    let words = format!(
        "analyze {} --variant variant --metric iops --round round --baseline none",
        table.display()
    );
    lab.run(&format!("{words} --method spending")).expect_status(2).says(&["--planned 24"]);
    lab.run(&format!("{words} --planned 24")).expect_status(2).says(&["--method spending"]);
}

/// With two workloads a cycle has more than one round.
const TWO: &str = "compare --arena sim --device hp97560 --schedulers noop,deadline,sstf --workload randread --workload seqread \
                   --clients 4 --trace csv";

/// Files that interruptions must not change.
fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for name in ["trials.csv", "comparisons.csv", "analysis.json", "plan.toml"] {
        all.push((
            name.to_owned(),
            fs::read(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")),
        ));
    }
    let mut traces: Vec<PathBuf> =
        fs::read_dir(out.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    traces.sort();
    assert!(!traces.is_empty());
    all.extend(traces.iter().map(|path| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    }));
    all
}

fn exported(lab: &Lab, out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = results(out);
    for format in
        ["bencher", "customBiggerIsBetter", "customSmallerIsBetter", "openmetrics", "otlp"]
    {
        let ran = lab.run(&format!("report {} --export {format}", out.display())).expect_status(0);
        let text = match serde_json::from_str::<Value>(&ran.stdout) {
            Ok(mut json) if format == "otlp" => {
                json["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["events"].take();
                json.to_string()
            }
            _ => ran.stdout,
        };
        all.push((format.to_owned(), text.into_bytes()));
    }
    all
}

#[track_caller]
fn assert_same(found: &[(String, Vec<u8>)], expected: &[(String, Vec<u8>)], when: &str) {
    assert_eq!(found.len(), expected.len(), "{when}");
    for ((name, found), (other, expected)) in found.iter().zip(expected) {
        assert_eq!(name, other, "{when}");
        let lines = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let differing = lines(found)
            .into_iter()
            .zip(lines(expected))
            .find(|(found, expected)| found != expected);
        assert!(
            found == expected,
            "{when}: {name}: found and expected, the first line that differs: {differing:?}"
        );
    }
}

fn copy_traces(from: &Path, to: &Path) {
    fs::create_dir(to.join("traces")).unwrap();
    for entry in fs::read_dir(from.join("traces")).unwrap().flatten() {
        fs::copy(entry.path(), to.join("traces").join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_resumed_experiment_has_the_results_of_an_uninterrupted_one() {
    let lab = Lab::new();
    let words = |more: &str| format!("{TWO} --trial-time 1s --quiet {more}");
    for (name, more) in [
        ("fixed", "--rounds 5 --figures-only"),
        ("stops", "--rounds 9"),
        ("time", "--budget 20s --figures-only"),
    ] {
        let whole = lab.path(&format!("{name}-whole"));
        lab.run(&words(&format!("{more} --out {}", whole.display()))).expect_measured();
        let expected = results(&whole);
        let text = fs::read_to_string(whole.join("results.jsonl")).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // A crash can leave any number of lines and part of the next.
        for kept in (1..lines.len()).filter(|kept| kept % 6 == 1 || lines.len() - kept < 3) {
            let cut = lab.path(&format!("{name}-{kept}"));
            fs::create_dir(&cut).unwrap();
            copy_traces(&whole, &cut);
            let torn = &lines[kept][..lines[kept].len() / 2];
            fs::write(cut.join("results.jsonl"), lines[..kept].concat() + torn).unwrap();
            fs::copy(whole.join("plan.toml"), cut.join("plan.toml")).unwrap();
            lab.run(&words(&format!("{more} --resume --out {}", cut.display()))).expect_measured();
            assert_same(&results(&cut), &expected, &format!("{name}, resumed after {kept} lines"));
        }
    }
}

#[test]
fn an_experiment_that_signals_interrupt_has_the_results_of_another() {
    let lab = Lab::new();
    let words =
        |more: &str| format!("{TWO} --trial-time 300s --rounds 4 --figures-only --quiet {more}");
    let (whole, cut) = (lab.path("whole"), lab.path("cut"));
    lab.run(&words(&format!("--out {}", whole.display()))).expect_measured();
    let mut signals = 0;
    for session in 0..3 {
        let (had, resume) = (trials(&cut).len(), if session > 0 { "--resume" } else { "" });
        let mut child = lab.start(&words(&format!("{resume} --out {}", cut.display())));
        eventually("a trial of this session is kept", || {
            trials(&cut).len() > had || child.try_wait().unwrap().is_some()
        });
        let pid = child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        signals += u32::from(ran.status == Some(130));
    }
    lab.run(&words(&format!("--resume --out {}", cut.display()))).expect_measured();
    assert!(signals > 0, "no signal came while it measured");
    assert_same(&exported(&lab, &cut), &exported(&lab, &whole), "interrupted by signals");
}
