//! Faults of real machines, provoked on a real loop device: clear messages or invalid reasons,
//! restored settings, no lost results.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use testbed::{Directory, Loop, Tmpfs, eventually, require};

use crate::common::{Lab, Ran, trials};

fn long(device: &str, workload: &str, out: &Path) -> String {
    format!(
        "compare --device {device} --schedulers none,kyber --workload {workload} --rounds 200 --trial-time 150ms \
         --budget 60s --out {} --json",
        out.display()
    )
}

fn kill(child: &std::process::Child, signal: &str) {
    assert!(
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success()
    );
}

/// Stops it first, so that it cannot switch in between.
fn kill_under_kyber(child: &mut std::process::Child, device: &Loop) {
    eventually("it stands still under kyber", || {
        stop(child);
        let is_set = device.scheduler() == "kyber";
        if !is_set {
            kill(child, "-CONT");
        }
        is_set
    });
    child.kill().unwrap();
}

fn stop(child: &std::process::Child) {
    let stat = format!("/proc/{}/stat", child.id());
    kill(child, "-STOP");
    eventually("it stands still", || fs::read_to_string(&stat).unwrap().contains(") T "));
}

fn invalid(trial: &serde_json::Value) -> Vec<String> {
    let invalid = trial["observation"]["invalid"].as_array().cloned().unwrap_or_default();
    invalid.iter().map(|v| v["reason"].as_str().unwrap().to_owned()).collect()
}

fn small(lab: &Lab, size: &str) -> Tmpfs {
    let over = lab.path("small");
    fs::create_dir(&over).unwrap();
    Tmpfs::with(&over, &format!("size={size}"))
}

#[test]
fn a_scheduler_switched_by_another_program_makes_that_trial_invalid_and_says_so() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let out = lab.path("out");
    let child = lab
        .command(&format!("compare --device {} --schedulers none,kyber --workload randread --rounds 4 --figures-only --trial-time 500ms --out {} --json", device.path, out.display()))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let changed = || -> Vec<[serde_json::Value; 2]> {
        let invalid = trials(&out)
            .into_iter()
            .filter_map(|trial| trial["observation"]["invalid"].as_array().cloned());
        let changed = invalid.flatten().filter(|invalid| invalid["reason"] == "changed-meanwhile");
        changed.map(|invalid| [invalid["wanted"].clone(), invalid["found"].clone()]).collect()
    };
    let expected = ["kyber", "mq-deadline"].map(serde_json::Value::from);
    let mut writes = 0;
    // A write after a trial's last check belongs to another trial or none: retry in the next kyber
    // trial.
    while !changed().contains(&expected) && trials(&out).len() < 6 {
        eventually("kyber is set", || device.scheduler() == "kyber");
        let (number, reads) = (trials(&out).len(), device.reads());
        let has_ended = || trials(&out).len() > number;
        eventually("a trial reads under kyber", || device.reads() > reads + 20 || has_ended());
        // Stopped, so that the trial cannot end in between.
        stop(&child);
        let is_amid = !has_ended() && device.scheduler() == "kyber";
        if is_amid {
            device.set("scheduler", "mq-deadline");
            writes += 1;
        }
        kill(&child, "-CONT");
        if is_amid {
            eventually("the trial has ended", has_ended);
        }
    }
    let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(3);
    let changed = changed();
    assert_eq!(
        changed.iter().filter(|change| **change == expected).count(),
        1,
        "{writes} writes: {changed:?}"
    );
    assert!(changed.len() <= writes, "a write disturbs one trial: {changed:?}");
    assert!(ran.json()["comparisons"][0]["reasons"].to_string().contains("mq-deadline"));
    assert_eq!(device.scheduler(), "none", "put back to what it was before the experiment");
}

#[test]
fn a_value_of_a_sweep_that_has_no_effect_makes_its_variant_invalid_and_the_others_are_measured() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let before = device.snapshot();
    let out = lab.path("out");
    let ran = lab
        .run(&format!("compare --device {} --schedulers none,kyber,wrong=none:io_poll_delay=7,none:nomerges=1 --workload randread --rounds 2 --figures-only --fail-if partly-invalid --trial-time 100ms --out {} --json", device.path, out.display()))
        .expect_status(8);
    let analysis = ran.json();
    let verdict_of = |variant: &str| {
        let comparisons = analysis["comparisons"].as_array().unwrap();
        let found =
            comparisons.iter().find(|j| j["variant"] == variant && j["primary"] == true).unwrap();
        (found["verdict"].as_str().unwrap().to_owned(), found["reasons"].to_string())
    };
    let (verdict, reasons) = verdict_of("wrong");
    assert!(verdict == "invalid" && reasons.contains("io_poll_delay"), "{reasons}");
    assert!(
        ran.stderr.contains("variant wrong: io_poll_delay was set to 7 without effect"),
        "{}",
        ran.stderr
    );
    assert!(
        trials(&out).iter().filter(|t| t["variant"] == "kyber").count() == 2,
        "the others are measured"
    );
    assert_eq!(
        trials(&out).iter().filter(|t| t["variant"] == "wrong").count(),
        1,
        "it is not tried again and again"
    );
    assert!(
        trials(&out).iter().all(|t| t["variant"] != "wrong"
            || t["observation"]["metrics"].as_object().unwrap().is_empty())
    );
    assert_eq!(device.snapshot(), before);
}

#[test]
fn a_value_that_the_device_cannot_have_is_refused_before_the_first_trial() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    let before = device.snapshot();
    for (variant, says) in [
        // Linux accepts and ignores writes to this attribute since 5.16.
        (
            "deaf=none:io_poll_delay=7",
            ["variant deaf: io_poll_delay was set to 7 without effect", "give another value"],
        ),
        (
            "wrong=bfq:nomerges=banana",
            [
                "variant wrong: ",
                "nomerges is out of range (found banana, expected a whole number from 0 to 2",
            ],
        ),
        (
            "mq-deadline:fifo_batch=99999999999",
            ["fifo_batch is out of range", "from 0 to 2147483647 requests"],
        ),
        ("mq-deadline:fifo_bach=4", ["no tunable \"fifo_bach\"", "did you mean \"fifo_batch\""]),
        ("kyber:slice_idle=4", ["slice_idle", "bfq"]),
    ] {
        let words = format!(
            "compare --device {} --workload randread --budget 60s --out {}",
            device.path,
            out.display()
        );
        lab.run(&format!("{words} --schedulers none,{variant}")).expect_status(2).says(&says);
        assert!(!out.exists(), "{variant}: nothing is measured");
    }
    assert_eq!(device.snapshot(), before);
}

#[test]
fn a_workload_served_from_memory_is_invalid_for_a_comparison_of_schedulers() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    let ran = lab
        .run(&format!("compare --device {} --schedulers none,kyber --workload cached-read --budget 5s --trial-time 100ms --out {} --json", device.path, out.display()))
        .expect_status(3);
    assert_eq!(ran.json()["comparisons"][0]["verdict"], "invalid");
    // A stalled machine may complete no request at all.
    assert!(trials(&out).iter().all(|t| !invalid(t).is_empty()), "each trial is invalid");
    assert!(trials(&out).iter().any(|t| invalid(t).contains(&"never-reached".to_owned())));
    assert!(trials(&out).len() <= 8, "it is given up early: {}", trials(&out).len());
}

#[test]
fn a_signal_puts_the_settings_back_and_the_experiment_can_be_resumed() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    device.set("scheduler", "mq-deadline");
    device.set("iosched/read_expire", "123");
    let before = device.snapshot();
    let out = lab.path("out");
    let arguments = long(&device.path, "randread", &out);
    for (round, (signal, status)) in
        [("-INT", 130), ("-TERM", 143), ("-HUP", 129)].into_iter().enumerate()
    {
        let arguments = format!("{arguments} {}", if round > 0 { "--resume" } else { "" });
        let had = trials(&out).len();
        let child = lab.start(&arguments);
        eventually("some trials are measured", || trials(&out).len() >= had + 3);
        kill(&child, signal);
        let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(status);
        assert!(ran.stderr.contains("--resume"), "{}", ran.stderr);
        assert_eq!(device.snapshot(), before, "after {signal}");
        assert!(trials(&out).len() >= had + 3, "what was measured is kept");
    }
    let sequences: Vec<_> = trials(&out).iter().map(|t| t["sequence"].as_u64().unwrap()).collect();
    assert!(
        sequences.windows(2).all(|w| w[1] == w[0] + 1),
        "numbered through over three sessions: {sequences:?}"
    );
    assert!(out.join("report.html").is_file(), "what was measured is reported");
}

#[test]
fn after_kill_9_restore_puts_the_device_back_and_removes_the_loop_device() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    device.set("scheduler", "bfq");
    device.set("iosched/slice_idle", "5");
    let before = device.snapshot();
    let out = lab.path("out");
    let mut child = lab.start(&long(&device.path, "randread", &out));
    kill_under_kyber(&mut child, &device);
    child.wait().unwrap();
    assert_ne!(device.snapshot(), before, "the crash left its mark");
    let ran = lab.run("restore").expect_status(0);
    assert!(ran.stdout.contains(&format!("{} is restored", device.name)), "{}", ran.stdout);
    assert_eq!(device.snapshot(), before, "{}", ran.stdout);
    assert!(lab.run("restore").expect_status(0).stdout.contains("nothing to restore"));

    let dir = lab.path("");
    let out = lab.path("out-loop");
    let arguments = format!("{} --loop-dir {}", long("loop:32M", "randread", &out), dir.display());
    let mut child = lab.start(&arguments);
    eventually("it has measured", || trials(&out).len() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    lab.run("restore").expect_status(0);
    let loops =
        String::from_utf8(Command::new("losetup").arg("-a").output().unwrap().stdout).unwrap();
    assert!(
        !loops.lines().any(
            |l| l.contains(dir.to_str().unwrap()) && !l.contains(device.file.to_str().unwrap())
        ),
        "{loops}"
    );
}

#[test]
fn the_next_start_puts_back_what_a_crash_left() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    device.set("read_ahead_kb", "256");
    let before = device.snapshot();
    let out = lab.path("out");
    let mut child = lab.start(&long(&device.path, "randread", &out));
    kill_under_kyber(&mut child, &device);
    child.wait().unwrap();
    let next = lab.path("next");
    lab.run(&format!(
        "compare --device {} --schedulers bfq,mq-deadline --workload randread --rounds 2 --figures-only --trial-time 100ms --out {}",
        device.path,
        next.display()
    ))
    .expect_measured()
    .says(&["restored"]);
    assert_eq!(device.snapshot(), before, "not to what the crash had left");
}

#[test]
fn a_full_file_system_keeps_the_results_readable_and_puts_the_settings_back() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let before = device.snapshot();
    let small = small(&lab, "64k");
    let out = small.path().join("out");
    lab.run(&long(&device.path, "randread", &out)).expect_status(1).says(&[
        "results.jsonl",
        "No space left",
        "--resume",
    ]);
    assert_eq!(device.snapshot(), before);
    assert!(trials(&out).len() > 2, "trials are kept");
    let text = fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert!(text.ends_with('\n'), "no half line");
    lab.run(&format!("analyze {} --json", out.display())).expect_measured();
}

#[test]
fn no_room_for_the_loop_file_is_said_before_anything_is_changed() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let small = small(&lab, "1M");
    lab.run(&format!(
        "compare --device loop:64M --loop-dir {} --workload randread",
        small.path().display()
    ))
    .expect_status(1)
    .says(&[small.path().to_str().unwrap(), "--loop-dir"]);
    assert_eq!(fs::read_dir(small.path()).unwrap().count(), 0, "no file is left");
}

#[test]
fn errors_of_the_device_make_the_trial_invalid() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let before = device.snapshot();
    let out = lab.path("out");
    let child = lab.start(&long(&device.path, "randread", &out));
    eventually("it has measured", || trials(&out).len() >= 2);
    // The loop device returns errors beyond the new end.
    File::options().write(true).open(&device.file).unwrap().set_len(4096).unwrap();
    // A stalled disk can invalidate earlier trials.
    let reasons = || trials(&out).iter().flat_map(invalid).collect::<Vec<String>>();
    let saw = |reason: &String| reason == "device-errors" || reason == "device-vanished";
    eventually("a trial sees the errors", || reasons().iter().any(saw));
    kill(&child, "-INT");
    child.wait_with_output().unwrap();
    assert_eq!(device.snapshot(), before);
}

#[test]
fn a_device_that_shrinks_to_nothing_ends_the_experiment_with_what_was_measured() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let out = lab.path("out");
    let child = lab.start(&long(&device.path, "randread", &out));
    eventually("it has measured", || trials(&out).len() >= 2);
    File::options().write(true).open(&device.file).unwrap().set_len(0).unwrap();
    assert!(Command::new("losetup").args(["-c", &device.path]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(1);
    assert!(ran.stderr.contains(&device.name) || ran.stderr.contains("device"), "{}", ran.stderr);
    assert!(trials(&out).len() >= 2);
    assert_eq!(device.scheduler(), "none");
}

#[test]
fn a_device_with_data_is_refused_for_writing_unless_it_is_named() {
    if !require(&["root", "blkid", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    assert!(Command::new("mkfs.ext4").args(["-q", &device.path]).status().unwrap().success());
    let out = |name: &str| lab.path(name).to_str().unwrap().to_owned();
    let compare = |workload: &str, out: &str, more: &str| {
        lab.run(&format!(
            "compare --device {} --schedulers none,kyber --workload {workload} --rounds 2 --figures-only --trial-time 100ms --out {out} {more}",
            device.path
        ))
    };
    let first = fs::read(&device.file).unwrap();
    compare("randwrite", &out("a"), "").expect_status(2).says(&[
        "ext4",
        "--destroy-data",
        &device.path,
    ]);
    compare("randwrite", &out("b"), "--destroy-data /dev/loop-other").expect_status(2);
    assert!(fs::read(&device.file).unwrap() == first, "not a byte was written");
    compare("randread", &out("c"), "").expect_measured();
    compare("randwrite", &out("d"), &format!("--destroy-data {}", device.path)).expect_measured();
}

#[test]
fn without_root_the_next_step_is_named() {
    if !require(&["root", "blkid", "setpriv"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    // The built binary's directory may be closed to other users.
    let copy = Directory::new();
    fs::set_permissions(copy.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let binary = copy.path().join("schedlab");
    testbed::copy_program(env!("CARGO_BIN_EXE_schedlab"), &binary);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["compare", "--device", &device.path, "--workload", "randread"])
        .output()
        .unwrap();
    Ran::from(output).expect_status(1).says(&["root", "sudo"]);
}

#[test]
fn cut_results_are_studied_with_a_caution_and_a_garbled_one_is_refused() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    let compare = |more: &str| {
        lab.run(&format!(
            "compare --device {} --schedulers none,kyber --workload randread --rounds 3 --figures-only --trial-time 100ms --out {} {more}",
            device.path,
            out.display()
        ))
    };
    compare("").expect_measured();
    let results = out.join("results.jsonl");
    let whole = fs::read_to_string(&results).unwrap();
    let last_trial = whole.rfind("{\"kind\":\"trial\"").unwrap();

    fs::write(&results, &whole[..last_trial + 40]).unwrap();
    let analysis = lab.run(&format!("analyze {} --json", out.display())).expect_measured().json();
    assert!(analysis["cautions"].to_string().contains("cut"), "{}", analysis["cautions"]);
    compare("").expect_status(2).says(&["--resume"]);
    compare("--resume").expect_measured();
    assert!(trials(&out).len() >= 6, "the lost trial's round is measured again");

    fs::write(&results, whole.replacen("{\"kind\":\"trial\"", "{\"kind\":!!!", 1)).unwrap();
    lab.run(&format!("analyze {}", out.display())).expect_status(1).says(&["line", "results file"]);
}

#[test]
fn results_without_room_for_its_first_line_leaves_nothing_to_trip_over() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let small = small(&lab, "4k");
    let out = small.path().join("out");
    let words = format!(
        "compare --device {} --schedulers none,kyber --workload randread --rounds 2 --figures-only --trial-time 100ms --out {}",
        device.path,
        out.display()
    );
    for _ in 0..2 {
        lab.run(&words).expect_status(1).says(&["nothing was measured", "start again"]);
        assert!(
            !out.join("results.jsonl").exists(),
            "an empty results file would be taken for one to resume"
        );
    }
}

#[test]
fn a_resumed_experiment_keeps_the_length_of_its_trials() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let out = lab.path("out");
    let compare = |more: &str| {
        let (device, out) = (&device.path, out.display());
        lab.run(&format!("compare --device {device} --schedulers none,kyber --workload randread --out {out} {more}"))
    };
    // Rounds do not depend on the machine's speed, as budgets do.
    compare("--rounds 2 --figures-only --budget 60s --trial-time 120ms").expect_measured();
    assert_eq!(trials(&out).len(), 4);
    compare("--rounds 4 --budget 120s --trial-time 500ms --resume")
        .expect_status(2)
        .says(&["120 ms", "another --out"]);
    compare("--rounds 4 --budget 120s --resume").expect_measured();
    let all = trials(&out);
    assert_eq!(all.len(), 8, "it went on");
    // A length derived from that budget would be ten seconds.
    let windows = all.iter().map(|t| t["observation"]["duration_ns"].as_u64().unwrap());
    assert!(
        windows.clone().all(|ns| (110_000_000..1_000_000_000).contains(&ns)),
        "{:?}",
        windows.collect::<Vec<_>>()
    );
}

#[test]
fn somebody_who_stops_reading_stops_the_printing_only() {
    let lab = Lab::new();
    for words in ["list workloads", "list metrics --json", "devices"] {
        let mut child = lab.start(words);
        drop(child.stdout.take());
        let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(0);
        assert_eq!(ran.stderr, "", "{words}");
    }
}
