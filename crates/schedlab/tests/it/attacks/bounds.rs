//! Unbounded input: huge plans, tables, results files.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{eventually, require};

use crate::common::{Lab, Ran, binary, trials};

/// 1 GiB of address space; the CPU time limit ends endless loops regardless of load.
fn bounded(lab: &Lab, words: &str) -> Ran {
    let mut command = Command::new("prlimit");
    command
        .args([format!("--as={}", 1_u64 << 30), "--cpu=120".to_owned()])
        .arg(binary())
        .args(words.split_whitespace())
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .current_dir(lab.dir.path());
    Ran::from(command.output().expect("prlimit runs"))
}

fn plan(variants: usize, budget: &str) -> String {
    let mut plan = format!(
        "arena = \"sim\"\ndevice = \"null\"\n[budget]\n{budget}\n[trial]\nduration_ms = 20\nwarmup_ms = 0\n\
         [[workload]]\nname = \"oltp\"\nkind = \"oltp\"\n"
    );
    for variant in 0..variants {
        writeln!(plan, "[[variant]]\nname = \"a{variant}\"\nscheduler = \"none\"")
            .expect("a string takes all");
    }
    plan
}

fn long_file(path: &Path, head: &str, filler: u64, tail: &str) {
    let mut file = File::create(path).expect("a new file");
    file.write_all(head.as_bytes()).expect("room");
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..filler >> 20 {
        file.write_all(&chunk).expect("room");
    }
    file.write_all(tail.as_bytes()).expect("room");
}

#[test]
fn a_plan_of_20000_variants_is_refused() {
    if !require(&["root", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    fs::write(lab.path("plan.toml"), plan(20_000, "rounds = 3")).expect("room");
    bounded(&lab, "run plan.toml --out out").expect_status(2).says(&[
        "variants: too many (found 20000, expected at most 1000)",
        "compare fewer at a time",
    ]);
    assert!(!lab.path("out").exists(), "nothing is begun");
}

#[test]
fn four_thousand_million_rounds_are_refused_before_they_make_results_that_cannot_be_read() {
    if !require(&["root", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    fs::write(lab.path("plan.toml"), plan(2, "rounds = 4000000000")).expect("room");
    bounded(&lab, "run plan.toml --out out")
        .expect_status(2)
        .says(&["budget.rounds: too many (found 4000000000, expected at most 10000)"]);
    // A plan at the limit can be read back.
    fs::write(lab.path("plan.toml"), plan(2, "rounds = 10000")).expect("room");
    let out = lab.path("out");
    let mut child =
        lab.start(&format!("run {} --out {}", lab.path("plan.toml").display(), out.display()));
    eventually("some trials are measured", || trials(&out).len() >= 10);
    signal(child.id());
    child.wait().expect("it ends");
    bounded(&lab, "analyze out --json").expect_status(0);
}

#[test]
fn a_cell_of_300_mb_is_refused_before_it_is_read() {
    if !require(&["root", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    long_file(&lab.path("table.csv"), "variant,mb_s,why\nnone,1,\nbfq,2,", 300 << 20, "\nbfq,3,\n");
    bounded(&lab, "analyze table.csv --variant variant --metric mb_s --invalid-if why")
        .expect_status(2)
        .says(&[
            "table.csv: table: too large (found more, expected at most 64.0 MiB)",
            "split the table",
        ]);
    long_file(&lab.path("table.csv"), "variant,mb_s,why\nnone,1,\nbfq,2,", 1 << 20, "\nbfq,3,\n");
    bounded(&lab, "analyze table.csv --variant variant --metric mb_s --invalid-if why")
        .expect_status(2)
        .says(&["table.csv: table: line 3: cell of a table: too large (found 1.0 MiB, expected at most 64.0 KiB)"]);
}

#[test]
fn a_line_of_200_mb_in_results_is_refused_before_it_is_read() {
    if !require(&["root", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    lab.run(&format!(
        "compare --schedulers none,kyber --workload oltp --arena sim --device null --rounds 2 --figures-only --out {}",
        lab.path("out").display()
    ))
    .expect_measured();
    let results = lab.path("out/results.jsonl");
    let head = fs::read_to_string(&results).expect("a results file");
    long_file(
        &results,
        &(head + "{\"kind\":\"note\",\"at_ms\":1,\"event\":\"other\",\"text\":\""),
        200 << 20,
        "\"}\n",
    );
    bounded(&lab, "analyze out").expect_status(1).says(&[
        "results.jsonl: not a readable results file",
        "line of a results file: too large",
        "expected at most 4.0 MiB",
    ]);
}

#[test]
fn a_signal_ends_the_comparing_of_a_large_results() {
    let lab = Lab::new();
    let out = lab.path("out");
    // Some rounds must remain when the signal arrives.
    let plan = plan(2, "rounds = 10000").replace("duration_ms = 20\n", "duration_ms = 200\n");
    fs::write(lab.path("plan.toml"), plan).expect("room");
    let run = format!("run {} --out {}", lab.path("plan.toml").display(), out.display());
    let mut child = lab.start(&run);
    let results = out.join("results.jsonl");
    let lines = || fs::read_to_string(&results).unwrap_or_default().lines().count();
    eventually("some trials are measured", || lines() >= 10);
    signal(child.id());
    child.wait().expect("it ends");
    multiply(&results, 9_000);
    let analysis = out.join("analysis.json");
    // Complete, unless this machine was too busy.
    let _ = fs::remove_file(&analysis);
    let size = || fs::metadata(&results).expect("a results file").len();
    let whole = size();
    let child = lab.start(&format!("{run} --resume"));
    eventually("the results file is read and continued", || size() > whole);
    signal(child.id());
    let ran = Ran::from(child.wait_with_output().expect("it has ended"));
    // Written at the end of the analysis.
    assert!(
        !analysis.exists(),
        "it goes on comparing, or the results file is too small for this test: {ran:?}"
    );
    assert_eq!(ran.status, Some(143), "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

fn signal(pid: u32) {
    let status =
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

fn multiply(results: &Path, rounds: u64) {
    let text = fs::read_to_string(results).expect("a results file");
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let trials: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|line| line["kind"] == "trial" && line["round"] == 0)
        .collect();
    assert_eq!(trials.len(), 2, "{text}");
    let mut file =
        OpenOptions::new().write(true).truncate(true).open(results).expect("a results file");
    file.seek(SeekFrom::Start(0)).expect("a file");
    let mut out = format!("{header}\n");
    for round in 0..rounds {
        for (at, trial) in trials.iter().enumerate() {
            let mut trial = trial.clone();
            trial["round"] = round.into();
            trial["sequence"] = (2 * round + at as u64).into();
            out.push_str(&trial.to_string());
            out.push('\n');
        }
    }
    file.write_all(out.as_bytes()).expect("room");
}
