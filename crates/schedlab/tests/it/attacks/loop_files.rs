//! Files swapped between check and use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::attacks::attacker;
use crate::common::{Lab, Ran};

/// Replaces a temporary file by a link to the victim.
const SWAP: &str = r#"
import os, sys
dir, victim = sys.argv[1:]
os.chdir(dir)
while True:
    for name in os.listdir("."):
        if name.startswith("schedlab-loop-") and name.endswith(".img"):
            try:
                os.rename(name, "taken")
                os.symlink(victim, name)
                sys.exit(0)
            except OSError:
                pass
"#;

struct Swapper(Child);

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn swapper(dir: &Path, victim: &Path) -> Swapper {
    let mut command = attacker::command("python3");
    command.args(["-c", SWAP]).arg(dir).arg(victim).stdout(Stdio::null()).stderr(Stdio::null());
    Swapper(command.spawn().expect("setpriv runs"))
}

fn compare(lab: &Lab, dir: &Path) -> Ran {
    let words = format!(
        "compare --device loop:64M --loop-dir {} --schedulers none,mq-deadline --workload seqwrite --rounds 1 --figures-only --trial-time 100ms --out {}",
        dir.display(),
        lab.path("out").display()
    );
    Ran::from(lab.command(&words).output().expect("the binary starts"))
}

fn victim(lab: &Lab) -> (PathBuf, Vec<u8>) {
    let file = lab.path("victim");
    let content = vec![0x5a; 8 << 20];
    fs::write(&file, &content).expect("own");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("own");
    (file, content)
}

/// Detaches them, so that no test leaves one.
fn left_attached(dir: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for entry in fs::read_dir("/sys/block").expect("sysfs").flatten() {
        let behind = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if behind.starts_with(&dir.display().to_string()) {
            let node = format!("/dev/{}", entry.file_name().display());
            let _ = std::process::Command::new("losetup").args(["-d", &node]).status();
            left.push(format!("{node} over {}", behind.trim()));
        }
    }
    left
}

#[test]
fn a_loop_file_that_is_swapped_for_a_link_leads_no_write_to_the_victim() {
    if !attacker::can_attack(&["python3", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("own");
    let (victim, content) = victim(&lab);
    let dir = attacker::home(lab.dir.path(), "loops");
    let swapper = swapper(&dir, &victim);
    let ran = compare(&lab, &dir);
    drop(swapper);
    let left = left_attached(lab.dir.path());
    assert!(
        fs::read(&victim).expect("own") == content,
        "the victim's content was overwritten: {ran:?}"
    );
    assert_eq!(left, Vec::<String>::new(), "{ran:?}");
    ran.expect_status(1).says(&[&dir.display().to_string(), "another user", "name a directory"]);
    assert_eq!(fs::read_dir(&dir).expect("there").count(), 0, "nothing was made there");
}

#[test]
fn a_directory_that_all_may_write_is_refused_unless_it_is_sticky() {
    if !attacker::can_attack(&["python3", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).expect("own");
    let (victim, content) = victim(&lab);
    for (name, mode) in [("shared", 0o777), ("sticky", 0o1777)] {
        let dir = attacker::shared(lab.dir.path(), name, mode);
        let swapper = swapper(&dir, &victim);
        let ran = compare(&lab, &dir);
        drop(swapper);
        let left = left_attached(lab.dir.path());
        assert!(
            fs::read(&victim).expect("own") == content,
            "{name}: the victim's content was overwritten: {ran:?}"
        );
        assert_eq!(left, Vec::<String>::new(), "{name}: {ran:?}");
        assert_eq!(fs::read_dir(&dir).expect("there").count(), 0, "{name}: nothing is left there");
        if mode == 0o1777 {
            ran.expect_measured();
        } else {
            ran.expect_status(1).says(&[
                &dir.display().to_string(),
                "other users may write",
                "chmod",
            ]);
        }
    }
}
