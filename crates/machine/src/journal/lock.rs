//! Ownership of an entry's key: a file locked by its owner ([`OwnLock`]).
//!
//! The lock ends with the owner, without guesses about process ids. A device's lock file is never
//! deleted, because another process about to lock it would be a second owner. A single-use key's
//! lock file is deleted with its entry; a process that locked a deleted file retries.

use crate::files::{Attempt, Dir, OwnLock};

use crate::error::Error;
use crate::root::Root;

/// Anyone who can open a lock file can hold its lock, so the state directory is closed to others.
pub(super) const DIR: &str = "lock";

#[derive(Debug)]
pub struct Lock {
    _file: OwnLock,
    dir: Dir,
    name: String,
}

impl Lock {
    /// Fails naming the owner; `what` is the user's name for the key.
    pub fn take(root: &Root, key: &str, what: &str) -> Result<Lock, Error> {
        let dir = root.state_dir()?.subdir(DIR)?;
        let name = format!("{key}.lock");
        loop {
            let file = owned(dir.lock(&name)?, what)?;
            // The last owner may have deleted it between open and lock.
            if dir.is_locked(&name, &file) {
                return Ok(Lock { _file: file, dir, name });
            }
        }
    }

    /// Deletes a single-use key's lock file, at the end of its entry and under the lock. A
    /// remaining empty file is harmless.
    pub fn retire(&self) {
        let _ = self.dir.remove(&self.name);
    }
}

fn owned(attempt: Attempt, what: &str) -> Result<OwnLock, Error> {
    match attempt {
        Attempt::Locked(file) => Ok(file),
        Attempt::Taken { pid } => Err(Error::Busy { device: what.to_string(), pid_of_other: pid }),
    }
}

pub(super) fn keys(root: &Root) -> Vec<String> {
    let dir = root
        .state_dir_if_exists()
        .ok()
        .flatten()
        .and_then(|state| state.subdir_if_exists(DIR).ok().flatten());
    let names = dir.and_then(|dir| dir.names().ok()).unwrap_or_default();
    names.iter().filter_map(|name| name.strip_suffix(".lock")).map(str::to_string).collect()
}

/// A lock independent of the state directory; `name` is that of the device or of the CPUs. Any user
/// could open and lock a directory in /sys.
///
/// # Errors
/// [`Error::Busy`] if another schedlab has it; failures to create the directory as root.
pub fn lock_machine(root: &Root, name: &str, what: &str) -> Result<Option<OwnLock>, Error> {
    let attempt =
        Dir::private(root.path("/run/schedlab")).and_then(|dir| dir.lock(&format!("{name}.lock")));
    match attempt.map(|attempt| owned(attempt, what)) {
        Ok(file) => file.map(Some),
        // Without /run, this process changes nothing on the machine, or is alone on it.
        Err(crate::files::Error::Io { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The schedlab process that changes the settings of this device.
pub fn owner_on_machine(root: &Root, name: &str) -> Option<u32> {
    Dir::private(root.path("/run/schedlab")).ok()?.lock_owner(&format!("{name}.lock"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_lock_has_one_owner_and_names_it() {
        let (_dir, root) = machine();
        let lock = Lock::take(&root, "k", "/dev/x").expect("free");
        let busy = Lock::take(&root, "k", "/dev/x").unwrap_err();
        assert!(
            matches!(busy, Error::Busy { pid_of_other: Some(pid), .. } if pid == std::process::id()),
            "{busy}"
        );
        drop(lock);
        Lock::take(&root, "k", "/dev/x").expect("free again");
    }

    pub(in crate::journal) fn machine() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc(std::process::id().to_string())).expect("fake proc");
        fs::create_dir_all(root.proc("sys/kernel/random")).expect("fake proc");
        fs::write(root.proc("sys/kernel/random/boot_id"), "boot-1\n").expect("fake boot id");
        (dir, root)
    }
}
