//! Locks that another user holds to block root.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::json;
use testbed::Loop;

use crate::attacks::attacker;
use crate::common::Lab;

/// A PID above the kernel's maximum.
const DEAD: u32 = 4_194_305;

/// Takes every lock that a read-only descriptor allows.
const HOLD: &str = "
import fcntl, os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(file, fcntl.LOCK_EX)
fcntl.lockf(file, fcntl.LOCK_SH)
os.write(1, b'x')
time.sleep(60)
";

struct Holder(Child);

impl Holder {
    fn of(path: &Path) -> Holder {
        let mut python = attacker::command("python3");
        let mut child = python
            .args(["-c", HOLD])
            .arg(path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("setpriv runs");
        // One byte or EOF: the lock is taken or refused.
        let _ = child.stdout.as_mut().expect("a pipe").read(&mut [0]).expect("a pipe");
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Leftovers of a killed `persist`: a journal entry and the lock file.
fn crashed(lab: &Lab) -> (std::path::PathBuf, std::path::PathBuf) {
    let (journal, locks) = (lab.state().join("journal"), lab.state().join("lock"));
    [&journal, &locks].iter().for_each(|dir| fs::create_dir_all(dir).expect("own"));
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let file = json!({"path": lab.state().join("kept/x.json"), "before": null, "after": {"mode": 0o644, "bytes": "x"}});
    let undo = json!({"what": "files", "about": "/dev/x", "files": [file], "directories": []});
    let entry = json!({"schema": 1, "boot_id": boot_id.trim(), "pid": DEAD, "undo": undo});
    let (entry_path, lock) =
        (journal.join("schedlab-kept-x.json"), locks.join("schedlab-kept-x.lock"));
    fs::write(&entry_path, entry.to_string()).expect("own");
    fs::write(&lock, "").expect("own");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).expect("own");
    (entry_path, lock)
}

fn open_to_all(lab: &Lab) {
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("own");
    for dir in [lab.state(), lab.state().join("journal"), lab.state().join("lock")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("own");
    }
}

#[test]
fn another_user_cannot_hold_a_lock_of_the_state_directory() {
    if !attacker::can_attack(&["python3"]) {
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
fn a_lock_that_another_user_holds_is_no_success_and_names_its_holder() {
    if !attacker::can_attack(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let (entry, lock) = crashed(&lab);
    open_to_all(&lab);
    let holder = Holder::of(&lock);
    let ran = lab.run("restore");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let names_holder = said.contains(&format!("(process {})", holder.0.id()));
    assert!(entry.exists() && names_holder && !said.contains(&DEAD.to_string()), "{said}");
    ran.expect_status(4).says(&["left as found: 1 of 1"]);
    drop(holder);
    lab.run("restore").expect_status(0);
    assert!(!entry.exists());
}

#[test]
fn a_device_is_set_although_another_user_locks_its_directory_in_sys() {
    if !attacker::can_attack(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 4);
    let _holder = Holder::of(&device.queue());
    let ran = lab.run(&format!("set {} nomerges=1", device.path));
    device.set("nomerges", "0");
    ran.expect_status(0);
}
