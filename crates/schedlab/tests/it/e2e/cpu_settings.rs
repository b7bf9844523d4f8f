//! The machine's CPU scheduler settings.
//!
//! The sysctl is `kernel.sched_rr_timeslice_ms`, which affects only SCHED_RR tasks. It is global,
//! so one test does all writes.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::inotify;
use testbed::{eventually, require};

use crate::common::{Lab, Ran, trials, worker};

/// Serialises writers of the machine's CPU settings.
static MACHINE: Mutex<()> = Mutex::new(());

const SLICE: &str = "/proc/sys/kernel/sched_rr_timeslice_ms";

fn slice() -> String {
    fs::read_to_string(SLICE).unwrap().trim().to_owned()
}

struct PutBack(String);

impl Drop for PutBack {
    fn drop(&mut self) {
        let _ = fs::write(SLICE, &self.0);
    }
}

struct Looks(OwnedFd);

impl Looks {
    fn new() -> Looks {
        let looks =
            inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&looks, SLICE, inotify::WatchFlags::CLOSE_NOWRITE).unwrap();
        Looks(looks)
    }

    fn count(&self) -> usize {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        std::iter::from_fn(|| reader.next().ok().map(drop)).count()
    }

    /// The second read began after the first, and so after this call.
    fn wait_for_two(&self) {
        self.count();
        let mut seen = 0;
        eventually("the value was looked at", || {
            seen += self.count();
            seen >= 2
        });
    }
}

fn compare(variants: &str, out: &Path, more: &str) -> String {
    format!(
        "compare --arena cpu --schedulers {variants} --workload linpack --warmup 0 --out {} {more}",
        out.display()
    )
}

fn journal(lab: &Lab) -> Vec<String> {
    let dir = fs::read_dir(lab.state().join("journal"));
    dir.into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[test]
fn a_sysctl_is_in_effect_in_its_trials_and_as_before_afterwards_whatever_happens() {
    if !require(&["root"]) || !Path::new(SLICE).exists() {
        return;
    }
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = PutBack(slice());
    // Not the kernel's default, which might return on its own.
    fs::write(SLICE, "90").unwrap();
    let lab = Lab::new();

    let out = lab.path("ended");
    let variants = "default,sysctl:kernel.sched_rr_timeslice_ms=50";
    // The work prints the value that it sees.
    let words = compare(variants, &out, "--rounds 2 --figures-only --trial-time 300ms");
    let work = format!(
        "command:run=echo figure $(cat {SLICE}):metric=figure:regex=figure ([0-9]+):better=higher"
    );
    let words = words.replace("--workload linpack", "");
    Ran::from(lab.command(&words).args(["--workload", &work]).output().unwrap()).expect_measured();
    assert_eq!((slice().as_str(), journal(&lab)), ("90", vec![]));
    let all = trials(&out);
    assert_eq!(all.len(), 4, "{all:?}");
    for trial in &all {
        let expected = if trial["variant"] == "default" { 90.0 } else { 50.0 };
        assert_eq!(
            trial["observation"]["metrics"]["figure"], expected,
            "each variant has its own: {trial}"
        );
    }
    let invalid =
        |trial: &&serde_json::Value| !trial["invalid"].as_array().is_none_or(Vec::is_empty);
    for trial in all.iter().filter(invalid) {
        let text = trial["invalid"].to_string();
        assert!(!text.contains("timeslice"), "{text}");
    }
    let first = fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert!(
        first.lines().next().unwrap().contains("kernel.sched_rr_timeslice_ms"),
        "the facts tell it"
    );

    let out = lab.path("killed");
    let variants =
        "sysctl:kernel.sched_rr_timeslice_ms=50,again=sysctl:kernel.sched_rr_timeslice_ms=50";
    let mut child =
        lab.start(&compare(variants, &out, "--rounds 2 --figures-only --trial-time 8s"));
    eventually("the value is in effect", || slice() == "50");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        (slice().as_str(), journal(&lab).is_empty()),
        ("50", false),
        "it is not restored yet"
    );
    let restored = lab.run("restore").expect_status(0);
    assert!(
        restored.stdout.contains("kernel.sched_rr_timeslice_ms 50 -> 90"),
        "{}",
        restored.stdout
    );
    assert_eq!((slice().as_str(), journal(&lab)), ("90", vec![]));
    assert!(lab.run("restore").expect_status(0).stdout.contains("nothing to restore"));

    // Another program changes the value during a trial.
    let out = lab.path("changed");
    let looks = Looks::new();
    let mut child =
        lab.start(&compare(variants, &out, "--rounds 1 --figures-only --trial-time 2s"));
    let work = || worker(child.id());
    // A change that outlived its trial proves nothing: retry in the next.
    let is_taken_back_in_time = || {
        eventually("the work of a trial runs", || work().is_some());
        let during = work();
        fs::write(SLICE, "70").unwrap();
        looks.wait_for_two();
        fs::write(SLICE, "50").unwrap();
        during.is_some() && work() == during
    };
    eventually("a change is taken back during a trial", is_taken_back_in_time);
    child.wait().unwrap();
    let all = trials(&out);
    let changed =
        all.iter().filter(|trial| trial.to_string().contains("changed-meanwhile")).count();
    assert!(changed >= 1, "a change that was taken back is seen: {all:?}");
    assert!(all.iter().any(|trial| trial.to_string().contains("\"found\":\"70\"")), "{all:?}");
    assert_eq!((slice().as_str(), journal(&lab)), ("90", vec![]));
    drop(before);
}

#[test]
fn what_this_machine_cannot_have_is_refused_before_anything_is_measured() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let refused = |variant: &str, words: &[&str]| {
        let out = lab.path("refused");
        lab.run(&compare(
            &format!("default,{variant}"),
            &out,
            "--rounds 2 --figures-only --trial-time 100ms",
        ))
        .expect_status(2)
        .says(words);
        assert!(trials(&out).is_empty() && journal(&lab).is_empty(), "{variant}");
    };
    let debugfs = Path::new("/sys/kernel/debug/sched").exists();
    let successor = if debugfs { "" } else { "debugfs" };
    if !Path::new("/proc/sys/kernel/sched_latency_ns").exists() {
        refused("sysctl:kernel.sched_latency_ns=1000000", &["5.13", "use debug:", successor]);
    }
    if !Path::new("/proc/sys/kernel/sched_energy_aware").exists() {
        refused("sysctl:kernel.sched_energy_aware=0", &["CONFIG_ENERGY_MODEL", "changes nothing"]);
    }
    refused("sysctl:kernel.sched_nothing=1", &["expected one of kernel."]);
    refused("sysctl:vm.swappiness=1", &["kernel.sched_*", "writes no others"]);
    refused("sysctl:kernel.sched_rr_timeslice_ms=fast", &["a whole number"]);
    let unknown = if debugfs { "expected one of" } else { "mount -t debugfs" };
    refused("feature:NO_SUCH_FEATURE=on", &[unknown]);
    refused("debug:no_such_file=1", &[unknown]);
    if !Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists() {
        refused("governor=performance", &["no cpufreq driver", "virtual machine"]);
        refused("boost=off", &["no cpufreq driver"]);
    }
    if !Path::new("/sys/kernel/sched_ext").exists() {
        refused("sched_ext:/bin/true", &["6.12", "CONFIG_SCHED_CLASS_EXT"]);
    }
    if Path::new("/proc/sys/kernel/sched_rt_runtime_us").exists() {
        refused("policy=fifo:50+sysctl:kernel.sched_rt_runtime_us=-1", &["lock up the machine"]);
    }
}

#[test]
fn the_settings_are_listed_with_whether_this_machine_has_them() {
    let lab = Lab::new();
    let rows = lab.run("list settings --json").expect_status(0).json();
    let row = |name: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter()
            .find(|row| row["name"] == name)
            .unwrap_or_else(|| panic!("{name} is not listed"))
            .clone()
    };
    for name in ["default", "nice", "policy", "affinity", "isolate"] {
        assert_eq!(row(name)["here"], true, "{name}");
    }
    for (name, path) in [
        ("sched_ext:", "/sys/kernel/sched_ext/state"),
        ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
        ("feature:", "/sys/kernel/debug/sched/features"),
        ("debug:", "/sys/kernel/debug/sched"),
    ] {
        let row = row(name);
        assert_eq!(row["here"], Path::new(path).exists(), "{name}");
        assert_eq!(row["why"].is_null(), row["here"] == true, "{row}");
    }
    let sysctls = row("sysctl:")["names"].as_array().unwrap().clone();
    for entry in fs::read_dir("/proc/sys/kernel").unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("sched_") && entry.path().is_file() {
            assert!(sysctls.contains(&format!("kernel.{name}").into()), "{name}");
        }
    }
    let page = lab.run("list settings").expect_status(0).stdout;
    assert!(
        page.contains("policy=fifo:50")
            && page.contains("sched_ext:")
            && page.contains("sysctl:NAME can be"),
        "{page}"
    );
}
