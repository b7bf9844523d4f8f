//! Hostile segments: endless files, pipes, contradictions, and commands in their texts.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use testbed::require;

use crate::common::{Lab, Ran, binary};

const PLAN: &str = "arena = \"sim\"\ndevice = \"null\"\nbudget = { rounds = 2, figures_only = true }\n\
     trial = { duration_ms = 20, warmup_ms = 0 }\n\
     variant = [{ name = \"none\", scheduler = \"none\" }, { name = \"bfq\", scheduler = \"bfq\" }]\n\
     workload = [{ name = \"oltp\", kind = \"oltp\" }]\n";

/// 2 GiB of address space, five minutes.
fn bounded(lab: &Lab, words: &str) -> Ran {
    let mut command = Command::new("prlimit");
    command
        .args([&format!("--as={}", 2_u64 << 30), "timeout", "--kill-after=1", "300"])
        .arg(binary())
        .args(words.split_whitespace())
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .current_dir(lab.dir.path());
    Ran::from(command.output().expect("prlimit and timeout run"))
}

fn sealed(body: &str) -> String {
    let (trials, digest) = (body.lines().count() - 1, Sha256::digest(body));
    format!("{body}{{\"kind\":\"end\",\"trials\":{trials},\"sha256\":\"{digest:x}\"}}\n")
}

#[test]
fn a_hostile_segment_is_bounded_has_no_rights_and_puts_no_command_into_a_shell() {
    if !require(&["root", "prlimit", "timeout", "mkfifo"]) {
        return;
    }
    let lab = Lab::new();
    fs::write(lab.path("plan.toml"), PLAN).expect("room");
    bounded(&lab, "shard run plan.toml --rounds 0..2 --out good").expect_status(0);
    let good = fs::read_to_string(lab.path("good")).expect("a segment");
    let body = &good[..good.trim_end().rfind('\n').expect("lines") + 1];
    // Endless in bytes, in a single line.
    let mut file = File::create(lab.path("large")).expect("a new file");
    for _ in 0..300 {
        file.write_all(&vec![b' '; 1 << 20]).expect("room");
    }
    bounded(&lab, "shard merge large --out out")
        .expect_status(1)
        .says(&["large: segment: too large", "expected at most 256.0 MiB"]);
    // The same segment as often as a command line allows.
    let repeated = vec!["good"; 3000].join(" ");
    bounded(&lab, &format!("shard merge {repeated} --out repeated")).expect_status(0);
    assert!(Command::new("mkfifo").arg(lab.path("pipe")).status().expect("mkfifo runs").success());
    for name in ["pipe", "/dev/zero", "."] {
        bounded(&lab, &format!("shard merge {name} --out out"))
            .expect_status(1)
            .says(&["not a regular file"]);
    }
    let more: String = (0..4000)
        .map(|round| {
            format!(
                "{{\"workload\":0,\"round\":{},\"variant\":0,\"observation\":{{\"duration_ns\":1,\"metrics\":{{}}}}}}\n",
                2 + round
            )
        })
        .collect();
    fs::write(lab.path("more"), sealed(&format!("{body}{more}"))).expect("room");
    bounded(&lab, "shard merge more --out more-out").expect_status(0);
    let results =
        |dir: &str| fs::read(lab.path(dir).join("results.jsonl")).expect("a results file");
    assert!(
        results("more-out") == results("repeated"),
        "what the plan does not ask for is in no results file"
    );
    // Printed texts: a shell command and a terminal sequence.
    let evil =
        body.replacen("schedlab run plan.toml", "schedlab run $(touch ran);\\u001b[2J.toml", 1);
    let half: String = evil.lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(lab.path("evil"), sealed(&half)).expect("room");
    let ran = bounded(&lab, "shard merge evil --out out").expect_status(9);
    assert!(!ran.stderr.contains("touch") && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    assert!(ran.stderr.contains("schedlab shard run PLAN --rounds"), "{}", ran.stderr);
    // Deep nesting must not overflow the stack.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = body.replacen("\"counters\":{", &format!("\"counters\":{{\"x\":{deep},"), 1);
    assert!(nested != body);
    fs::write(lab.path("nested"), sealed(&nested)).expect("room");
    bounded(&lab, "shard merge nested --out out").expect_status(1).says(&["nested"]);
    assert!(!lab.path("out").exists(), "nothing was written of any of them");
}
