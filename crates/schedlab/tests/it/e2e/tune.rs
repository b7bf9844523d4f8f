//! `schedlab tune`: searches with a known answer, with nothing to find, interrupted, on a real
//! device.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testbed::{Loop, eventually, require};

use crate::common::Lab;

fn tuned(dir: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(dir.join("tune.json")).unwrap()).unwrap()
}

const SMALL: &str = "--arena sim --device hp97560 --workload dss --schedulers mq-deadline,bfq --tunables low_latency,slice_idle,fifo_batch";

#[test]
fn a_search_in_the_simulator_finds_the_known_optimum_and_prints_the_confirmed_verdict() {
    let lab = Lab::new();
    let out = lab.path("out");
    let ran = lab
        .run(&format!("tune {SMALL} --trials 110 --quiet --out {}", out.display()))
        .expect_status(0);
    // The truth, by comparing every point.
    let named = |name: &str, value: &str, default| {
        if value == default { String::new() } else { format!(":{name}={value}") }
    };
    let variants: Vec<String> = ["0", "1"]
        .iter()
        .flat_map(|low| ["0", "2", "8", "32", "128"].map(|idle| (low, idle)))
        .map(|(low, idle)| {
            format!("bfq{}{}", named("low_latency", low, "1"), named("slice_idle", idle, "8"))
        })
        .chain(["1", "4", "64", "256"].iter().map(|v| format!("mq-deadline:fifo_batch={v}")))
        .collect();
    let words = "compare --arena sim --device hp97560 --workload dss --baseline mq-deadline --rounds 8 --quiet --json";
    let truth = lab.run(&format!(
        "{words} --schedulers mq-deadline,{} --out {}",
        variants.join(","),
        lab.path("grid").display()
    ));
    let analysis = truth.json();
    let ratio = |variant: &str| {
        let of = |j: &&Value| j["variant"] == variant && j["primary"] == true;
        analysis["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .find(of)
            .map_or(1.0, |j| j["ratio"].as_f64().unwrap())
    };
    let best = variants.iter().map(|variant| ratio(variant)).fold(1.0, f64::max);
    assert!(best > 1.1, "settings matter here: {best}");
    let found = tuned(&out);
    let winner = found["winner"]["variant"].as_str().unwrap();
    assert!(ratio(winner) > 0.98 * best, "{winner}: {} of {best}", ratio(winner));
    assert_eq!(found["confirmation"]["verdict"], "better");
    assert!(found["confirmation"]["rounds"].as_u64().unwrap() >= 3);
    for words in ["search estimate", "confirmed", "better", &format!("recommended: {winner}")] {
        assert!(ran.stdout.contains(words), "{words}:\n{}", ran.stdout);
    }
    // The fields that `persist --from` reads.
    let recommended = &found["recommended"];
    assert_eq!(
        (recommended["arena"].as_str(), recommended["device"].as_str()),
        (Some("sim"), Some("hp97560"))
    );
    assert_eq!(recommended["scheduler"], "bfq");
    assert!(recommended["tunables"].is_object() && recommended["verdict"]["verdict"] == "better");
    assert!(
        recommended["identity"].is_string() && recommended.get("date").is_none(),
        "virtual time has no date"
    );
    // On new seeds.
    lab.run(&format!("analyze {}", out.join("confirm").display())).expect_status(0);
    let page = fs::read_to_string(out.join("tune.html")).unwrap().replace("<wbr>", "");
    assert!(page.contains("<svg") && page.contains(winner) && !page.contains("<script"));
}

#[test]
fn settings_of_the_winner_that_do_nothing_are_put_back_and_what_is_left_is_as_good() {
    let lab = Lab::new();
    let out = lab.path("out");
    let words = "tune --arena sim --device hp97560 --workload dss --schedulers mq-deadline,bfq --trials 400 --trial-time 20s --quiet";
    let ran = lab.run(&format!("{words} --out {}", out.display())).expect_status(0);
    let found = tuned(&out);
    let pruning = &found["pruning"];
    assert!(pruning["put_back"].as_u64().unwrap() > 0 && pruning["accepted"] == true, "{pruning}");
    let (winner, left) =
        (found["winner"]["variant"].as_str().unwrap(), pruning["variant"].as_str().unwrap());
    assert!(
        left.split(':').count() < winner.split(':').count(),
        "{left} is not less than {winner}"
    );
    assert!(ran.stdout.contains(&format!("recommended: {left}\n")), "{}", ran.stdout);
    for word in left.split(':').skip(1) {
        let (name, value) = word.split_once('=').unwrap();
        assert_eq!(found["recommended"]["tunables"][name], value);
    }
    // On new rounds.
    let compare = format!(
        "compare --arena sim --device hp97560 --workload dss --seed 99 --rounds 12 --trial-time 20s --quiet --json --schedulers winner={winner},left={left},bare=bfq --out {}",
        lab.path("check").display()
    );
    let analysis = lab.run(&compare).expect_status(0).json();
    let ratio = |variant: &str| {
        let compared = analysis["comparisons"].as_array().unwrap();
        compared.iter().find(|j| j["variant"] == variant && j["primary"] == true).unwrap()["ratio"]
            .as_f64()
            .unwrap()
    };
    assert!(ratio("left") > 0.99 && ratio("bare") < 0.9, "{} and {}", ratio("left"), ratio("bare"));
    lab.run(&format!("analyze {}", out.join("prune-1").display())).expect_status(0);
}

#[test]
fn where_no_setting_matters_nothing_is_recommended() {
    let lab = Lab::new();
    let out = lab.path("out");
    let words = "tune --arena sim --device hp97560 --workload iozone --schedulers mq-deadline --tunables fifo_batch,read_expire";
    let ran = lab
        .run(&format!("{words} --trials 90 --quiet --json --out {}", out.display()))
        .expect_status(0);
    let found = ran.json();
    assert!(found["recommended"].is_null(), "{}", found["answer"]);
    assert!(found["answer"].as_str().unwrap().contains("keep the default"), "{}", found["answer"]);
}

#[test]
fn a_search_that_was_stopped_and_killed_goes_on_and_ends_as_if_nothing_had_happened() {
    let lab = Lab::new();
    let (whole, cut) = (lab.path("whole"), lab.path("cut"));
    let words = format!("tune {SMALL} --seed 3 --trial-time 200s --trials 120 --quiet");
    lab.run(&format!("{words} --out {}", whole.display())).expect_status(0);
    let lines = || fs::read_to_string(cut.join("search.jsonl")).unwrap_or_default().lines().count();
    for (resume, signal, enough) in [("", "-INT", 10), ("--resume", "-KILL", 30)] {
        let mut child = lab.start(&format!("{words} --out {} {resume}", cut.display()));
        eventually("the search has begun", || {
            lines() >= enough || child.try_wait().unwrap().is_some()
        });
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        // A search that finished before the signal reports nothing.
        if signal == "-INT" && !output.status.success() {
            assert!(told.contains("interrupted after") && told.contains("--resume"), "{told}");
        }
    }
    // A crash in the middle of a line.
    let path = cut.join("search.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"kind\":\"trial\",\"sequ");
    fs::write(&path, text).unwrap();
    lab.run(&format!("{words} --out {} --resume", cut.display())).expect_status(0);
    assert_eq!(tuned(&cut), tuned(&whole), "virtual time is the same every time");
    let other = words.replace("--seed 3", "--seed 4");
    lab.run(&format!("{other} --out {} --resume", cut.display()))
        .expect_status(2)
        .says(&["holds another search"]);
    lab.run(&format!("{words} --out {}", cut.display()))
        .expect_status(2)
        .says(&["already holds a search", "--resume"]);
}

#[test]
fn a_search_on_a_real_device_ends_with_an_answer_and_leaves_the_device_as_it_was() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    device.set("scheduler", "mq-deadline");
    let before = device.snapshot();
    let words = "--workload randread --schedulers none,mq-deadline --tunables fifo_batch,nomerges --trials 40 --trial-time 250ms --quiet";
    let out = lab.path("out");
    let ran = lab
        .run(&format!("tune --device {} {words} --out {}", device.path, out.display()))
        .expect_measured();
    assert_eq!(device.snapshot(), before, "{}", ran.stdout);
    let found = tuned(&out);
    assert_eq!(
        (found["arena"].as_str(), found["default"].as_str()),
        (Some("disk"), Some("mq-deadline"))
    );
    let answer = found["answer"].as_str().unwrap();
    assert!(answer.contains("recommended: ") || answer.contains("keep the default"), "{answer}");
    assert!(found["search"]["trials"].as_u64().unwrap() <= 40);
    let text = fs::read_to_string(out.join("search.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trials: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "trial").collect();
    assert!(!trials.is_empty());
    for trial in &trials {
        let default =
            |other: &&&Value| other["round"] == trial["round"] && other["variant"] == "mq-deadline";
        assert!(trials.iter().any(|other| default(&other)), "{trial}");
    }
    if let Some(recommended) = found["recommended"].as_object() {
        assert!(recommended["date"].is_string());
    }
}

#[test]
fn an_expression_and_a_constraint_decide_and_a_constraint_that_nothing_holds_recommends_nothing() {
    let lab = Lab::new();
    let words = format!("tune {SMALL} --trials 100 --quiet --json");
    let found = lab
        .run(&format!(
            "{words} --objective throughput/latency --constraint latency<100s --out {}",
            lab.path("a").display()
        ))
        .expect_status(0)
        .json();
    assert_eq!(found["confirmation"]["constraints"][0], serde_json::json!(["latency<100s", true]));
    assert_eq!(found["default_holds"], true);
    assert!(found["recommended"].is_object(), "{}", found["answer"]);
    let found = lab
        .run(&format!("{words} --constraint latency<1us --out {}", lab.path("b").display()))
        .expect_status(0)
        .json();
    assert!(
        found["recommended"].is_null() && found["default_holds"] == false,
        "{}",
        found["answer"]
    );
    // Too few requests for a percentile: rejected before the search.
    let words = format!(
        "tune {SMALL} --trials 100 --quiet --constraint p99<1s --trial-time 1s --out {}",
        lab.path("c").display()
    );
    lab.run(&words).expect_status(2).says(&["no valid latency_p99_us", "--trial-time"]);
}

#[test]
fn the_space_is_shown_before_anything_is_measured() {
    let lab = Lab::new();
    let shown = lab.run(&format!("tune {SMALL} --dry-run --json")).expect_status(0).json();
    assert_eq!(shown["points"], 15, "{shown}");
    assert_eq!(shown["default"], "mq-deadline");
    let ran = lab.run(&format!("tune {SMALL} --dry-run")).expect_status(0);
    assert!(ran.stdout.contains("slice_idle") && ran.stdout.contains("[8]"), "{}", ran.stdout);
    let fixed = lab
        .run(&format!("tune {SMALL} --fix slice_idle=0 --dry-run --json"))
        .expect_status(0)
        .json();
    assert_eq!(fixed["points"], 7, "{fixed}");
}

#[test]
fn wrong_usage_is_told_with_what_would_do() {
    let lab = Lab::new();
    for (words, says) in [
        ("--constraint p99", vec!["neither < nor >", "p99<20ms"]),
        ("--constraint p98<20ms", vec!["unknown metric \"p98\"", "latency_p99_us"]),
        ("--constraint p99<20", vec!["needs a unit"]),
        ("--objective iosp", vec!["did you mean \"iops\""]),
        ("--objective iops/", vec!["cannot read the expression"]),
        ("--trials 12", vec!["--trials 12", "--trials 20"]),
        ("--budget 3s", vec!["--budget"]),
        ("--tunables nonsense", vec!["unknown name \"nonsense\"", "slice_idle"]),
        ("--fix slice_idle", vec!["NAME=VALUE"]),
        ("--fix slice_idle=0 --fix fifo_batch=1 --schedulers bfq", vec!["fifo_batch"]),
        ("--schedulers none --tunables fifo_batch", vec!["fifo_batch"]),
        ("--resume", vec!["--out"]),
    ] {
        let base = if words.contains("--schedulers") {
            "--arena sim --device hp97560 --workload dss".to_owned()
        } else if words.contains("--tunables") {
            SMALL.replace(" --tunables slice_idle,fifo_batch", "")
        } else {
            SMALL.to_owned()
        };
        lab.run(&format!("tune {base} {words}")).expect_status(2).says(&says);
    }
    let one = "tune --arena sim --device hp97560 --schedulers none --fix nr_requests=64";
    lab.run(one).expect_status(2).says(&["one point", "--schedulers"]);
}
