//! Where programs are looked for: in absolute directories of PATH only and, as root, only where
//! only root can put one.
//!
//! The rule:
//! - An empty element of PATH means the current directory, and a relative one leads from there.
//!   Both are ignored, for every user: schedlab is started in directories that belong to others,
//!   such as /tmp.
//! - What schedlab itself calls for ([`find`], [`helper`]) is, as root, taken from those
//!   directories of PATH that root owns and that neither group nor others may write, with every
//!   directory above; then from /usr/sbin and /sbin, which a user's PATH often lacks; and where
//!   PATH has no such directory, from /usr/bin and /bin as well. A fixed list alone would hide the
//!   programs of systems that have them elsewhere, and what an administrator has put into
//!   /usr/local.
//! - A program that the *user* names (`command:run=`, `sched_ext:`) is looked for in PATH as he has
//!   set it, without the elements above ([`path_of_the_user`]): he may run what he likes.
//!
//! A sticky directory that all may write (/tmp) is passed, since no other user can replace in it
//! what root has made; it is not itself a place for programs.

mod start;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

pub use start::{HELPERS, bare, helper, helper_at, itself, pass, python};

/// Where system programs are, apart from PATH.
const SYSTEM: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Those of them that a user's PATH often lacks.
const OF_ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/sbin"];

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The directories in which schedlab's own helpers are looked for, in this order.
pub fn directories() -> Vec<PathBuf> {
    of(env::var_os("PATH").unwrap_or_default().as_os_str(), rustix::process::geteuid().is_root())
}

/// The same as a value of PATH, for the helpers of a helper.
fn path() -> OsString {
    joined(&directories())
}

/// A helper's file.
pub fn find(name: &str) -> Option<PathBuf> {
    found_in(&directories(), name)
}

/// The file of a program that the user names.
pub fn find_for_the_user(name: &str) -> Option<PathBuf> {
    found_in(&env::split_paths(&path_of_the_user()).collect::<Vec<_>>(), name)
}

/// PATH as the user has set it, without the elements that depend on the current directory; never
/// empty.
pub fn path_of_the_user() -> OsString {
    let own: Vec<PathBuf> = absolute(env::var_os("PATH").unwrap_or_default().as_os_str()).collect();
    if own.is_empty() { joined(&SYSTEM.map(PathBuf::from)) } else { joined(&own) }
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

/// Those elements that lead to the same directory from everywhere.
fn absolute(path: &std::ffi::OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).filter(|dir| dir.is_absolute()).collect::<Vec<_>>().into_iter()
}

/// Whether only root can have put a program there: links are resolved first, and what they lead
/// through is looked at as well, since a directory that others may write could be given another
/// link.
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

fn joined(directories: &[PathBuf]) -> OsString {
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
