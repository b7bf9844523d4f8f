//! Forged session marks.

use std::fs;
use std::process::{Child, Stdio};

use testbed::eventually;

use crate::attacks::attacker;
use crate::common::Lab;

struct Forged(Child);

impl Drop for Forged {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Visible in the names of control groups and mount points.
fn session_key(lab: &Lab) -> Option<String> {
    let entries = fs::read_dir(lab.state().join("journal")).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .find(|name| name.contains("session"))
}

#[test]
fn processes_marked_by_another_user_are_neither_killed_by_a_restore_nor_waited_for() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let words = format!(
        "compare --arena cpu --schedulers nice=0,nice=5 --workload linpack --trial-time 60s --budget 1h --out {}",
        lab.path("out").display()
    );
    let mut child = lab.start(&words);
    eventually("the session is journaled", || {
        session_key(&lab).is_some() || child.try_wait().unwrap().is_some()
    });
    child.kill().expect("it runs");
    let ended = child.wait_with_output().expect("it was killed");
    let key = session_key(&lab).unwrap_or_else(|| panic!("no session was begun: {ended:?}"));
    let mut command = attacker::command("sleep");
    command
        .arg("1000")
        .env("SCHEDLAB_SESSION", format!("{key}/0"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut forged = Forged(command.spawn().expect("setpriv runs"));
    eventually("the process has the mark", || {
        let name = fs::read_to_string(format!("/proc/{}/comm", forged.0.id())).unwrap_or_default();
        name.trim() == "sleep"
    });
    // Taken for the session's, it would be killed.
    let ran = lab.run("restore");
    let ended = forged.0.try_wait().expect("our child");
    assert_eq!(ended, None, "what another user marks is not the session's: {ran:?}");
    let ran = ran.expect_status(0);
    assert!(!format!("{ran:?}").contains("sleep"), "a restore names what it ended: {ran:?}");
    assert_eq!(session_key(&lab), None, "nothing is left to restore");
}
