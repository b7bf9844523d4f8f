//! Commands, PostMark and cold starts as workloads on real loop devices.

use std::fs;

use testbed::require;

use crate::common::{Lab, trials};

fn plan(mib: u32, rounds: u32, workload: &str) -> String {
    format!(
        "device = 'loop:{mib}M'\n[budget]\ntime_s = 300\nrounds = {rounds}\nfigures_only = true\n[trial]\nduration_ms = 300\nwarmup_ms = 100\n\
         [[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n[[workload]]\nname = 'mine'\n{workload}"
    )
}

fn run(lab: &Lab, plan: &str) -> crate::common::Ran {
    let file = lab.path("plan.toml");
    fs::write(&file, plan).unwrap();
    let (file, dir, out) = (file.display(), lab.path(""), lab.path("out"));
    let _ = fs::remove_dir_all(&out);
    lab.run(&format!(
        "run {file} --allow-commands --loop-dir {} --out {} --json",
        dir.display(),
        out.display()
    ))
}

fn metric(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

fn counter(trial: &serde_json::Value, name: &str) -> f64 {
    trial["observation"]["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial}"))
}

fn runs(words: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .any(|line| line.contains(words))
}

#[test]
fn a_commands_own_figure_is_compared_the_way_it_was_told_to_be() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    // bfq's figure is ten times as large, and smaller is better.
    let script = lab.path("figure.sh");
    fs::write(
        &script,
        "#!/bin/sh\ndd if=/dev/zero of=$SCHEDLAB_DIR/x bs=64k count=16 conv=fsync 2>/dev/null\n\
         base=10; grep -q '\\[bfq\\]' /sys/block/${SCHEDLAB_DEVICE#/dev/}/queue/scheduler && base=100\n\
         echo \"gnus 3\"; echo \"gnus $base.$((SCHEDLAB_SEED % 10))\"\n",
    )
    .unwrap();
    let work = format!(
        "kind = 'command'\nparams = {{ file = '{}', metric = 'gnus', regex = 'gnus ([0-9.]+)', better = 'lower' }}\n",
        script.display()
    );
    let ran = run(&lab, &plan(64, 6, &work)).expect_measured();
    let all = trials(&lab.path("out"));
    assert!(
        all.iter()
            .all(|trial| metric(trial, "gnus") >= 10.0 && metric(trial, "wall_synced_s") > 0.0),
        "{all:?}"
    );
    let analysis = ran.json();
    let said = analysis.to_string();
    assert!(
        said.contains("\"gnus\"") && said.contains("\"worse\"") && !said.contains("\"better\":{"),
        "{said}"
    );

    let untold = work.replace(", better = 'lower'", "");
    let ran = run(&lab, &plan(64, 6, &untold));
    ran.expect_status(2).says(&["gnus"]);
}

#[test]
fn a_command_whose_output_cannot_be_read_shows_its_last_lines_and_a_hang_ends_at_the_deadline() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let work = "kind = 'command'\nparams = { run = 'echo nothing to report', regex = '(?<tps>[0-9]+) tps' }\n";
    run(&lab, &plan(64, 2, work)).expect_status(1).says(&[
        "printed no",
        "tps",
        "nothing to report",
    ]);
    let work = "kind = 'command'\nparams = { run = 'echo waiting; sleep 87651 & sleep 87652', deadline = '300ms' }\n";
    run(&lab, &plan(64, 2, work)).expect_status(1).says(&["still running", "waiting"]);
    assert!(!runs("sleep 87651") && !runs("sleep 87652"));
}

#[test]
fn a_command_that_leaves_a_daemon_behind_leaves_nothing() {
    if !require(&["root", "mkfs.ext4", "setsid"]) {
        return;
    }
    let lab = Lab::new();
    let run_line = "setsid sleep 87653 > /dev/null 2>&1 & echo x > {dir}/x; sync {dir}/x";
    let work = format!("kind = 'command'\nparams = {{ run = '{run_line}' }}\n");
    run(&lab, &plan(64, 2, &work)).expect_measured();
    assert!(!runs("sleep 87653"));
}

#[test]
fn postmarks_trials_reach_the_device_and_are_invalid_where_it_is_left_to_memory() {
    if !require(&["root", "mkfs.ext4", "postmark"]) {
        return;
    }
    let lab = Lab::new();
    let work = |flush: bool| {
        format!(
            "kind = 'postmark-program'\nparams = {{ number = 800, transactions = 4000, seed = 'trial', flush = {flush} }}\n"
        )
    };
    run(&lab, &plan(128, 2, &work(true))).expect_measured();
    let all = trials(&lab.path("out"));
    assert!(all.iter().any(|trial| trial["observation"]["invalid"].is_null()), "{all:?}");
    for trial in &all {
        assert!(metric(trial, "tps") > 0.0 && metric(trial, "reported_tps") > 0.0, "{trial}");
        assert!(counter(trial, "device_written_bytes") > 2e6, "{trial}");
    }
    run(&lab, &plan(128, 2, &work(false))).expect_status(3);
    for trial in trials(&lab.path("out")) {
        assert_eq!(trial["observation"]["invalid"][0]["reason"], "never-reached", "{trial}");
    }
}

#[test]
fn cold_starts_beside_a_load_are_timed_and_come_from_the_device() {
    if !require(&["root", "mkfs.ext4", "bash", "ldd", "chroot"]) {
        return;
    }
    let lab = Lab::new();
    // That of Python, with its library, is a test of `load`.
    let work = "kind = 'startup'\nparams = { program = '/bin/bash', args = '-c true', starts = 2, pause = '1ms' }\n[[workload.background]]\nkind = 'seqread'\n\
                params = { clients = 1, file_size = '16M' }\n[[workload.background]]\nkind = 'seqwrite'\n\
                params = { clients = 1, file_size = '16M' }\n";
    run(&lab, &plan(128, 1, work)).expect_measured();
    let all = trials(&lab.path("out"));
    assert_eq!(all.len(), 2);
    for trial in &all {
        assert!(metric(trial, "startup_ms") > 0.0, "{trial}");
        assert!(metric(trial, "startup_max_ms") >= metric(trial, "startup_ms"), "{trial}");
        assert_eq!(counter(trial, "starts"), 2.0);
        assert!(counter(trial, "background_write_mb_per_s") > 0.0, "{trial}");
        assert!(
            counter(trial, "device_read_bytes") > 3e6 * counter(trial, "read_mb_per_start") / 2.0,
            "{trial}"
        );
    }
}
