//! Killing an experiment with programs and a file system at any moment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use machine::loopdev::Removed;
use machine::session::{Cleanup, FileSystem, Launch, Share};
use machine::{LoopDevice, Outcome, Root, Session, restore_all};
use rustix::fs::{Mode, OFlags};
use testbed::{Loop, eventually};

use crate::common::{self, Bench, try_run};
use crate::{Experiment, is_soak, recover};

/// The device or directory, and the argument of its sleeping programs.
pub(crate) fn be_killed(root: &Root, what: &str, at: &str, sleep: &str) {
    fs::write(root.state("../victim.pid"), std::process::id().to_string()).expect("own directory");
    match what {
        "session" => whole_experiment(root, at, sleep),
        "session-server" => {
            let made = LoopDevice::create(root, 16 << 20, Path::new(at), &mut |_| {
                std::ops::ControlFlow::Continue(())
            });
            let device = made.expect("there is room");
            let session = with_files(root, device.name());
            let _server = session.start(&server(&session, sleep)).expect("a shell");
            eventually("the server and the daemon sleep", || sleepers(sleep).count() == 2);
            wait_to_be_killed(root);
        }
        _ => {
            let _session = with_files(root, at);
            wait_to_be_killed(root);
        }
    }
}

fn wait_to_be_killed(root: &Root) {
    fs::write(root.state("../ready"), "").expect("own directory");
    thread::sleep(Duration::from_secs(600));
}

fn with_files(root: &Root, device: &str) -> Session {
    let device = machine::device::find(root, device).expect("the loop device is there");
    let mut session = Session::begin(root).expect("writable");
    let files = FileSystem { kind: "ext4".into(), mkfs: String::new(), mount: "noatime".into() };
    let proceed = &mut |_, _| std::ops::ControlFlow::Continue(());
    let mut claim = machine::check_writable(root, &device, machine::Authority::Made, proceed)
        .expect("no process uses it");
    session.make_files(&device, &files, &mut claim).expect("no process uses it");
    session
}

/// A server with a double-forked daemon in its own session.
fn server(session: &Session, sleep: &str) -> Launch {
    let dir = session.directory().expect("a mount").to_path_buf();
    let script = format!("(setsid sleep {sleep} > daemon &); echo up; exec sleep {sleep}");
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        dir,
        ..Launch::default()
    }
}

fn whole_experiment(root: &Root, device: &str, sleep: &str) {
    let mut session = with_files(root, device);
    let device = machine::device::find(root, device).expect("the loop device is there");
    let mut launch = server(&session, sleep);
    let share = Share { io_max: Some("wbps=500M".to_string()), ..Share::default() };
    if session.check_share(&device, &share).is_ok() {
        launch.share = share;
    }
    drop(session.start(&launch).expect("a shell"));
    session.cool().expect("the server is dead");
    launch.args[1] = "echo data > file; sync".into();
    let ended = session
        .start(&launch)
        .and_then(|it| it.wait(Duration::from_secs(60), &AtomicBool::new(false)));
    assert!(ended.expect("it ends").status.success());
    let _left = session.start(&server(&session, sleep)).expect("a shell");
    session.end().expect("everything dies");
}

/// A session's remains; empty if none.
fn traces(pid: &str, device: &str, sleep: &str) -> Vec<String> {
    let mut found = Vec::new();
    let own = format!("schedlab-session-{pid}-");
    let is_own = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.display().to_string().starts_with(&own))
    };
    for dir in ["/run", "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/blkio"] {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(entries.filter(is_own).map(|path| path.display().to_string()));
    }
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has_mark =
            String::from_utf8_lossy(&environment).contains(&format!("SCHEDLAB_SESSION={own}"));
        if has_mark || words == format!("sleep\0{sleep}\0").as_bytes() {
            found.push(format!(
                "process {}: {}",
                entry.path().display(),
                String::from_utf8_lossy(&words)
            ));
        }
    }
    let mounts = fs::read_to_string("/proc/self/mounts").expect("proc");
    found.extend(mounts.lines().filter(|line| line.contains(&own)).map(str::to_string));
    let holds = holds(device);
    if !holds.is_empty() {
        found.push(format!("{device} holds {holds}"));
    }
    found
}

/// Processes that sleep with this argument.
fn sleepers(sleep: &str) -> impl Iterator<Item = PathBuf> {
    let words = format!("sleep\0{sleep}\0").into_bytes();
    let all = fs::read_dir("/proc").expect("proc").flatten().map(|entry| entry.path());
    all.filter(move |process| fs::read(process.join("cmdline")).is_ok_and(|found| found == words))
}

fn holds(device: &str) -> String {
    let output = try_run("blkid", &["-p", "-o", "value", "-s", "TYPE", device]);
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn victim_pid(bench: &Bench) -> String {
    fs::read_to_string(bench.dir.path().join("victim.pid")).expect("the victim has said it")
}

/// No other test on the machine uses this argument.
fn sleep_of_our_own() -> String {
    format!("9{:07}", std::process::id())
}

pub(crate) fn sessions_survive() {
    let Some(bench) = Bench::set_up(&["strace", "mkfs.ext4", "setsid"]) else { return };
    let blank = bench.blank_loop(16);
    let state = bench.dir.path().join("state");
    fs::create_dir(&state).expect("own directory");
    let sleep = sleep_of_our_own();
    let victim = format!("session\n{}\n{}\n{sleep}", state.display(), &blank.path);
    let experiment =
        Experiment { victim, log: bench.dir.path().join("strace.log"), children: false };
    let (mut killed, mut undone) = (0, 0);
    // The whole list takes minutes.
    let stride = if is_soak() { 1 } else { 4 };
    let points: Vec<_> = experiment.points(&state).into_iter().step_by(stride).collect();
    for call in &points {
        killed += usize::from(!experiment.run(Some(call)));
        let pid = victim_pid(&bench);
        undone += usize::from(!traces(&pid, &blank.path, &sleep).is_empty());
        recover(&bench.root, call);
        let left = traces(&pid, &blank.path, &sleep);
        assert!(left.is_empty(), "killed at {call:?}: {left:?}");
        let locks: Vec<_> = fs::read_dir(state.join("lock"))
            .expect("locks")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(locks.is_empty(), "killed at {call:?}: {locks:?}");
    }
    println!(
        "killed at {killed} of {} points; something was left at {undone} of them, and nothing after recovery",
        points.len()
    );
    let hit = killed * 3 >= points.len() * 2 && undone * 5 >= points.len() * 2;
    assert!(
        hit && points.len() >= 30,
        "the kills have to hit: {killed}, {undone} of {}",
        points.len()
    );
}

/// Kills a victim once it has created everything.
fn killed_at_work(bench: &Bench, what: &str, at: &str, sleep: &str) -> String {
    let state = bench.root.state("");
    fs::create_dir_all(&state).expect("own directory");
    let victim = format!("{what}\n{}\n{at}\n{sleep}", state.display());
    let mut child: Child = Command::new(std::env::current_exe().expect("this program"))
        .env("SCHEDLAB_CRASH_VICTIM", victim)
        .spawn()
        .expect("this program again");
    let ready = bench.dir.path().join("ready");
    eventually("the victim has made its session", || {
        assert!(child.try_wait().expect("our child").is_none(), "the victim makes its session");
        ready.exists()
    });
    fs::remove_file(ready).expect("own directory");
    child.kill().expect("our child");
    child.wait().expect("our child");
    victim_pid(bench)
}

pub(crate) fn a_mounted_loop_device_with_a_server_is_cleaned_up() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4", "setsid"]) else { return };
    let sleep = sleep_of_our_own();
    let dir = bench.dir.path().join("files");
    fs::create_dir(&dir).expect("own directory");
    let pid = killed_at_work(&bench, "session-server", &dir.display().to_string(), &sleep);
    let before = traces(&pid, "/dev/null", &sleep);
    assert!(
        before.iter().filter(|trace| trace.contains(&sleep)).count() >= 2,
        "a server and a daemon: {before:?}"
    );
    let outcomes = restore_all(&bench.root, &[]).expect("readable");
    let undone =
        (outcomes.first().and_then(Outcome::undone), outcomes.get(1).and_then(Outcome::undone));
    let (Some(Cleanup { programs, at: Some(at), wiped: Some(device) }), Some(Removed { .. }), 2) =
        (undone.0, undone.1, outcomes.len())
    else {
        panic!("first the session, then the loop device: {outcomes:?}")
    };
    assert_eq!(programs, &["sleep"]);
    assert!(outcomes[0].to_string().contains(&at.display().to_string()), "{}", outcomes[0]);
    assert_eq!(traces(&pid, device, &sleep), Vec::<String>::new());
    assert!(!common::run("losetup", &["--list"]).contains(&dir.display().to_string()));
}

/// The file system was unmounted by hand.
fn dead_and_unmounted(bench: &Bench, blank: &Loop) {
    let pid = killed_at_work(bench, "session-files", &blank.path, "-");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("proc");
    let own = mounts
        .lines()
        .find(|line| line.contains(&format!("schedlab-session-{pid}-")))
        .expect("its mount");
    unmount(own.split(' ').nth(1).expect("a mount point"), &blank.path);
}

/// Waits for mount namespaces that other tests made in between: their copies of the mount end with
/// them, and until then nobody can have the device exclusively.
fn unmount(place: &str, device: &str) {
    common::run("umount", &[place]);
    let exclusive = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    eventually("the last copy of the mount is gone", || {
        rustix::fs::open(device, exclusive, Mode::empty()).is_ok()
    });
}

pub(crate) fn a_foreign_file_system_is_not_wiped() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    dead_and_unmounted(&bench, &blank);
    common::run("mkfs.ext4", &["-q", "-F", &blank.path]);
    let outcomes = restore_all(&bench.root, &[]).expect("readable");
    assert!(
        matches!(&outcomes[..], [one] if matches!(one.undone(), Some(Cleanup { wiped: None, .. }))),
        "{outcomes:?}"
    );
    assert_eq!(holds(&blank.path), "ext4");
    assert!(restore_all(&bench.root, &[]).expect("readable").is_empty());
}

pub(crate) fn after_a_restart_only_the_file_system_is_taken_off_unless_it_is_mounted() {
    let Some(bench) = Bench::set_up(&["mkfs.ext4"]) else { return };
    let blank = bench.blank_loop(16);
    dead_and_unmounted(&bench, &blank);
    let entry = fs::read_dir(bench.root.state("journal"))
        .expect("the journal")
        .flatten()
        .next()
        .expect("its entry")
        .path();
    let boot = bench.root.boot_id().expect("a boot id");
    let text = fs::read_to_string(&entry).expect("readable").replace(&boot, "another boot");
    fs::write(&entry, text).expect("own directory");
    let theirs = bench.dir.path().join("theirs");
    fs::create_dir(&theirs).expect("own directory");
    common::run("mount", &[&blank.path, &theirs.display().to_string()]);
    let outcomes = restore_all(&bench.root, &[]).expect("readable");
    unmount(&theirs.display().to_string(), &blank.path);
    assert!(matches!(&outcomes[..], [Outcome::Failed { .. }]), "{outcomes:?}");
    assert!(outcomes[0].to_string().contains(&theirs.display().to_string()), "{}", outcomes[0]);
    assert_eq!(holds(&blank.path), "ext4", "what somebody has mounted is left alone");
    let outcomes = restore_all(&bench.root, &[]).expect("readable");
    assert!(
        matches!(&outcomes[..], [one] if matches!(one.undone(), Some(Cleanup { wiped: Some(_), .. }))),
        "{outcomes:?}"
    );
    assert_eq!(holds(&blank.path), "");
}
