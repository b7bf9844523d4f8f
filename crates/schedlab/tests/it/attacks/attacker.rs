//! The hostile local user: a user id that owns nothing, without groups or capabilities.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::require;

use crate::common::Ran;

pub(crate) const UID: u32 = 64_321;

/// Only root can switch to the attacker.
pub(crate) fn can_attack(programs: &[&str]) -> bool {
    require(&[&["root", "setpriv"], programs].concat())
}

pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args([
            &format!("--reuid={UID}"),
            &format!("--regid={UID}"),
            "--clear-groups",
            "--no-new-privs",
            "--",
        ])
        .arg(program)
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

pub(crate) fn sh(script: &str) -> Ran {
    Ran::from(command("/bin/sh").args(["-ec", script]).output().expect("setpriv runs"))
}

pub(crate) fn home(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir(&path).expect("a new directory");
    chown(&path, Some(UID), Some(UID)).expect("root may give away");
    path
}

/// Like /tmp; `mode` decides on the sticky bit.
pub(crate) fn shared(dir: &Path, name: &str, mode: u32) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir(&path).expect("a new directory");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root may");
    path
}
