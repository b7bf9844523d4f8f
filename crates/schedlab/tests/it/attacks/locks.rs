//! Locks held by another user, so that root gives up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::json;
use testbed::{Loop, eventually};

use crate::attacks::attacker;
use crate::common::Lab;

/// No process: above the largest number that a kernel gives.
const DEAD: u32 = 4_194_305;

/// The attacker's process that tries to hold a lock on a file or directory.
struct Holder(Child);

impl Holder {
    fn of(path: &Path) -> Holder {
        let script = format!("exec 9<{}; flock -x 9; exec sleep 60", path.display());
        let mut child = attacker::command("/bin/sh").args(["-ec", &script]).spawn().expect("setpriv runs");
        let is_taken = || {
            let probe = Command::new("flock").arg("-n").arg(path).arg("true").status();
            probe.is_ok_and(|status| !status.success())
        };
        eventually("the lock is taken or refused", || is_taken() || child.try_wait().expect("our child").is_some());
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a `keep` that was killed left: an entry, and the lock file with the number of the dead process.
fn crashed(lab: &Lab) -> (std::path::PathBuf, std::path::PathBuf) {
    let (journal, locks) = (lab.state().join("journal"), lab.state().join("lock"));
    [&journal, &locks].iter().for_each(|dir| fs::create_dir_all(dir).expect("own"));
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let file = json!({"path": lab.state().join("kept/x.json"), "before": null, "after": {"mode": 0o644, "bytes": "x"}});
    let undo = json!({"what": "files", "about": "/dev/x", "files": [file], "directories": []});
    let entry = json!({"schema": 1, "boot_id": boot_id.trim(), "pid": DEAD, "undo": undo});
    let (entry_path, lock) = (journal.join("schedlab-kept-x.json"), locks.join("schedlab-kept-x.lock"));
    fs::write(&entry_path, entry.to_string()).expect("own");
    fs::write(&lock, DEAD.to_string()).expect("own");
    (entry_path, lock)
}

/// As schedlab 0.1.0 made it.
fn open_to_all(lab: &Lab) {
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("own");
    for dir in [lab.state(), lab.state().join("journal"), lab.state().join("lock")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("own");
    }
}

#[test]
fn another_user_cannot_hold_a_lock_of_the_state_directory() {
    if !attacker::can_attack(&["flock"]) {
        return;
    }
    let lab = Lab::new();
    crashed(&lab);
    open_to_all(&lab);
    lab.run("restore").expect_status(0);
    let (entry, lock) = crashed(&lab);
    let _holder = Holder::of(&lock);
    let ran = lab.run("restore");
    assert!(!entry.exists(), "{ran:?}");
    ran.expect_status(0);
}

#[test]
fn a_lock_that_was_taken_while_the_directory_was_open_is_no_success_and_no_dead_process_is_named() {
    if !attacker::can_attack(&["flock"]) {
        return;
    }
    let lab = Lab::new();
    let (entry, lock) = crashed(&lab);
    open_to_all(&lab);
    let holder = Holder::of(&lock);
    let ran = lab.run("restore");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(entry.exists() && !said.contains(&DEAD.to_string()), "{said}");
    ran.expect_status(4).says(&["left as found: 1 of 1"]);
    drop(holder);
    lab.run("restore").expect_status(0);
    assert!(!entry.exists());
}

#[test]
fn a_device_is_set_although_another_user_locks_its_directory_in_sys() {
    if !attacker::can_attack(&["flock"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 4);
    let _holder = Holder::of(&device.queue());
    let ran = lab.run(&format!("set {} nomerges=1", device.path));
    device.set("nomerges", "0");
    ran.expect_status(0);
}
