//! `compare --commands`: programs in rounds, with a verdict, without root or a device.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Lab, Ran, split, trials, valid_analysis};

fn compare(lab: &Lab, commands: [&str; 2], words: &str) -> Ran {
    let mut command = lab.command("compare --commands");
    command.args(commands).args(split(words)).args(["--json", "--quiet", "--out"]);
    Ran::from(command.arg(lab.path("out")).current_dir(lab.dir.path()).output().unwrap())
}

/// So different that a busy machine, which may start a program half a second late, hides nothing.
const SLOW: [&str; 2] = ["sleep 0.01", "sleep 1.5"];
const QUICK: [&str; 2] = ["sleep 0.01", "sleep 0.02"];

fn metric(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

fn invalid(trial: &serde_json::Value) -> String {
    trial["observation"]["invalid"].to_string()
}

#[test]
fn the_slower_of_two_commands_is_worse_and_fails_the_step() {
    let lab = Lab::new();
    let words = "--names fast,slow --rounds 4 --fail-if worse";
    let ran = compare(&lab, SLOW, words).expect_status(5);
    let found = &ran.json()["comparisons"][0];
    assert_eq!(
        (found["variant"].as_str(), found["verdict"].as_str()),
        (Some("slow"), Some("worse"))
    );
    assert_eq!(
        (found["metric"].as_str(), found["baseline"].as_str()),
        (Some("wall_s"), Some("fast"))
    );
    let out = lab.path("out");
    let all = trials(&out);
    assert_eq!(all.len(), 8, "four rounds of two");
    for trial in &all {
        let waits = if trial["variant"] == "slow" { 1.5 } else { 0.01 };
        assert!(metric(trial, "wall_s") >= waits, "{trial}");
        assert!(metric(trial, "cpu_s") < metric(trial, "wall_s"), "{trial}");
        assert!(metric(trial, "memory_mib") > 0.1, "{trial}");
    }
    valid_analysis(&out.join("analysis.json"));
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("slow") && report.contains("fast"), "{report}");
    let again = lab.run(&format!("analyze {} --json", out.display())).expect_status(0).json();
    assert_eq!(again["comparisons"][0]["low"], found["low"]);
    compare(&lab, SLOW, &format!("{words} --resume")).expect_status(5);
    assert_eq!(trials(&out).len(), 8, "nothing is measured twice");
}

#[test]
fn a_plan_of_commands_runs_as_it_is_printed() {
    let lab = Lab::new();
    let printed = compare(&lab, QUICK, "--rounds 4 --metric cpu --dry-run").expect_status(0).json();
    let starts = printed["starts"].to_string();
    assert!(starts.contains("sleep 0.02") && !lab.path("out").exists(), "{starts}");
    assert!(!starts.contains("{run}"), "named as what it stands for: {starts}");
    assert_eq!(printed["plan"]["workload"][0]["primary"], "cpu_s");
    assert_eq!(printed["plan"]["trial"]["warmup_ms"], 0, "every command has run once");
    let mut shown = lab.command("compare --rounds 4 --metric cpu --dry-run --commands");
    let plan = Ran::from(shown.args(QUICK).output().unwrap()).expect_status(0).stdout;
    fs::write(lab.path("plan.toml"), plan).unwrap();
    let (plan, out) = (lab.path("plan.toml"), lab.path("ran"));
    let words = format!("run {} --out {} --json -q", plan.display(), out.display());
    lab.run(&format!("{words} --allow-commands")).expect_measured();
    assert!(trials(&out).iter().all(|trial| metric(trial, "cpu_s") > 0.0));
    if rustix::process::geteuid().is_root() {
        let _ = fs::remove_dir_all(&out);
        lab.run(&words).expect_status(2).says(&["sleep 0.01", "--allow-commands"]);
    }
}

#[test]
fn a_command_runs_where_its_user_is_with_their_variables() {
    let lab = Lab::new();
    let here = lab.dir.path().display().to_string();
    let line = format!("test \"$PWD\" = {here} && test \"$SCHEDLAB_STATE_DIR\" = {here}/state");
    compare(&lab, [&line, "test -d state"], "--rounds 4").expect_measured();
    assert!(trials(&lab.path("out")).iter().all(|trial| invalid(trial) == "null"));
}

#[test]
fn a_run_that_fails_is_invalid_and_a_first_one_ends_the_comparison() {
    let lab = Lab::new();
    // Succeeds on the first run only.
    let later = "test ! -e began && touch began";
    compare(&lab, ["true", later], "--rounds 4 --names good,bad").expect_status(3);
    for trial in trials(&lab.path("out")) {
        let failed = invalid(&trial).contains("program-failed");
        assert_eq!(failed, trial["variant"] == "bad", "{trial}");
    }
    let lab = Lab::new();
    compare(&lab, ["true", "echo broken >&2; exit 3"], "--rounds 4 --names good,bad")
        .expect_status(1)
        .says(&["variant bad", "exit status: 3", "broken"]);
    assert!(!lab.path("out").join("results.jsonl").exists(), "nothing was measured");
}

#[test]
fn commands_that_cannot_be_compared_are_refused_with_the_flag() {
    let lab = Lab::new();
    for (commands, words, expected) in [
        (["true", "true"], "", ["two are called \"true\"", "--names"]),
        (["true", " "], "", ["number 2 is empty", "name a program"]),
        (["true", "a\nb"], "", ["number 2 has no printable name", "--names"]),
        (["true", "false"], "--names a", ["found 1, expected 2", "commas"]),
        (["true", "false"], "--device sda", ["--device", "cannot be used"]),
        (["true", "false"], "--arena sim", ["--arena", "cannot be used"]),
        (["true", "false"], "--baseline c", ["unknown variant `c`", "true"]),
    ] {
        compare(&lab, commands, words).expect_status(2).says(&expected);
    }
    lab.run("compare --commands true").expect_status(2).says(&["2 values required"]);
    for flag in ["--metric cpu", "--names a,b"] {
        lab.run(&format!("compare --device sda {flag}")).expect_status(2).says(&["--commands"]);
    }
}

#[test]
fn variants_and_workloads_of_a_plan_need_each_others_command_line() {
    let lab = Lab::new();
    let plan = |first: &str, work: &str| {
        let text = format!(
            "arena = 'cpu'\n[[variant]]\nname = 'a'\ntunables = {{ {first} }}\n[[variant]]\nname = 'b'\n\
             tunables = {{ run = 'true' }}\n[[workload]]\nname = 'w'\nkind = 'command'\nparams = {{ run = '{work}' }}\n"
        );
        fs::write(lab.path("plan.toml"), text).unwrap();
        lab.run(&format!("run {} --dry-run", lab.path("plan.toml").display()))
    };
    plan("nice = '1'", "{run}").expect_status(2).says(&["variant a", "no command line"]);
    plan("run = 'false'", "true").expect_status(2).says(&["variant a", "workload w", "{run}"]);
    plan("run = 'false'", "{run} | cat").expect_status(0);
}

#[test]
fn commands_need_no_root_and_no_state_directory_of_its_own() {
    let lab = Lab::new();
    let home = lab.path("home");
    fs::create_dir(&home).unwrap();
    // Directories above the built binary may be closed to others.
    let program = lab.path("schedlab");
    testbed::copy_program(crate::common::binary(), &program);
    let mut command = Command::new(program);
    command.args("compare --rounds 4 --json -q --out out --commands".split(' '));
    command.args(["test $(id -u) != 0", "true"]).current_dir(&home);
    command.env_remove("SCHEDLAB_STATE_DIR").env_remove("XDG_STATE_HOME").env("HOME", &home);
    if rustix::process::geteuid().is_root() {
        const NOBODY: u32 = 65_534;
        fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    Ran::from(command.output().unwrap()).expect_measured();
    assert_eq!(trials(&home.join("out")).len(), 8);
    let left = |dir: &Path| fs::read_dir(dir).unwrap().count();
    let state = home.join(".local/state/schedlab");
    assert_eq!(left(&state.join("journal")), 0, "nothing is left to undo");
}

#[test]
fn the_action_fails_a_pull_request_that_is_slower() {
    let lab = Lab::new();
    let action = include_str!("../../../../../packaging/github/action.yml");
    let (_, script) = action.split_once("run: |\n").unwrap();
    let bin = crate::common::binary();
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let summary = lab.path("summary.md");
    let step = |[base, head]: [&str; 2], flags: &str| {
        let _ = fs::remove_dir_all(lab.path("schedlab-pr"));
        let mut step = Command::new("bash");
        step.args(["-e", "-c", script]).current_dir(lab.dir.path());
        step.env("SCHEDLAB_STATE_DIR", lab.state()).env("PATH", &path);
        step.env("BASE", base).env("HEAD", head).env("FLAGS", flags);
        Ran::from(step.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap())
    };
    step(SLOW, "--rounds 4 --metric time").expect_status(5);
    let shown = fs::read_to_string(&summary).unwrap();
    assert!(shown.contains("head") && shown.contains("worse"), "{shown}");
    step(SLOW, "--rounds 4 --margin 900%").expect_status(2);
    // Equal programs would be called worse in one of forty runs.
    let [quick, slow] = SLOW;
    step([slow, quick], "--rounds 4").expect_measured();
}

#[test]
fn cpu_time_is_what_the_shell_of_a_command_counted() {
    let lab = Lab::new();
    let line = |turns: u32| {
        format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done; times >> used; true")
    };
    let words = "--rounds 4 --names a,b --metric cpu";
    compare(&lab, [&line(60_000), &line(60_001)], words).expect_measured();
    let used = fs::read_to_string(lab.path("used")).unwrap();
    // The shell's user and system time; the next line is its children's. Two first runs are
    // uncounted.
    let seconds = |word: &str| -> f64 {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    let counted: Vec<f64> = used
        .lines()
        .step_by(2)
        .map(|line| line.split_whitespace().map(seconds).sum())
        .skip(2)
        .collect();
    let all = trials(&lab.path("out"));
    assert_eq!(counted.len(), all.len());
    for (trial, counted) in all.iter().zip(counted) {
        let found = metric(trial, "cpu_s");
        assert!((found - counted).abs() < 0.03, "{found} instead of {counted}");
    }
}

#[test]
fn memory_is_that_of_a_command_with_its_children() {
    let lab = Lab::new();
    let holds = |mib: u32| format!("head -c {mib}M /dev/zero | tail -c {mib}M | wc -c");
    let (small, large) = (holds(64), holds(160));
    let words = "--rounds 4 --metric memory --fail-if worse --names small,large";
    let ran = compare(&lab, [&small, &large], words).expect_status(5);
    assert_eq!(ran.json()["comparisons"][0]["metric"], "memory_mib");
    for trial in trials(&lab.path("out")) {
        let mib = if trial["variant"] == "small" { 64.0 } else { 160.0 };
        let found = metric(&trial, "memory_mib");
        assert!(found >= mib && found < 2.2 * mib, "{found} of {mib}");
        assert!(metric(&trial, "cpu_s") > 0.0, "{trial}");
    }
}
