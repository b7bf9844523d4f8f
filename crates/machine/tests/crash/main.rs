//! `kill -9` at system calls of a real process on a real loop device: `restore_all` must restore
//! everything.
//!
//! strace kills the victim, another process of this program, at its n-th call of one kind. Kills at
//! calls with an effect (write, rename, fsync, unlink …) cover every state of the machine. With
//! SCHEDLAB_SOAK=1, calls after them and others in between are added, in case the list is
//! incomplete. The test has its own `main` because strace counts per thread, and the standard
//! harness would make counts vary.

#[path = "../common/mod.rs"]
mod common;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use common::Bench;
use machine::{Change, Guard, LoopDevice, Outcome, Root, Setting, TracingInstance, restore_all};
use testbed::Loop;

/// Minimum in a soak test, if there are that many calls.
const POINTS: usize = 120;

/// Calls with an effect outside of the process.
const EFFECTS: [&str; 20] = [
    "ioctl",
    "write",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "fcntl",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "fchmod",
    "fallocate",
    "rmdir",
    "umount2",
    "clone",
    "clone3",
    "vfork",
    "pidfd_send_signal",
];

const TESTS: [(&str, fn()); 9] = [
    ("killed_at_each_of_the_settings_calls_the_device_is_as_before", settings_survive),
    (
        "killed_at_each_call_of_a_change_the_device_is_as_before_or_set_and_nothing_between",
        changes_survive,
    ),
    (
        "killed_at_each_call_of_a_change_for_a_while_the_device_is_as_before",
        changes_for_a_while_survive,
    ),
    ("killed_while_a_loop_device_is_made_or_removed_nothing_is_left_of_it", loop_devices_survive),
    ("a_killed_owner_of_a_tracing_instance_leaves_none", tracing_instances_survive),
    (
        "killed_at_each_call_of_a_session_nothing_is_left_of_its_programs_and_files",
        session::sessions_survive,
    ),
    (
        "killed_while_a_server_works_on_a_mounted_loop_device_nothing_is_left_of_any_of_them",
        session::a_mounted_loop_device_with_a_server_is_cleaned_up,
    ),
    (
        "a_file_system_that_is_not_the_dead_sessions_is_not_taken_off",
        session::a_foreign_file_system_is_not_wiped,
    ),
    (
        "after_a_restart_the_dead_sessions_file_system_is_taken_off_unless_it_is_mounted",
        session::after_a_restart_only_the_file_system_is_taken_off_unless_it_is_mounted,
    ),
];

fn main() {
    if let Ok(victim) = env::var("SCHEDLAB_CRASH_VICTIM") {
        return be_killed(&victim);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    let wanted: Vec<_> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    if arguments.iter().any(|word| word == "--list") {
        return wanted.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    match wanted.as_slice() {
        [(name, test)] => {
            println!("test {name} ...");
            test();
            println!("test {name} ... ok");
        }
        several => side_by_side(several),
    }
}

/// Runs the tests in parallel, each with its own device: they mostly wait for the disk and switches
/// of the scheduler.
fn side_by_side(tests: &[&(&str, fn())]) {
    let program = env::current_exe().expect("this program");
    let one = |name: &str| Command::new(&program).arg(name).output().expect("this program starts");
    let all_passed = std::thread::scope(|scope| {
        let running: Vec<_> =
            tests.iter().map(|(name, _)| scope.spawn(move || one(name))).collect();
        running.into_iter().fold(true, |passed, thread| {
            let output = thread.join().expect("it waits for a process");
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            passed && output.status.success()
        })
    });
    assert!(all_passed, "a test above failed");
}

/// `WHAT STATE-DIR DEVICE-OR-DIR`, and how long a session's programs sleep.
fn be_killed(victim: &str) {
    let words: Vec<&str> = victim.split('\n').collect();
    let root = Root::real().with_state_dir(words[1]);
    match words[0] {
        what if what.starts_with("session") => session::be_killed(&root, what, words[2], words[3]),
        "settings" => {
            let device = machine::device::find(&root, words[2]).expect("the loop device is there");
            let mut guard = Guard::begin(&root, &device).expect("no other process has it");
            for setting in [
                Setting::of("bfq").with("slice_idle", "0").with("read_ahead_kb", "64"),
                Setting::of("none").with("nr_requests", "16").with("nomerges", "2"),
            ] {
                assert_eq!(guard.apply(&setting).expect("the kernel has it"), []);
            }
            guard.restore().expect("everything can be put back");
        }
        "change" => {
            change(&root, words[2]).carry_out().map(drop).expect("nothing is wrong with it")
        }
        "change-for-a-while" => {
            let held = change(&root, words[2])
                .hold(Duration::from_secs(3600))
                .expect("nothing is wrong with it");
            held.end().expect("everything can be put back");
        }
        "tracing" => {
            fs::write(words[2], std::process::id().to_string()).expect("own directory");
            let instance = TracingInstance::create(&root).expect("tracefs is mounted");
            fs::write(instance.path().join("events/block/block_rq_issue/enable"), "1")
                .expect("an event");
        }
        _ => {
            let made = LoopDevice::create(&root, 1 << 20, Path::new(words[2]), &mut |_| {
                ControlFlow::Continue(())
            });
            made.expect("there is room for 1 MiB").remove().expect("no process uses it");
        }
    }
}

/// Scheduler, tunable, and attributes that the kernel ties to others.
fn change(root: &Root, device: &str) -> Change {
    let device = machine::device::find(root, device).expect("the loop device is there");
    let setting = Setting::of("bfq")
        .with("slice_idle", "0")
        .with("nr_requests", "96")
        .with("max_sectors_kb", "64");
    Change::plan(root, &device, &setting).expect("nothing is wrong with it")
}

struct Experiment {
    victim: String,
    log: PathBuf,
    /// Whether its programs' calls count, and are killed too.
    children: bool,
}

/// A system call, by name and index from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    name: String,
    ordinal: usize,
}

impl Experiment {
    /// Runs the victim under strace, killed when it enters `call`; returns whether it succeeded.
    fn run(&self, call: Option<&Call>) -> bool {
        let mut strace = Command::new("strace");
        // Process ids separate the processes.
        if self.children || call.is_none() {
            strace.arg("-f");
        }
        strace.args(["-qq", "-e", "signal=none", "-o"]).arg(&self.log);
        if let Some(Call { name, ordinal }) = call {
            let inject = format!("inject={name}:signal=KILL:when={ordinal}");
            strace.args(["-e", &format!("trace={name}"), "-e", &inject]);
        }
        strace
            .arg(env::current_exe().expect("this program"))
            .env("SCHEDLAB_CRASH_VICTIM", &self.victim);
        let output = strace.output().expect("strace runs");
        output.status.success()
    }

    /// Calls with an effect, starting with the first on the state directory; in a soak test also
    /// the next ones, and an even selection of others.
    fn points(&self, state: &Path) -> Vec<Call> {
        // The first run creates directories.
        for _ in 0..2 {
            assert!(self.run(None), "without a kill the victim ends well: {}", self.victim);
        }
        let log = fs::read_to_string(&self.log).expect("strace's log");
        // It is opened relative to its parent, by name.
        let state =
            format!("{:?}", state.file_name().expect("a path with a name").display().to_string());
        let main = log
            .lines()
            .next()
            .and_then(|line| line.split(' ').next())
            .expect("a first call")
            .to_string();
        let (mut calls, mut seen, mut begin) = (Vec::new(), BTreeMap::new(), None);
        for line in log.lines().filter_map(|line| line.strip_prefix(&main)) {
            // Lines without a name are ends of interrupted calls and of the process.
            let Some((name, _)) = line.trim_start().split_once('(') else { continue };
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                continue;
            }
            begin = begin.or_else(|| line.contains(&state).then_some(calls.len()));
            let ordinal = seen.entry(name.to_string()).and_modify(|count| *count += 1).or_insert(1);
            calls.push(Call { name: name.to_string(), ordinal: *ordinal });
        }
        let calls = &calls[begin.expect("the journal's first call")..];
        let has_effect = |call: &Call| EFFECTS.contains(&call.name.as_str());
        if !is_soak() {
            // A kill at the very end.
            let last = calls.iter().rposition(has_effect).expect("the journal is written");
            let end = calls.get(last + 1).into_iter();
            return calls.iter().filter(|call| has_effect(call)).chain(end).cloned().collect();
        }
        let after_effect = calls.windows(2).filter(|pair| has_effect(&pair[0])).flatten();
        let between = calls.iter().step_by((calls.len() / POINTS).max(1));
        let all: BTreeSet<&Call> = after_effect.chain(between).collect();
        all.into_iter().cloned().collect()
    }
}

/// Exhaustive, however long it takes.
fn is_soak() -> bool {
    env::var_os("SCHEDLAB_SOAK").is_some()
}

fn recover(root: &Root, call: &Call) {
    for outcome in restore_all(root, &[]).expect("the journal can be read") {
        assert!(
            !matches!(outcome, Outcome::Failed { .. } | Outcome::Busy { .. }),
            "killed at {call:?}: {outcome}"
        );
    }
    let left: Vec<_> =
        fs::read_dir(root.state("journal")).expect("the journal").flatten().collect();
    assert!(left.is_empty(), "killed at {call:?}: {left:?}");
}

/// After a run without a kill, on a tuned loop device.
struct Kills {
    /// Must be dropped before `bench`, whose directory contains its file.
    blank: Loop,
    bench: Bench,
    before: Vec<(String, String)>,
    experiment: Experiment,
    points: Vec<Call>,
}

impl Kills {
    fn of(what: &str, tune: fn(&Loop)) -> Option<Kills> {
        let bench = Bench::set_up(&["strace"])?;
        let blank = bench.blank_loop(16);
        if !blank.offers(&["none", "mq-deadline", "bfq"]) {
            return None;
        }
        tune(&blank);
        let before = blank.snapshot();
        let state = bench.dir.path().join("state");
        let victim = format!("{what}\n{}\n{}", state.display(), &blank.path);
        let experiment =
            Experiment { victim, log: bench.dir.path().join("strace.log"), children: true };
        let points = experiment.points(&state);
        Some(Kills { blank, bench, before, experiment, points })
    }

    /// Requires the device as before after each recovery. Returns how often the kill hit, and how
    /// often it found the device changed.
    fn device_is_as_before(&self) -> (usize, usize) {
        let (mut killed, mut undone) = (0, 0);
        for call in &self.points {
            killed += usize::from(!self.experiment.run(Some(call)));
            undone += usize::from(self.blank.snapshot() != self.before);
            recover(&self.bench.root, call);
            assert_eq!(self.blank.snapshot(), self.before, "killed at {call:?}");
        }
        println!(
            "killed at {killed} of {} points; the device was changed at {undone} of them, and as before after each",
            self.points.len()
        );
        (killed, undone)
    }
}

fn settings_survive() {
    let tune = |blank: &Loop| {
        blank.set("scheduler", "mq-deadline");
        blank.set("iosched/read_expire", "252");
        blank.set("read_ahead_kb", "512");
    };
    let Some(kills) = Kills::of("settings", tune) else { return };
    let (killed, undone) = kills.device_is_as_before();
    let least = if is_soak() { 100 } else { 40 };
    assert!(killed >= least && undone > least / 4, "the kills have to hit: {killed}, {undone}");
}

fn tune(blank: &Loop) {
    blank.set("scheduler", "mq-deadline");
    blank.set("max_sectors_kb", &blank.show("max_hw_sectors_kb"));
    blank.set("iosched/read_expire", "252");
    blank.set("nr_requests", "64");
    blank.set("read_ahead_kb", "512");
}

fn changes_survive() {
    let Some(Kills { bench, blank, before, experiment, points }) = Kills::of("change", tune) else {
        return;
    };
    let set = blank.snapshot();
    assert_ne!(set, before);
    let (mut undone, mut stayed) = (0, 0);
    for call in &points {
        tune(&blank);
        assert_eq!(blank.snapshot(), before, "the tuning is whole again");
        let ended_well = experiment.run(Some(call));
        undone += usize::from(blank.snapshot() != before);
        recover(&bench.root, call);
        let now = blank.snapshot();
        stayed += usize::from(now == set);
        assert!(now == before || now == set, "killed at {call:?}: {now:?}");
        assert!(
            now == set || !ended_well,
            "a command that ended well has set the device: {call:?}"
        );
    }
    println!(
        "killed at {} points; changed at {undone} of them, set for good at {stayed}",
        points.len()
    );
    assert!(
        points.len() >= 40 && undone > stayed + 10 && stayed > 0,
        "the kills have to hit: {undone}, {stayed}"
    );
}

fn changes_for_a_while_survive() {
    let Some(kills) = Kills::of("change-for-a-while", tune) else { return };
    let (killed, undone) = kills.device_is_as_before();
    let least = if is_soak() { 100 } else { 40 };
    assert!(killed >= least && undone > least / 4, "the kills have to hit: {killed}, {undone}");
}

fn loop_devices_survive() {
    let Some(bench) = Bench::set_up(&["strace"]) else { return };
    let files = bench.dir.path().join("files");
    fs::create_dir(&files).expect("own directory");
    let state = bench.dir.path().join("state");
    let victim = format!("loop\n{}\n{}", state.display(), files.display());
    let experiment =
        Experiment { victim, log: bench.dir.path().join("strace.log"), children: true };
    let (mut killed, mut undone) = (0, 0);
    for call in experiment.points(&state) {
        killed += usize::from(!experiment.run(Some(&call)));
        let left = || {
            fs::read_dir(&files)
                .expect("own")
                .flatten()
                .map(|entry| entry.path())
                .collect::<Vec<_>>()
        };
        undone += usize::from(!left().is_empty());
        recover(&bench.root, &call);
        assert!(left().is_empty(), "killed at {call:?}: {:?}", left());
        let attached = common::run("losetup", &["--list"]);
        assert!(!attached.contains(&files.display().to_string()), "killed at {call:?}: {attached}");
    }
    println!(
        "killed at {killed} points; a file or device was left at {undone} of them, and none after recovery"
    );
    assert!(killed >= 30 && undone >= 10, "the kills have to hit: {killed}, {undone}");
}

fn tracing_instances_survive() {
    let Some(bench) = Bench::set_up(&["strace"]) else { return };
    let instances = Path::new("/sys/kernel/tracing/instances");
    if !instances.is_dir() {
        return testbed::skip("tracefs is not mounted");
    }
    let (state, pid) = (bench.dir.path().join("state"), bench.dir.path().join("pid"));
    let victim = format!("tracing\n{}\n{}", state.display(), pid.display());
    let experiment =
        Experiment { victim, log: bench.dir.path().join("strace.log"), children: false };
    let left = || {
        let own = format!(
            "schedlab-record-{}-",
            fs::read_to_string(&pid).expect("the victim has written it")
        );
        let names = fs::read_dir(instances)
            .expect("tracefs")
            .flatten()
            .map(|entry| entry.file_name().into_string());
        names.flatten().filter(|name| name.starts_with(&own)).collect::<Vec<_>>()
    };
    let (mut killed, mut undone) = (0, 0);
    for call in experiment.points(&state) {
        killed += usize::from(!experiment.run(Some(&call)));
        undone += usize::from(!left().is_empty());
        recover(&bench.root, &call);
        assert_eq!(left(), [""; 0], "killed at {call:?}");
        let locks = fs::read_dir(state.join("lock")).expect("locks").count();
        assert_eq!(locks, 0, "killed at {call:?}");
    }
    println!(
        "killed at {killed} points; an instance was left at {undone} of them, and none after recovery"
    );
    assert!(killed >= 30 && undone >= 5, "the kills have to hit: {killed}, {undone}");
}
