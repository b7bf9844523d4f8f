//! Flows on a real loop device, each in its own process and control group.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Loop, eventually, require};

use crate::common::{Lab, trials};

fn groups() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let hierarchies = mounts.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        words[2].starts_with("cgroup").then(|| PathBuf::from(words[1]))
    });
    let inside = hierarchies
        .filter_map(|at| fs::read_dir(at).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("schedlab-"))
    };
    inside.filter(is_ours).collect()
}

fn groups_of(pid: u32) -> Vec<PathBuf> {
    let own = format!("schedlab-session-{pid}-");
    groups().into_iter().filter(|path| path.display().to_string().contains(&own)).collect()
}

/// In v1's blkio here, or in v2's io.
fn has_weights() -> bool {
    let can = groups_have_bfq();
    if !can {
        eprintln!("skipped: no hierarchy of control groups has bfq's weight");
    }
    can
}

fn groups_have_bfq() -> bool {
    let v1 = Path::new("/sys/fs/cgroup/blkio/blkio.bfq.io_service_bytes").exists();
    v1 || fs::read_to_string("/sys/fs/cgroup/cgroup.controllers")
        .is_ok_and(|text| text.split(' ').any(|word| word == "io"))
}

fn plan(device: &str, variants: &[(&str, &str, &str)]) -> String {
    let mut text = format!(
        "device = \"{device}\"\n[budget]\ntime_s = 120\nrounds = 4\n[trial]\nduration_ms = 1000\nwarmup_ms = 200\n"
    );
    for (name, scheduler, tunables) in variants {
        text += &format!(
            "[[variant]]\nname = \"{name}\"\nscheduler = \"{scheduler}\"\ntunables = {{ {tunables} }}\n"
        );
    }
    text += "[[workload]]\nname = \"reads\"\nkind = \"flows\"\nprimary = \"heavy.share_percent\"\n";
    // Always backlogged: a reader without CPU, for which bfq idles, would lose its turn and weight.
    for flow in ["heavy", "light"] {
        text += &format!(
            "[[workload.flow]]\nname = \"{flow}\"\nkind = \"randread\"\nparams = {{ clients = 4, iodepth = 16 }}\n"
        );
    }
    text
}

/// Otherwise bfq injects requests of the light flow while it idles for the heavy one, which defeats
/// the weight.
const STRICT: &str = "low_latency = 0, strict_guarantees = 1, ";
const EQUAL: &str = "low_latency = 0, strict_guarantees = 1, \"io.bfq.weight@heavy\" = 100, \"io.bfq.weight@light\" = 100";
const HEAVY: &str = "\"io.bfq.weight@heavy\" = 400, \"io.bfq.weight@light\" = 100";

#[test]
fn a_weight_acts_under_bfq_and_is_ignored_under_others_aloud_and_no_group_stays() {
    if !require(&["root", "blkid"]) || !has_weights() {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    let before = device.snapshot();
    let bfq = format!("{STRICT}{HEAVY}");
    let variants = [("equal", "bfq", EQUAL), ("bfq", "bfq", &*bfq), ("none", "none", HEAVY)];
    fs::write(lab.path("plan.toml"), plan(&device.path, &variants)).unwrap();
    let out = lab.path("out");
    let ran = lab.run(&format!("run {} --out {}", lab.path("plan.toml").display(), out.display()));
    assert!([Some(0), Some(3)].contains(&ran.status), "{ran:?}");
    assert!(
        ran.stderr.contains("WARNING: variant none: io.bfq.weight@heavy has no effect under none"),
        "{}",
        ran.stderr
    );
    let share = |variant: &str| {
        let all = trials(&out).into_iter().filter(|trial| trial["variant"] == variant);
        let shares: Vec<f64> = all
            .filter_map(|trial| trial["observation"]["metrics"]["heavy.share_percent"].as_f64())
            .collect();
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    // 50, 80 and 50 on an idle machine, but bfq's slices are long compared with a trial.
    let [equal, bfq, none] = ["equal", "bfq", "none"].map(share);
    assert!(
        (equal - 50.0).abs() < 25.0 && (none - 50.0).abs() < 15.0 && bfq > 65.0,
        "{equal} {bfq} {none}"
    );
    assert_eq!(device.snapshot(), before);
    assert_eq!(fs::read_dir(lab.path("state/journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn flows_of_a_killed_experiment_are_ended_and_their_groups_and_the_settings_taken_back() {
    if !require(&["root", "blkid"]) || !has_weights() {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 64);
    let before = device.snapshot();
    let variants = [("equal", "bfq", EQUAL), ("none", "none", HEAVY)];
    fs::write(lab.path("plan.toml"), plan(&device.path, &variants)).unwrap();
    let words =
        format!("run {} --out {}", lab.path("plan.toml").display(), lab.path("out").display());
    let mut child = lab.start(&words);
    let members = |pid: u32| -> usize {
        let below =
            groups_of(pid).into_iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
        let procs =
            below.filter_map(|entry| fs::read_to_string(entry.path().join("cgroup.procs")).ok());
        procs.map(|text| text.lines().count()).sum()
    };
    eventually("both flows run in groups", || {
        members(child.id()) >= 2 && !trials(&lab.path("out")).is_empty()
    });
    let pid = child.id();
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    child.wait().unwrap();
    assert!(!groups_of(pid).is_empty(), "the groups outlive their maker");
    let ran = lab.run("restore").expect_status(0);
    assert!(
        ran.stdout.contains("the session of an experiment that did not end is cleaned up: ended"),
        "{ran:?}"
    );
    assert_eq!(groups_of(pid), [] as [PathBuf; 0]);
    assert_eq!(device.snapshot(), before);
    assert_eq!(fs::read_dir(lab.path("state/journal")).map_or(0, Iterator::count), 0);
    assert!(lab.run("restore").expect_status(0).stdout.contains("nothing to restore"));
}

#[test]
fn what_this_machine_lacks_is_said_before_anything_is_measured() {
    if !require(&["root", "blkid"]) || !Path::new("/sys/fs/cgroup/blkio").exists() {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let before = device.snapshot();
    for (tunables, says) in [
        (
            "\"io.weight@heavy\" = 400",
            vec!["variant b, flow heavy", "io.weight", "boot with cgroup_no_v1=io"],
        ),
        ("\"io.latency@heavy\" = \"10ms\"", vec!["io.latency", "boot with cgroup_no_v1=io"]),
        ("\"io.cost.qos\" = \"enable=1\"", vec!["io.cost.qos", "boot with cgroup_no_v1=io"]),
        ("\"cdl_enable\" = 1", vec!["cdl_enable", "does not exist"]),
        ("\"io.weight@heavi\" = 1", vec!["did you mean \"heavy\""]),
        ("\"io.weight@../../x\" = 1", vec!["invalid flow name"]),
    ] {
        fs::write(
            lab.path("plan.toml"),
            plan(&device.path, &[("a", "none", ""), ("b", "bfq", tunables)]),
        )
        .unwrap();
        let ran = lab.run(&format!(
            "run {} --out {}",
            lab.path("plan.toml").display(),
            lab.path("out").display()
        ));
        ran.expect_status(2).says(&says);
    }
    assert_eq!(device.snapshot(), before);
    assert_eq!(fs::read_dir(lab.path("state/journal")).map_or(0, Iterator::count), 0);
}
