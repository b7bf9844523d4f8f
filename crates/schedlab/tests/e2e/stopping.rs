//! When an experiment stops, and what is promised of verdicts where it did: through the built binary, in virtual time.

use std::fs;

use serde_json::Value;

use crate::common::{Lab, Ran};

const DESIGN: &str = "--device hp97560 --schedulers noop,deadline,sstf --workload randread --clients 8 --trial-time 2s";

fn compare(lab: &Lab, out: &str, more: &str) -> Ran {
    let out = lab.path(out);
    lab.run(&format!("compare --arena sim --quiet --out {} {DESIGN} {more}", out.display()))
}

fn study(lab: &Lab, out: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(lab.path(out).join("study.json")).unwrap()).unwrap()
}

fn notes(lab: &Lab, out: &str, event: &str) -> Vec<Value> {
    let text = fs::read_to_string(lab.path(out).join("record.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == "note" && line["event"] == event).collect()
}

#[test]
fn the_number_of_blocks_is_fixed_before_the_first_look_and_named_in_the_study() {
    let lab = Lab::new();
    // 3 arms, 2 s each and 0.4 s of warm-up: 10 blocks fit, half as many more are planned for those that stop.
    compare(&lab, "time", "--budget 72s").expect_status(0);
    let planned = notes(&lab, "time", "planned");
    assert_eq!((planned.len(), planned[0]["blocks"].as_u64()), (1, Some(15)), "{planned:?}");
    let criteria = study(&lab, "time")["criteria"].clone();
    assert_eq!((criteria["method"].as_str(), criteria["planned"].as_u64()), (Some("spending"), Some(15)));
    compare(&lab, "blocks", "--blocks 7").expect_status(0);
    assert!(notes(&lab, "blocks", "planned").is_empty(), "the plan has it");
    assert_eq!(study(&lab, "blocks")["criteria"]["planned"], 7);
    compare(&lab, "open", "--blocks 7 --open-ended").expect_status(0);
    assert_eq!(study(&lab, "open")["criteria"]["method"], "anytime");
}

#[test]
fn a_budget_that_is_changed_after_the_first_block_makes_the_record_open_ended_and_says_so() {
    let lab = Lab::new();
    compare(&lab, "out", "--blocks 5 --budget 600s").expect_status(0);
    compare(&lab, "out", "--blocks 9 --budget 600s --resume").expect_status(0);
    assert_eq!(notes(&lab, "out", "budget-changed").len(), 1);
    let study = study(&lab, "out");
    assert_eq!(study["criteria"]["method"], "anytime");
    let cautions = study["cautions"].to_string();
    assert!(cautions.contains("the budget was changed after the first block"), "{cautions}");
}

#[test]
fn a_rule_that_is_edited_after_the_first_block_is_refused() {
    let lab = Lab::new();
    compare(&lab, "out", "--blocks 5 --budget 600s").expect_status(0);
    let plan = lab.path("out").join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    assert!(text.contains("margin = 0.01"), "{text}");
    let edited = lab.path("edited.toml");
    fs::write(&edited, text.replace("margin = 0.01", "margin = 0.001")).unwrap();
    let run = |plan: &std::path::Path| {
        lab.run(&format!("run {} --quiet --out {} --resume", plan.display(), lab.path("out").display()))
    };
    run(&edited).expect_status(2).says(&["another plan"]);
    run(&plan).expect_status(0);
}

#[test]
fn a_table_is_one_look_unless_the_looks_are_asked_for() {
    let lab = Lab::new();
    let table = lab.path("table.csv");
    let mut text = "arm,block,iops\n".to_owned();
    for block in 0..20 {
        let noise = [0.0, 1.1, -0.7, 0.4, -1.3][block % 5];
        text += &format!("none,{block},{}\nbfq,{block},{}\n", 100.0 + noise, 130.0 - noise);
    }
    fs::write(&table, text).unwrap();
    let study = |more: &str| {
        let ran = lab.run(&format!(
            "study {} --arm arm --metric iops --block block --baseline none --json {more}",
            table.display()
        ));
        serde_json::from_str::<Value>(&ran.expect_status(0).stdout).unwrap()
    };
    let (once, looks) = (study(""), study("--method spending --planned 24"));
    assert_eq!(
        (once["criteria"]["method"].as_str(), once["judgements"][0]["blocks"].as_u64()),
        (Some("fixed"), Some(20))
    );
    assert_eq!(looks["judgements"][0]["verdict"], "better");
    let blocks = looks["judgements"][0]["blocks"].as_u64().unwrap();
    assert!((4..10).contains(&blocks), "an effect of 30 % is decided early, not after {blocks} blocks");
    let words = format!("study {} --arm arm --metric iops --block block --baseline none", table.display());
    lab.run(&format!("{words} --method spending")).expect_status(2).says(&["--planned 24"]);
    lab.run(&format!("{words} --planned 24")).expect_status(2).says(&["--method spending"]);
}
