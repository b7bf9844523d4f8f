//! Starts programs. Only this module calls [`Command::new`] outside of tests (checked by
//! `crates/docs`).
//!
//! Directory and environment can name code: `PYTHONPATH`, `LD_PRELOAD`, `GCC_EXEC_PREFIX`,
//! `APT_CONFIG`, `TAR_OPTIONS`, and for `python3 -c` any module of the working directory. No list
//! is complete, so programs start in `/` with an empty environment, and callers add what is needed.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use super::{SYSTEM, directories, found_in, is_of_root, path};

/// A debug build refuses to start any other, and the test of attacks on helpers covers all.
pub const HELPERS: &[&str] = &[
    "apt-cache",
    "apt-get",
    "blkid",
    "cp",
    "dpkg",
    "dpkg-deb",
    "dpkg-query",
    "duckdb",
    "fio",
    "gcc",
    "getent",
    "git",
    "id",
    "losetup",
    "make",
    "mkfs.btrfs",
    "mkfs.ext4",
    "mkfs.xfs",
    "modprobe",
    "mount",
    "patch",
    "psql",
    "python3",
    "rsvg-convert",
    "sh",
    "systemctl",
    "systemd-run",
    "tar",
    "udevadm",
    "wipefs",
    "xz",
];

/// Passed to root's helpers only if nobody else can write to the directory.
const OWN_DIRECTORIES: [&str; 2] = ["HOME", "TMPDIR"];

/// Variables for another process of this program.
const FOR_ITSELF: [&str; 9] =
    ["HOME", "LANG", "NO_COLOR", "PATH", "SUDO_UID", "TERM", "TMPDIR", "TZ", "XDG_CACHE_HOME"];
const SETTINGS: &str = "SCHEDLAB_";

/// If it is not installed, starting it fails with a missing file.
pub fn helper(name: &str) -> Command {
    helper_at(&found_in(&directories(), name).unwrap_or_else(|| Path::new(SYSTEM[1]).join(name)))
}

/// Starts in `/`, with English messages, and finds its own helpers by the rules of `programs`.
pub fn helper_at(file: &Path) -> Command {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    debug_assert!(HELPERS.contains(&name), "{name} is missing in HELPERS");
    let is_root = rustix::process::geteuid().is_root();
    let mut command = command_with_empty_env(file);
    command.env("PATH", path()).env("LC_ALL", "C");
    for name in OWN_DIRECTORIES {
        if let Some(dir) = env::var_os(name).filter(|dir| !is_root || is_of_root(Path::new(dir))) {
            command.env(name, dir);
        }
    }
    command
}

/// Isolated (`-I`): no modules from the working directory, `PYTHONPATH` or user site. Root skips
/// wrappers (such as pyenv's), which need more of the environment and files.
pub fn python() -> Option<Command> {
    let is_root = rustix::process::geteuid().is_root();
    let mut found =
        directories().into_iter().map(|dir| dir.join("python3")).filter(|file| file.is_file());
    let file = found.find(|file| !(is_root && is_script(file)))?;
    let mut command = helper_at(&file);
    command.arg("-I");
    Some(command)
}

fn is_script(file: &Path) -> bool {
    let mut begin = [0; 2];
    File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"#!"
}

/// The user's program or a guest's kernel, with an empty environment in `/`.
pub fn command_with_empty_env(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/");
    command
}

/// Starts in the same directory, because its arguments may be relative paths.
pub fn self_command(file: &Path) -> Command {
    let mut command = Command::new(file);
    command.env_clear();
    let is_own = |name: &OsStr| {
        name.to_str().is_some_and(|name| FOR_ITSELF.contains(&name) || name.starts_with(SETTINGS))
    };
    command.envs(env::vars_os().filter(|(name, _)| is_own(name)));
    command
}

/// Passes on those of the variables that are set.
pub fn pass_env(command: &mut Command, names: &[&str]) {
    command.envs(names.iter().filter_map(|name| Some((name, env::var_os(name)?))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(command: &Command) -> Vec<String> {
        let set = command.get_envs().filter(|(_, value)| value.is_some());
        set.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_helper_that_is_not_installed_has_an_absolute_path() {
        assert!(HELPERS.is_sorted());
        for name in HELPERS {
            let command = helper(name);
            assert!(Path::new(command.get_program()).is_absolute(), "{name}");
            assert_eq!(command.get_current_dir(), Some(Path::new("/")), "{name}");
            let known =
                |name: &String| ["HOME", "LC_ALL", "PATH", "TMPDIR"].contains(&name.as_str());
            assert!(variables(&command).iter().all(known), "{name}: {:?}", variables(&command));
        }
    }

    #[test]
    #[should_panic(expected = "missing in HELPERS")]
    fn a_helper_that_is_not_listed_is_refused() {
        drop(helper("no-such-program-here"));
    }

    #[test]
    fn a_program_of_the_users_gets_an_empty_environment() {
        let ran = command_with_empty_env("/usr/bin/env").output().expect("it runs");
        assert!(
            ran.status.success() && ran.stdout.is_empty(),
            "{}",
            String::from_utf8_lossy(&ran.stdout)
        );
    }
}
