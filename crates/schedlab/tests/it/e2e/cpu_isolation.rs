//! CPU isolation in a private PID namespace: every task is moved away and back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use testbed::{eventually, require};

use crate::common::{Lab, Ran, split, word, worker};

/// Families of tasks: sleep duration, which identifies the family, and CPU mask.
const LINES: [(&str, &str); 3] = [("10001", "0"), ("10002", "1"), ("10003", "0-1")];

/// A dozen tasks in three families, which keep starting children and orphans.
struct Namespace {
    unshare: Child,
    init: u32,
}

impl Namespace {
    /// None if unavailable.
    fn new() -> Option<Namespace> {
        if !require(&["root", "unshare", "nsenter", "taskset"]) {
            return None;
        }
        if thread::available_parallelism().map_or(1, usize::from) < 2 {
            testbed::skip("two CPUs needed");
            return None;
        }
        let lines = LINES.map(|(sleep, mask)| {
            // An orphan's family is ambiguous if two were left the same CPUs; on two CPUs that
            // spares only the widest.
            let orphan = if mask == "0-1" { format!("sh -c 'sleep {sleep} &';") } else { String::new() };
            let grow = format!("while :; do sleep {sleep} & {orphan} sleep 0.1; done");
            format!("for n in 1 2 3; do taskset -c {mask} sleep {sleep} & done; taskset -c {mask} sh -c \"{grow}\" &")
        });
        let storm = "(while :; do /bin/true; done) &";
        let script =
            format!("{}\n{storm}\necho ready; while :; do wait; sleep 1; done", lines.join("\n"));
        let mut unshare = Command::new("unshare")
            .args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(unshare.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let init = child_of(unshare.id()).expect("the first process of the namespace");
        let namespace = Namespace { unshare, init };
        eventually("every line has its mask", || {
            let masks = namespace.masks();
            LINES.iter().all(|(line, mask)| {
                masks.get(*line).is_some_and(|found| found.0 == [*mask] && found.1 >= 5)
            })
        });
        Some(namespace)
    }

    fn command(&self, lab: &Lab, words: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.init.to_string(), "-p", "-m", "--"])
            .args(split(words))
            .env("SCHEDLAB_STATE_DIR", lab.state())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn schedlab(&self, lab: &Lab, words: &str) -> Command {
        self.command(lab, &format!("{} {words}", word(Path::new(env!("CARGO_BIN_EXE_schedlab")))))
    }

    /// Each family's masks, and its number of tasks.
    fn masks(&self) -> BTreeMap<String, (Vec<String>, usize)> {
        let ours = fs::read_link(format!("/proc/{}/ns/pid", self.init)).unwrap();
        let mut lines: BTreeMap<String, (Vec<String>, usize)> = BTreeMap::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let at = entry.path();
            if !fs::read_link(at.join("ns/pid")).is_ok_and(|namespace| namespace == ours) {
                continue;
            }
            let (Ok(words), Ok(status)) =
                (fs::read(at.join("cmdline")), fs::read_to_string(at.join("status")))
            else {
                continue;
            };
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let Some((line, _)) = LINES
                .iter()
                .find(|(sleep, _)| words.contains(sleep) && !words.contains("echo ready"))
            else {
                continue;
            };
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
                .unwrap()
                .trim();
            let (masks, number) = lines.entry((*line).to_owned()).or_default();
            *number += 1;
            if !masks.iter().any(|known| known == mask) {
                masks.push(mask.to_owned());
            }
        }
        lines
    }

    /// Once new tasks have started.
    #[track_caller]
    fn assert_as_before(&self, before: &BTreeMap<String, (Vec<String>, usize)>) {
        let mut now = before.clone();
        eventually("new ones were started", || {
            now = self.masks();
            LINES.iter().all(|(line, _)| now[*line].1 > before[*line].1 + 2)
        });
        for (line, mask) in LINES {
            assert_eq!(now[line].0, [mask], "line {line} of {now:?}");
        }
        let init = fs::read_to_string(format!("/proc/{}/status", self.init)).unwrap();
        let own = fs::read_to_string("/proc/self/status").unwrap();
        let mask = |text: &str| {
            text.lines().find(|line| line.starts_with("Cpus_allowed_list:")).map(str::to_owned)
        };
        assert_eq!(mask(&init), mask(&own), "the first process has what it inherited");
    }
}

impl Drop for Namespace {
    /// Killing the init process ends the namespace.
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

fn child_of(parent: u32) -> Option<u32> {
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (front, back) = (stat.split_once(' ')?.0, stat.rsplit_once(')')?.1);
        (back.split_whitespace().nth(1)? == parent.to_string())
            .then(|| front.parse().ok())
            .flatten()
    })
}

fn moved_since(lab: &Lab) -> Option<u64> {
    let text = fs::read_to_string(lab.state().join("journal/cpu.json")).ok()?;
    serde_json::from_str::<serde_json::Value>(&text).ok()?["undo"]["moved"]["since"].as_u64()
}

/// None if the comparison ended first.
fn look_in_the_midst(
    lab: &Lab,
    namespace: &Namespace,
    nsenter: &mut Child,
) -> Option<BTreeMap<String, (Vec<String>, usize)>> {
    let work = |nsenter: &Child| {
        let work = child_of(nsenter.id()).and_then(worker)?;
        moved_since(lab).map(|since| (work, since))
    };
    while nsenter.try_wait().unwrap().is_none() {
        let before = work(nsenter);
        if before.is_some() {
            let masks = namespace.masks();
            if work(nsenter) == before {
                return Some(masks);
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

fn compare(lab: &Lab, trial_time: &str, rounds: u32) -> String {
    format!(
        "compare --arena cpu --schedulers default,isolate=0 --workload linpack --rounds {rounds} --figures-only --budget 1h --trial-time {trial_time} --out {}",
        lab.path("out").display()
    )
}

#[test]
fn every_other_task_leaves_the_cpu_and_every_one_comes_back_new_ones_included() {
    let Some(namespace) = Namespace::new() else { return };
    let lab = Lab::new();
    let before = namespace.masks();
    // A machine too busy to look during a trial needs longer trials.
    let compared = ["1500ms", "6s", "20s"].iter().find_map(|trial_time| {
        let _ = fs::remove_dir_all(lab.path("out"));
        let mut child = namespace.schedlab(&lab, &compare(&lab, trial_time, 2)).spawn().unwrap();
        let during = look_in_the_midst(&lab, &namespace, &mut child);
        let ran = Ran::from(child.wait_with_output().unwrap()).expect_measured();
        Some((during?, ran))
    });
    let (during, ran) = compared.expect("no isolation was seen");
    for (line, (masks, _)) in &during {
        assert_eq!(masks, &["1"], "line {line}: {during:?}");
    }
    namespace.assert_as_before(&before);
    let trials = crate::common::trials(&lab.path("out"));
    let isolated: Vec<_> = trials
        .iter()
        .filter(|trial| trial["observation"]["counters"]["isolate_moved"].is_number())
        .collect();
    assert_eq!((trials.len(), isolated.len()), (4, 2), "{}", ran.stderr);
    for trial in isolated {
        assert!(
            trial["observation"]["counters"]["isolate_moved"].as_f64().unwrap() >= 8.0,
            "{trial}"
        );
        assert_eq!(trial["observation"]["invalid"].as_array().map_or(0, Vec::len), 0, "{trial}");
    }
    let ran = Ran::from(namespace.schedlab(&lab, "restore").output().unwrap()).expect_status(0);
    assert!(ran.stdout.contains("nothing to restore"), "{}", ran.stdout);
}

#[test]
fn after_kill_9_at_any_moment_restore_puts_every_task_back() {
    let Some(namespace) = Namespace::new() else { return };
    let lab = Lab::new();
    for pause_ms in [None, Some(0), Some(20), Some(100)] {
        let before = namespace.masks();
        // Enough trials to outlast any delay of the signal.
        let trial_time = if pause_ms.is_none() { "5s" } else { "500ms" };
        let mut nsenter =
            namespace.schedlab(&lab, &compare(&lab, trial_time, 500)).spawn().unwrap();
        match pause_ms {
            None => drop(
                look_in_the_midst(&lab, &namespace, &mut nsenter).expect("an isolation is seen"),
            ),
            Some(pause) => {
                eventually("something is moved", || moved_since(&lab).is_some());
                thread::sleep(Duration::from_millis(pause));
            }
        }
        let schedlab = child_of(nsenter.id()).expect("schedlab is still there");
        assert!(
            Command::new("kill").args(["-9", &schedlab.to_string()]).status().unwrap().success()
        );
        nsenter.wait().unwrap();
        if pause_ms.is_none() {
            assert_eq!(namespace.masks()["10003"].0, ["1"], "nothing was put back by itself");
        }
        if pause_ms.is_none() {
            // Outside, the PIDs belong to other processes or none.
            let out_here = lab.run("restore").expect_status(1).stdout;
            assert!(out_here.contains("another PID namespace"), "{out_here}");
        }
        let ran = Ran::from(namespace.schedlab(&lab, "restore").output().unwrap()).expect_status(0);
        assert!(pause_ms.is_some() || ran.stdout.contains("may use CPU 0 again"), "{}", ran.stdout);
        namespace.assert_as_before(&before);
        let _ = fs::remove_dir_all(lab.path("out"));
    }
}

#[test]
fn what_cannot_be_isolated_or_used_is_refused_with_what_there_is() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    for (variant, said) in [
        ("isolate=8000", "no CPU 8000"),
        ("isolate=0-8000", "this machine has no CPUs"),
        ("affinity=8000", "no CPU 8000"),
        ("affinity=0+isolate=1", "isolated"),
        ("policy=deadline:1ms/10ms/10ms+affinity=0", "remove affinity"),
        ("slice=3s", "100us to 100ms"),
    ] {
        let words = format!(
            "compare --arena cpu --schedulers default,{variant} --workload linpack --rounds 1 --figures-only"
        );
        lab.run(&words).expect_status(2).says(&[said]);
    }
}
