//! `schedlab sweep` in the simulator and on a real loop device, and usage errors.

use std::fs;

use serde_json::Value;
use testbed::{Loop, require};

use crate::common::{Lab, trials, valid_analysis};

const SIM: &str = "sweep --arena sim --device hp97560 --quiet --trial-time 2s --warmup 500ms";

fn analyze(lab: &Lab, out: &str) -> Value {
    valid_analysis(&lab.path(out).join("analysis.json"))
}

fn plan(lab: &Lab, words: &str) -> String {
    lab.run(&format!("{words} --dry-run")).expect_status(0).stdout
}

#[test]
fn a_simulated_sweep_is_the_same_every_time_and_its_reports_have_table_lines_and_curves() {
    let lab = Lab::new();
    let words = format!(
        "{SIM} --scheduler deadline --tunables fifo_batch,front_merges,nr_requests --workload randread:clients=8 --rounds 6"
    );
    for out in ["one", "two"] {
        let out = lab.path(out);
        let ran = lab.run(&format!("{words} --out {}", out.display())).expect_status(0);
        assert!(
            ran.stdout.contains("Effect of each tunable") && ran.stdout.contains("tunable"),
            "{}",
            ran.stdout
        );
        assert!(ran.stderr.is_empty(), "quiet is quiet: {}", ran.stderr);
    }
    for name in
        ["results.jsonl", "report.html", "report.md", "analysis.json", "sweep.csv", "plan.toml"]
    {
        let read = |out: &str| fs::read(lab.path(out).join(name)).unwrap();
        assert!(read("one") == read("two"), "{name} differs");
    }
    let analysis = analyze(&lab, "one");
    let responses = analysis["responses"].as_array().unwrap();
    let of = |name: &str| responses.iter().find(|response| response["tunable"] == name).unwrap();
    assert_eq!(
        (&of("fifo_batch")["default"], of("fifo_batch")["points"].as_array().unwrap().len()),
        (&"16".into(), 4)
    );
    assert_eq!(
        (of("front_merges")["default"].as_str(), of("nr_requests")["default"].as_str()),
        (Some("1"), Some("128"))
    );
    // Eight random readers hold eight requests, so limits from 8 up have no effect.
    assert_eq!(of("nr_requests")["effect"]["effect"], "nothing", "{}", of("nr_requests"));
    let page = fs::read_to_string(lab.path("one").join("report.html")).unwrap();
    assert!(page.contains("Response curves") && page.contains("fifo_batch (requests, log scale)"));
    let csv = fs::read_to_string(lab.path("one").join("sweep.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 4 + 1 + 4);
}

#[test]
fn where_a_knob_matters_the_sweep_finds_it_and_says_which_way() {
    let lab = Lab::new();
    let out = lab.path("out");
    let ran = lab
        .run(&format!(
            "sweep --arena sim --device wd4tb7200:queue_depth=1 --quiet --scheduler mq-deadline --tunables fifo_batch,front_merges \
             --workload mixed:writers=2:iodepth=8 --trial-time 20s --warmup 5s --out {}",
            out.display()
        ))
        .expect_status(0);
    let analysis = analyze(&lab, "out");
    let effect = |at: usize| &analysis["responses"][at]["effect"];
    assert_eq!(
        (effect(0)["effect"].as_str(), effect(0)["variant"].as_str()),
        (Some("helps"), Some("fifo_batch=1")),
        "{}",
        ran.stdout
    );
    assert_eq!(effect(1)["effect"], "nothing", "{}", ran.stdout);
    assert_eq!(analysis["recommendation"]["variant"], "fifo_batch=1");
}

#[test]
fn a_sweep_is_a_plan_like_any_other_and_a_cut_off_one_goes_on() {
    let lab = Lab::new();
    let words = format!("{SIM} --scheduler kyber --workload randread --rounds 4");
    let text = plan(&lab, &words);
    fs::write(lab.path("plan.toml"), &text).unwrap();
    let (file, whole, cut) = (lab.path("plan.toml"), lab.path("whole"), lab.path("cut"));
    lab.run(&format!("run {} --quiet --out {}", file.display(), whole.display())).expect_status(0);
    let by_run = analyze(&lab, "whole");
    assert_eq!(by_run["responses"].as_array().unwrap().len(), 2);
    // Truncated within the third round.
    fs::create_dir(&cut).unwrap();
    for name in ["plan.toml", "results.jsonl"] {
        fs::copy(whole.join(name), cut.join(name)).unwrap();
    }
    let results = fs::read_to_string(cut.join("results.jsonl")).unwrap();
    let kept: Vec<&str> = results.lines().take(1 + 2 * 9 + 4).collect();
    fs::write(cut.join("results.jsonl"), kept.join("\n") + "\n").unwrap();
    lab.run(&format!("{words} --out {} --resume", cut.display())).expect_status(0);
    assert_eq!(trials(&cut), trials(&whole), "the resumed results file is the uncut one");
    assert_eq!(analyze(&lab, "cut")["responses"], by_run["responses"]);
}

#[test]
fn a_tiny_sweep_on_a_loop_device_reads_the_defaults_back_and_leaves_the_device_as_it_was() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let disk = Loop::new(&lab.dir, "disk.img", 16);
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/fifo_batch", "7");
    let (before, out) = (disk.snapshot(), lab.path("out"));
    let words = format!(
        "sweep --device {} --scheduler mq-deadline --tunables fifo_batch,front_merges,async_depth,read_ahead_kb --values fifo_batch=1,64 \
         --values read_ahead_kb=64 --workload randread --trial-time 100ms --warmup 0 --rounds 2 --figures-only --out {}",
        disk.path,
        out.display()
    );
    let ran = lab
        .run(&words)
        .expect_measured()
        .says(&["variants: a round takes about", "2 rounds: too few for an interval or a verdict"]);
    let after = disk.snapshot();
    assert_eq!(before, after, "{}", ran.stderr);
    let analysis = analyze(&lab, "out");
    let defaults: Vec<(&str, &str)> = analysis["responses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|response| {
            (response["tunable"].as_str().unwrap(), response["default"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        defaults[0],
        ("fifo_batch", "16"),
        "the kernel's default, not what somebody had set"
    );
    assert_eq!(defaults[1], ("front_merges", "1"));
    let variants: Vec<Value> = trials(&out)
        .into_iter()
        .filter(|trial| trial["round"] == 0)
        .map(|trial| trial["variant"].clone())
        .collect();
    assert!(
        variants.len() >= 6
            && variants.contains(&"fifo_batch=64".into())
            && variants.contains(&"read_ahead_kb=64".into()),
        "{variants:?}"
    );
}

#[test]
fn what_the_device_offers_decides_and_a_plan_says_so_without_touching_it() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let disk = Loop::new(&lab.dir, "disk.img", 4);
    disk.set("scheduler", "bfq");
    let before = disk.snapshot();
    let words = format!("sweep --device {} --scheduler bfq --workload randread", disk.path);
    let text = plan(&lab, &words);
    assert!(
        text.contains("name = \"slice_idle=0\"") && text.contains("name = \"max_budget=256\""),
        "{text}"
    );
    assert!(
        !text.contains("slice_idle_us") && !text.contains("burst"),
        "an alias and our own switch are not swept: {text}"
    );
    assert_eq!(disk.snapshot(), before);
    lab.run(&format!("{words} --tunables rq_affinity --dry-run"))
        .expect_status(2)
        .says(&["rq_affinity", "--values rq_affinity=V"]);
    lab.run(&format!("{words} --tunables rq_afinity --dry-run"))
        .expect_status(2)
        .says(&["did you mean \"rq_affinity\""]);
    let text = plan(&lab, &format!("{words} --values rq_affinity=0,2"));
    assert!(text.contains("name = \"rq_affinity=2\""), "{text}");
}

#[test]
fn words_that_make_no_sense_end_with_status_2_and_the_next_step() {
    let lab = Lab::new();
    let refused = |words: &str, says: &[&str]| {
        lab.run(&format!("{SIM} --workload randread --out {} {words}", lab.path("out").display()))
            .expect_status(2)
            .says(says);
    };
    refused(
        "--scheduler deadline --tunables fifo_bach",
        &["fifo_bach", "did you mean \"fifo_batch\""],
    );
    refused("--scheduler deadline --values front_merges=3", &["front_merges", "from 0 to 1"]);
    refused(
        "--scheduler deadline --tunables fifo_batch --values writes_starved=3",
        &["writes_starved is not swept"],
    );
    refused("--scheduler deadline --values fifo_batch=3,3", &["given twice"]);
    refused("--scheduler deadlin", &["did you mean \"deadline\""]);
    refused(
        "--scheduler deadline --budget 100s",
        &["17 variants", "has no room for 4", "--budget"],
    );
    refused("", &["--scheduler"]);
    assert!(!lab.path("out").exists(), "nothing was begun");
}

#[test]
fn the_help_teaches_with_examples_and_names_its_own_default_budget() {
    let help = Lab::new().run("sweep --help").expect_status(0).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Examples:") && help.contains("20 rounds of trials of 1 s"), "{help}");
    assert!(
        !help.contains("[default: 60s"),
        "the other commands' budget is not this one's: {help}"
    );
}
