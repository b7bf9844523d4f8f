//! Finds programs: in absolute directories of PATH and, as root, only where only root can put one.
//!
//! As root, schedlab's helpers ([`find`], [`helper`]) come from directories of PATH that, with
//! every parent, root owns and neither group nor others may write (sticky parents excepted); then
//! from /usr/sbin and /sbin; and if PATH has no such directory, from /usr/bin and /bin. A fixed
//! list would miss /usr/local and other systems' directories. Programs that the *user* names
//! (`command:run=`, `sched_ext:`) may be in any absolute directory of PATH ([`path_of_the_user`]).

mod start;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

pub use start::{
    HELPERS, command_with_empty_env, helper, helper_at, pass_env, python, self_command,
};

const SYSTEM: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Often missing from a user's PATH.
const OF_ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/sbin"];

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The search path for schedlab's own helpers.
pub fn directories() -> Vec<PathBuf> {
    of(env::var_os("PATH").unwrap_or_default().as_os_str(), rustix::process::geteuid().is_root())
}

/// PATH for helpers of a helper.
fn path() -> OsString {
    join_paths(&directories())
}

pub fn find(name: &str) -> Option<PathBuf> {
    found_in(&directories(), name)
}

/// Finds a program that the user names.
pub fn find_for_the_user(name: &str) -> Option<PathBuf> {
    found_in(&env::split_paths(&path_of_the_user()).collect::<Vec<_>>(), name)
}

/// PATH without elements that depend on the current directory; never empty.
pub fn path_of_the_user() -> OsString {
    let own: Vec<PathBuf> = absolute(env::var_os("PATH").unwrap_or_default().as_os_str()).collect();
    if own.is_empty() { join_paths(&SYSTEM.map(PathBuf::from)) } else { join_paths(&own) }
}

fn of(path: &std::ffi::OsStr, is_root: bool) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = absolute(path).filter(|dir| !is_root || is_of_root(dir)).collect();
    let system: &[&str] = if all.is_empty() { &SYSTEM } else { &OF_ADMINISTRATORS };
    for dir in system.iter().map(PathBuf::from) {
        if !all.contains(&dir) {
            all.push(dir);
        }
    }
    all
}

fn absolute(path: &std::ffi::OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).filter(|dir| dir.is_absolute()).collect::<Vec<_>>().into_iter()
}

/// Links are resolved, and the directories that they lead through are checked too.
fn is_of_root(dir: &Path) -> bool {
    let Ok(real) = fs::canonicalize(dir) else { return false };
    let named_safely =
        dir.components().all(|part| !matches!(part, Component::ParentDir)) && chain_is_safe(dir);
    named_safely
        && chain_is_safe(&real)
        && fs::metadata(&real).is_ok_and(|meta| meta.mode() & WRITABLE_BY_OTHERS == 0)
}

fn chain_is_safe(dir: &Path) -> bool {
    dir.ancestors().all(|part| {
        fs::symlink_metadata(part).is_ok_and(|meta| {
            let closed = meta.is_symlink()
                || meta.mode() & WRITABLE_BY_OTHERS == 0
                || meta.mode() & STICKY != 0;
            meta.uid() == 0 && closed
        })
    })
}

fn found_in(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    let is_plain = Path::new(name).components().count() == 1;
    directories.iter().map(|dir| dir.join(name)).find(|file| is_plain && file.is_file())
}

fn join_paths(directories: &[PathBuf]) -> OsString {
    env::join_paths(directories).expect("elements of a PATH have no colon")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn named(path: &str, is_root: bool) -> Vec<PathBuf> {
        of(path.as_ref(), is_root)
    }

    #[test]
    fn elements_that_depend_on_the_current_directory_are_ignored_for_every_user() {
        for path in ["", ":", ":bin:./sbin:..:", "bin"] {
            for is_root in [true, false] {
                assert_eq!(named(path, is_root), SYSTEM.map(PathBuf::from), "{path:?}");
            }
        }
        assert_eq!(named(":/opt/x:", false), ["/opt/x", "/usr/sbin", "/sbin"].map(PathBuf::from));
    }

    #[test]
    fn root_takes_programs_only_from_directories_of_its_own() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
        let of_mode = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            fs::create_dir(&path).expect("new");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own");
            path
        };
        let (closed, open, group, sticky) = (
            of_mode("closed", 0o755),
            of_mode("open", 0o777),
            of_mode("group", 0o775),
            of_mode("sticky", 0o1777),
        );
        symlink(&closed, open.join("link")).expect("new");
        let own = fs::metadata(dir.path()).expect("there").uid() == 0;
        assert_eq!(is_of_root(&closed), own);
        for unsafe_dir in [open.clone(), group, sticky, open.join("link"), open.join("../closed")] {
            assert!(!is_of_root(&unsafe_dir), "{}", unsafe_dir.display());
        }
    }

    #[test]
    fn a_path_is_no_name_of_a_program() {
        assert_eq!(find("../bin/sh"), None);
        assert!(find("sh").is_some_and(|sh| sh.is_absolute()));
    }
}
