//! `schedlab compare` on real loop devices: its results, and that it leaves nothing behind.

use std::fs;
use std::process::Command;

use testbed::{Loop, require};

use crate::common::{Lab, trials, valid_analysis};

const VERDICTS: [&str; 5] = ["better", "worse", "equivalent", "inconclusive", "invalid"];

#[test]
fn a_comparison_leaves_a_verdict_for_each_variant_and_no_trace_on_the_machine() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let out = lab.path("out");
    let (out_str, dir) = (out.to_str().unwrap(), lab.path(""));
    let ran = lab
        .run(&format!("compare --device loop:48M --loop-dir {} --schedulers none,mq-deadline,bfq --workload randread,seqread --rounds 3 --figures-only --trial-time 150ms --out {} --json", dir.display(), out_str))
        .expect_measured();

    let analysis = ran.json();
    assert_eq!((analysis["schema"].as_u64(), analysis["arena"].as_str()), (Some(1), Some("disk")));
    let comparisons = analysis["comparisons"].as_array().unwrap();
    for workload in ["randread", "seqread"] {
        for variant in ["mq-deadline", "bfq"] {
            let found = comparisons
                .iter()
                .find(|j| {
                    j["workload"] == workload && j["variant"] == variant && j["primary"] == true
                })
                .unwrap_or_else(|| panic!("no comparison of {variant} on {workload}"));
            assert!(VERDICTS.contains(&found["verdict"].as_str().unwrap()), "{found}");
            assert_eq!(found["baseline"], "none");
            if found["verdict"] == "invalid" {
                assert_ne!(found["reasons"].as_array().unwrap().len(), 0, "{found}");
                continue;
            }
            assert!(found["rounds"].as_u64().unwrap() >= 2, "{found}");
            let (low, ratio, high) =
                (&found["low"], found["ratio"].as_f64().unwrap(), &found["high"]);
            assert!(
                low.as_f64().unwrap_or(0.0) <= ratio
                    && ratio <= high.as_f64().unwrap_or(f64::INFINITY),
                "{found}"
            );
        }
    }
    assert!(analysis["recommendation"]["sentence"].is_string());
    for file in ["plan.toml", "results.jsonl", "analysis.json", "report.html", "report.md"] {
        assert!(out.join(file).is_file(), "{file} is missing");
    }
    let saved = valid_analysis(&out.join("analysis.json"));
    assert_eq!(saved, analysis, "what is printed is what is saved");
    let loops = Command::new("losetup").arg("-a").output().unwrap();
    assert!(
        !String::from_utf8_lossy(&loops.stdout).contains(dir.to_str().unwrap()),
        "the loop device is gone"
    );
    let left: Vec<_> =
        fs::read_dir(lab.state().join("journal")).into_iter().flatten().flatten().collect();
    assert!(
        left.iter().all(|f| f.path().extension().is_none_or(|e| e != "json")),
        "journal entries left: {left:?}"
    );
}

#[test]
fn every_trial_reached_the_device_and_each_round_holds_every_variant_once() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let out = lab.path("out");
    lab.run(&format!(
        "compare --device {} --schedulers none,kyber --workload randread --rounds 4 --trial-time 150ms --out {}",
        device.path,
        out.display()
    ))
    .expect_measured();
    let trials = trials(&out);
    assert_eq!(trials.len(), 8, "4 rounds of 2 variants");
    for trial in &trials {
        let counters = &trial["observation"]["counters"];
        let (issued, seen) = (
            counters["issued_read_bytes"].as_f64().unwrap(),
            counters["device_read_bytes"].as_f64().unwrap(),
        );
        assert!(issued > 0.0 && seen >= issued * 0.95, "issued {issued}, the device saw {seen}");
    }
    for round in 0..4 {
        let mut variants: Vec<_> = trials
            .iter()
            .filter(|t| t["round"] == round)
            .map(|t| t["variant"].as_str().unwrap())
            .collect();
        variants.sort_unstable();
        assert_eq!(variants, ["kyber", "none"]);
    }
}

#[test]
fn a_scheduler_compared_with_itself_is_neither_better_nor_worse() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    // A false verdict has a probability of 0.1 %; simulated experiments test the guarantee itself.
    let analysis = lab
        .run(&format!("compare --device {} --schedulers a=none,b=none,c=none --workload randread --budget 6s --alpha 0.1% --out {} --json", device.path, lab.path("out").display()))
        .expect_measured()
        .json();
    for comparison in analysis["comparisons"].as_array().unwrap() {
        let verdict = comparison["verdict"].as_str().unwrap();
        assert!(!["better", "worse"].contains(&verdict), "{comparison}");
    }
}

#[test]
fn the_device_is_afterwards_as_it_was_with_tunables_of_its_own() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    device.set("scheduler", "bfq");
    device.set("iosched/slice_idle", "3");
    device.set("read_ahead_kb", "64");
    let before = device.snapshot();
    lab.run(&format!("compare --device {} --schedulers none,quick=bfq:slice_idle=0:nr_requests=32,kyber --workload seqread --rounds 2 --figures-only --trial-time 100ms --out {}", device.path, lab.path("out").display()))
    .expect_measured();
    assert_eq!(device.snapshot(), before);
}

#[test]
fn old_names_are_understood_and_gone_schedulers_name_the_nearest_choice() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    lab.run(&format!(
        "compare --device {} --schedulers noop,deadline --workload randread --rounds 2 --figures-only --trial-time 100ms --out {}",
        device.path,
        out.display()
    ))
    .expect_measured()
    .says(&["noop", "none", "deadline", "mq-deadline"]);
    for gone in ["cfq", "anticipatory"] {
        lab.run(&format!(
            "compare --device {} --schedulers none,{gone} --workload randread",
            device.path
        ))
        .expect_status(2)
        .says(&[gone, "bfq", "removed"]);
    }
}

#[test]
fn a_plan_printed_by_compare_can_be_run() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let plan = lab
        .run(&format!("compare --device {} --schedulers none,mq-deadline:read_expire=100 --workload oltp:clients=2 --rounds 2 --figures-only --trial-time 100ms --seed 7 --dry-run", device.path))
        .expect_status(0);
    let file = lab.path("plan.toml");
    fs::write(&file, &plan.stdout).unwrap();
    let out = lab.path("out");
    let run =
        format!("run {} --destroy-data {} --out {}", file.display(), device.path, out.display());
    let ran = lab.run(&run).expect_measured();
    assert!(ran.stdout.contains("oltp"), "{}", ran.stdout);
    assert_eq!(trials(&out).len(), 4);
}

#[test]
fn a_report_made_again_from_the_results_is_the_same() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    lab.run(&format!(
        "compare --device {} --schedulers none,kyber --workload randread --rounds 3 --figures-only --trial-time 100ms --out {}",
        device.path,
        out.display()
    ))
    .expect_measured();
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let before = (read("report.html"), read("report.md"), read("analysis.json"));
    lab.run(&format!("report {}", out.display())).expect_status(0);
    assert_eq!((read("report.html"), read("report.md"), read("analysis.json")), before);
    let analysis = lab.run(&format!("analyze {} --json", out.display())).expect_measured().json();
    assert_eq!(analysis, serde_json::from_str::<serde_json::Value>(&before.2).unwrap());
}
