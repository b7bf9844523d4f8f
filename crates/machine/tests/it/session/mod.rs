//! Sessions on the real machine: programs, users, file systems on loop devices, shares of a device.

mod files;
mod placed;
mod programs;
mod shares;

use std::fs;
use std::path::PathBuf;

use crate::common::{Bench, run, try_run};
use machine::Session;

/// No session of this process has left anything.
fn assert_no_trace(bench: &Bench) {
    let own = format!("schedlab-session-{}-", std::process::id());
    let journal = bench.root.state("journal");
    let left: Vec<_> =
        fs::read_dir(journal).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    // Other tests have concurrent sessions, so here only locks count.
    let locks = fs::read_dir(bench.root.state("lock")).into_iter().flatten().flatten();
    let locks: Vec<PathBuf> = locks
        .map(|entry| entry.path())
        .filter(|path| path.display().to_string().contains(&own))
        .collect();
    assert!(locks.is_empty(), "{locks:?}");
}

fn begin(bench: &Bench) -> Session {
    Session::begin(&bench.root).expect("the state directory is writable")
}

#[test]
fn a_session_that_does_nothing_leaves_nothing_and_while_it_lives_it_is_left_alone() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let outcomes = machine::restore_all(&bench.root, &[]).expect("readable");
    assert!(matches!(&outcomes[..], [machine::Outcome::Busy { .. }]), "{outcomes:?}");
    assert_eq!(session.end().expect("nothing is there"), Vec::<String>::new());
    assert_no_trace(&bench);
}

fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Numbers printed one per line.
fn numbers(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn holds(node: &str) -> String {
    String::from_utf8_lossy(&try_run("blkid", &["-p", "-o", "value", "-s", "TYPE", node]).stdout)
        .trim()
        .to_string()
}

/// Whether v2 groups can be created here.
fn has_groups() -> bool {
    let mounts = run("cat", &["/proc/mounts"]);
    mounts.lines().any(|line| line.split(' ').nth(2) == Some("cgroup2") && line.contains(" rw"))
}
