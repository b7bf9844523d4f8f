//! The CPU arena: settings take effect, competition decides, and errors are reported before
//! measuring.

use std::fs;

use testbed::{eventually, require};

use crate::common::{Lab, Ran, trials, valid_analysis};

fn compare(lab: &Lab, variants: &str, words: &str) -> Ran {
    let out = lab.path("out");
    let _ = fs::remove_dir_all(&out);
    lab.run(&format!(
        "compare --arena cpu --schedulers {variants} {words} --out {} --json --quiet",
        out.display()
    ))
}

fn metric(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

fn counter(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

fn invalid(trial: &serde_json::Value) -> String {
    trial["observation"]["invalid"].to_string()
}

fn printing(lab: &Lab, name: &str, before: &str, figure: &str) -> String {
    let script = lab.path(name);
    fs::write(
        &script,
        format!("#!/bin/sh\n{before}\nset -- $(cat /proc/self/stat)\necho \"figure {figure}\"\n"),
    )
    .unwrap();
    format!("command:file={}:metric=figure:regex=figure ([0-9.]+):better=higher", script.display())
}

fn command(lab: &Lab, variants: &str, work: &str) -> Vec<serde_json::Value> {
    let out = lab.path("out");
    let _ = fs::remove_dir_all(&out);
    let words = format!(
        "compare --arena cpu --schedulers {variants} --rounds 2 --figures-only --budget 1h --trial-time 100ms --out {} --json -q",
        out.display()
    );
    // The workload contains spaces.
    let ran = lab.command(&words).args(["--workload", work]).output().unwrap();
    assert!(
        ran.status.code().is_some_and(|code| code == 0 || code == 3),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    trials(&out)
}

#[test]
fn what_a_variant_asks_for_is_what_the_program_has() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    // Fields of /proc/self/stat, whose name has no space here: 19 is the nice level, 40 the
    // real-time priority, 41 the policy.
    let nice =
        command(&lab, "default,nice=-7,nice=11", &printing(&lab, "nice", "", "$(( ${19} + 100 ))"));
    let of = |all: &[serde_json::Value], variant: &str| -> Vec<f64> {
        all.iter()
            .filter(|trial| trial["variant"] == variant)
            .map(|trial| metric(trial, "figure"))
            .collect()
    };
    assert_eq!(of(&nice, "nice=-7"), [93.0; 2]);
    assert_eq!(of(&nice, "nice=11"), [111.0; 2]);
    let work = printing(&lab, "policy", "", "$(( ${41} * 1000 + ${40} ))");
    let policies = command(&lab, "policy=batch,policy=idle,policy=fifo:50,rr=policy=rr:3", &work);
    assert_eq!(of(&policies, "policy=batch"), [3000.0; 2]);
    assert_eq!(of(&policies, "policy=idle"), [5000.0; 2]);
    assert_eq!(of(&policies, "policy=fifo:50"), [1050.0; 2]);
    assert_eq!(of(&policies, "rr"), [2003.0; 2]);
    let work = printing(
        &lab,
        "cpus",
        "",
        "$(( 0x$(sed -n 's/^Cpus_allowed:[^0-9a-f]*//p' /proc/self/status | tr -d ,) ))",
    );
    let masks = command(&lab, "affinity=0,affinity=1", &work);
    assert_eq!(of(&masks, "affinity=0"), [1.0; 2]);
    assert_eq!(of(&masks, "affinity=1"), [2.0; 2]);
    assert!(masks.iter().all(|trial| invalid(trial) == "null"), "{masks:?}");
}

#[test]
fn a_program_that_leaves_the_place_it_was_given_is_no_evidence() {
    let lab = Lab::new();
    let all = command(
        &lab,
        "default,nice=4",
        &printing(&lab, "nice", "renice -n 9 -p $$ >/dev/null", "1"),
    );
    for trial in &all {
        let expected = trial["variant"] == "nice=4";
        let found = invalid(trial);
        assert_eq!(
            found.contains("changed-meanwhile") && found.contains("nice"),
            expected,
            "{trial}"
        );
    }
}

#[test]
fn what_cannot_be_is_told_with_the_next_step_before_anything_is_measured() {
    let lab = Lab::new();
    let absent = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let absent = absent.trim().rsplit(['-', ',']).next().unwrap().parse::<u32>().unwrap() + 1;
    for (variants, words, said) in [
        ("default,nice=20", "", "-20 to 19"),
        ("default,nise=1", "", "did you mean \"nice\""),
        ("default,policy=fifo:99", "", "1 to 98"),
        ("default,policy=fifo:1+nice=3", "", "remove one of them"),
        ("default,bfq", "", "[NAME=]SETTING[+SETTING]"),
        ("default", "", "at least two"),
        ("default,nice=1", "--workload oltp", "for CPUs use linpack"),
        ("default,nice=1", "--workload linpack:array=1", "10 to 10000"),
        ("default,nice=1", "--background seqwrite", "expected one of spin"),
        ("default,nice=1", "--background spin:io_weight=5", "a CPU experiment does not have"),
        ("default,nice=1", "--fs ext4", "hold no files"),
        ("default,nice=1", "--destroy-data sda", "hold no data"),
    ] {
        compare(&lab, variants, words).expect_status(2).says(&[said]);
    }
    compare(&lab, &format!("default,affinity={absent}"), "")
        .expect_status(2)
        .says(&[&format!("affinity={absent}")]);
    for arena in ["disk", "sim", "kernel"] {
        lab.run(&format!("compare --device cpu --arena {arena}"))
            .expect_status(2)
            .says(&["--arena cpu"]);
    }
    lab.run("compare --arena cpu").expect_status(2).says(&["schedlab list settings"]);
    for command in ["tune --arena cpu --device cpu", "show cpu"] {
        lab.run(command).expect_status(2).says(&["schedlab compare --arena cpu"]);
    }
    for (words, said) in [
        ("--scheduler bfq", "[NAME=]SETTING[+SETTING]"),
        ("--tunables nise", "did you mean \"nice\""),
        ("--values nice=20", "from -20 to 19"),
        ("--tunables affinity", "expected one of nice"),
        ("--scheduler policy=fifo:1", "have no effect under this policy"),
        (
            "--scheduler policy=fifo:1 --tunables nice",
            "a nice level has no effect under a realtime policy",
        ),
    ] {
        lab.run(&format!("sweep --arena cpu {words}")).expect_status(2).says(&[said]);
    }
    let words = "compare --device loop:64M --schedulers none,bfq --workload linpack";
    lab.run(words).expect_status(2).says(&["--arena cpu"]);
}

fn works(lab: &Lab) -> usize {
    let state = format!("SCHEDLAB_STATE_DIR={}", lab.state().display());
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = processes.filter(|path| {
        let read = |name: &str| {
            fs::read(path.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let parent = read("cmdline").is_ok_and(|line| line.contains("cpu-work"));
        parent
            && (read("environ")
                .is_ok_and(|all| all.contains("SCHEDLAB_SESSION") || all.contains(&state)))
    });
    ours.count()
}

#[test]
fn kill_9_amid_a_trial_leaves_no_work_after_the_next_restore() {
    let lab = Lab::new();
    let out = lab.path("out");
    let words = "compare --arena cpu --schedulers default,nice=5 --workload linpack --background spin --trial-time 20s --budget 300s -q --out";
    let mut child = lab.start(&format!("{words} {}", out.display()));
    let journal = lab.state().join("journal");
    let sessions = || fs::read_dir(&journal).map_or(0, |dir| dir.flatten().count());
    let children = |pid: u32| {
        let of = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
        of(format!("/proc/{pid}/task/{pid}/children").into()).split_whitespace().count()
    };
    // The load and the work.
    eventually("the trial goes on", || children(child.id()) >= 2);
    assert!(sessions() >= 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let restored = lab.run("restore").expect_status(0).stdout;
    assert!(restored.contains("ended schedlab"), "{restored}");
    assert_eq!(sessions(), 0);
    eventually("no CPU workload runs any more", || works(&lab) == 0);
}

#[test]
fn a_plan_needs_no_scheduler_where_there_is_only_one() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let plan = lab.path("plan.toml");
    fs::write(
        &plan,
        "arena = 'cpu'\n[budget]\ntime_s = 60\nrounds = 1\nfigures_only = true\n[trial]\nduration_ms = 100\n[[variant]]\nname = 'as it is'\n[[variant]]\nname = 'first'\n\
         tunables = { nice = -20, affinity = '0' }\n[[workload]]\nname = 'lu'\nkind = 'linpack'\n[[workload.background]]\nkind = 'spin'\n\
         params = { threads = 1 }\n",
    )
    .unwrap();
    let out = lab.path("out");
    lab.run(&format!("run {} --out {} --json -q", plan.display(), out.display())).expect_measured();
    assert_eq!(trials(&out).len(), 2);
    let kept = fs::read_to_string(out.join("plan.toml")).unwrap();
    assert!(kept.contains("scheduler = \"default\"") && kept.contains("threads = \"1\""), "{kept}");
}

#[test]
fn a_sweep_of_nice_levels_has_a_response_and_sees_the_waiting() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let out = lab.path("out");
    let words = "sweep --arena cpu --workload linpack --background spin --tunables nice --values nice=-20,0,19 --trial-time 200ms \
                 --warmup 0 --rounds 4 --budget 1h -q --out";
    lab.run(&format!("{words} {}", out.display())).expect_measured();
    let trials = trials(&out);
    assert_eq!(trials.len(), 3 * 4);
    let analysis = valid_analysis(&out.join("analysis.json"));
    let [nice] = &analysis["responses"].as_array().unwrap()[..] else {
        panic!("one response: {}", analysis["responses"])
    };
    assert_eq!((&nice["tunable"], &nice["default"]), (&"nice".into(), &"0".into()));
    let points = nice["points"].as_array().unwrap();
    let values: Vec<&str> = points.iter().map(|point| point["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["-20", "19"], "the default is the baseline and no point");
    let plan = fs::read_to_string(out.join("plan.toml")).unwrap();
    assert!(plan.contains("nice = \"0\"") && plan.contains("nice = \"-20\""), "{plan}");
    // By how much is asked in virtual time (`kernel_scheduler`), where nothing else runs.
    let ratio = |point: &serde_json::Value| {
        point["ratio"].as_f64().unwrap_or_else(|| panic!("no ratio: {point}"))
    };
    assert!(ratio(&points[0]) > ratio(&points[1]), "{points:?}");
    assert!(fs::read_to_string(out.join("sweep.csv")).unwrap().contains("-20"));
    for trial in trials.iter().filter(|trial| invalid(trial) == "null") {
        assert!(metric(trial, "kflops") > 0.0 && counter(trial, "task_run_ms") > 0.0, "{trial}");
        assert!(counter(trial, "background_spin_spins_per_s") > 0.0, "{trial}");
        if trial["variant"] == "nice=19" {
            assert!(
                counter(trial, "task_wait_ms") > counter(trial, "task_run_ms"),
                "it waits more than it runs: {trial}"
            );
        }
    }
}
