//! Programs of another user's that have the names of those that schedlab calls for.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::attacker::{self, UID};
use crate::common::{Lab, Loop, Ran};

/// Puts programs with the names of helpers into a directory of the attacker's; each notes that it ran.
fn plant(dir: &Path) {
    for name in ["blkid", "losetup", "udevadm", "systemctl", "modprobe", "wipefs", "mount", "true"] {
        let file = dir.join(name);
        let script = format!("#!/bin/sh\necho \"$(id -u) $0\" >>{}/ran\n", dir.display());
        fs::write(&file, script).expect("own");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("own");
        chown(&file, Some(UID), Some(UID)).expect("root may give away");
    }
}

fn what_ran(path: impl Fn(&Path) -> String) -> String {
    let lab = Lab::new();
    let dir = attacker::home(lab.dir.path(), "innocent");
    plant(&dir);
    // What it holds is asked of `blkid`.
    let _device = Loop::new(&lab, "disk", 1);
    let mut command = lab.command("devices");
    command.env("PATH", path(&dir)).current_dir(&dir);
    Ran::from(command.output().expect("the binary starts")).expect_status(0);
    fs::read_to_string(dir.join("ran")).unwrap_or_default()
}

#[test]
fn a_helper_in_the_current_directory_is_not_run_for_an_empty_or_relative_element_of_path() {
    if !attacker::can_attack(&["blkid"]) {
        return;
    }
    for path in
        [":/usr/sbin:/usr/bin:/sbin:/bin", ".:/usr/bin:/bin", "/usr/local/bin::/usr/bin", "../innocent:/usr/bin"]
    {
        assert_eq!(what_ran(|_| path.to_owned()), "", "PATH={path}");
    }
}

#[test]
fn root_runs_no_helper_from_a_directory_of_path_that_another_user_owns_or_may_write() {
    if !attacker::can_attack(&["blkid"]) {
        return;
    }
    assert_eq!(what_ran(|dir| format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", dir.display())), "");
    let through_own = |dir: &Path| {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).expect("own");
        chown(dir, Some(0), Some(0)).expect("root may");
        format!("{}:/usr/bin", dir.display())
    };
    assert_eq!(what_ran(through_own), "", "a directory of root's that all may write");
}
