//! Exclusive ownership of an entry's key: a file beside the entry that its owner keeps locked (`flock`).
//!
//! The kernel lets go of the lock when the owner dies, however it dies, so "is the owner still alive?" needs no guess about process ids. The
//! lock file of a device is never deleted, since deleting one that another process is about to lock would give two owners; that of a key
//! which is used once goes with its entry. A process that locks a file which is no longer the one of that name takes the lock anew.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use files::Dir;
use rustix::fs::{FlockOperation, flock};

use crate::error::Error;
use crate::root::Root;

/// In the state directory, which no other user can enter: a process that can open a lock file can hold its lock.
pub(super) const DIR: &str = "lock";

/// How long a lock can outlive its owner: a process killed while it starts another leaves its locks to that one until it has
/// become the program that it is to be.
pub const INHERITED: Duration = Duration::from_secs(2);

/// Exclusive ownership of an entry's name, for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    dir: Dir,
    name: String,
}

impl Lock {
    /// Takes the lock of `key`, or says who has it; `what` is its name for the user.
    pub fn take(root: &Root, key: &str, what: &str) -> Result<Lock, Error> {
        let dir = root.state_dir()?.subdir(DIR)?;
        let name = format!("{key}.lock");
        let path = dir.file(&name);
        let mut file = loop {
            let mut file = dir.append(&name)?;
            if !try_flock(&file, &path)? {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let owner: Option<u32> = text.trim().parse().ok();
                let is_dead = owner.is_some_and(|pid| !root.proc(pid.to_string()).exists());
                if !is_dead || !flock_within(&file, &path, INHERITED)? {
                    // A dead process holds nothing: who does is not known.
                    let pid_of_other = owner.filter(|_| !is_dead);
                    return Err(Error::Busy { device: what.to_string(), pid_of_other });
                }
            }
            // Its last owner may have deleted it between our opening and our locking.
            if dir.is(&name, &file) {
                break file;
            }
        };
        // For the message of the next one who comes; not worth failing for.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Lock { _file: file, dir, name })
    }

    /// Deletes the lock file of a key that is used once; for the end of its entry, under the lock. An empty file that stays does no
    /// harm, so nothing fails for it.
    pub fn retire(&self) {
        let _ = self.dir.remove(&self.name);
    }
}

/// The keys of all lock files.
pub(super) fn keys(root: &Root) -> Vec<String> {
    let dir = root.state_dir_if_there().ok().flatten().and_then(|state| state.subdir_if_there(DIR).ok().flatten());
    let names = dir.and_then(|dir| dir.names().ok()).unwrap_or_default();
    names.iter().filter_map(|name| name.strip_suffix(".lock")).map(str::to_string).collect()
}

/// Locks what every schedlab on the machine shares, whatever its state directory; `name` is the device's or that of the CPUs. A directory of
/// /sys would do for that as well, but every user can open those, and hold the lock.
///
/// # Errors
/// [`Error::Busy`] when another schedlab has it after `patience`; the errors of making the directory as root.
pub fn lock_machine(root: &Root, name: &str, what: &str, patience: Duration) -> Result<Option<File>, Error> {
    let name = format!("{name}.lock");
    let opened = Dir::private(root.path("/run/schedlab")).and_then(|dir| Ok((dir.append(&name)?, dir.file(&name))));
    let (file, path) = match opened {
        Ok(opened) => opened,
        // Without /run for itself this process changes nothing of the machine, or is alone on it.
        Err(files::Error::Io { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match flock_within(&file, &path, patience)? {
        true => Ok(Some(file)),
        false => Err(Error::Busy { device: what.to_string(), pid_of_other: None }),
    }
}

/// Locks an open file or directory exclusively; false if someone else has it.
fn try_flock(file: &File, path: &Path) -> Result<bool, Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(Error::io("lock", path)(errno.into())),
    }
}

/// The same, and who has it now is given `patience` to let go.
fn flock_within(file: &File, path: &Path, patience: Duration) -> Result<bool, Error> {
    let began = Instant::now();
    while !try_flock(file, path)? {
        if began.elapsed() >= patience {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(true)
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
        assert!(matches!(busy, Error::Busy { pid_of_other: Some(pid), .. } if pid == std::process::id()), "{busy}");
        drop(lock);
        Lock::take(&root, "k", "/dev/x").expect("free again");
    }

    #[test]
    fn a_lock_that_a_dead_owners_child_still_has_for_a_moment_is_waited_for() {
        let (_dir, root) = machine();
        let lock = Lock::take(&root, "k", "/dev/x").expect("free");
        let dead = u32::MAX;
        fs::write(root.state("lock").join("k.lock"), dead.to_string()).expect("writable");
        let child = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(lock);
        });
        Lock::take(&root, "k", "/dev/x").expect("free as soon as the child has become another program");
        child.join().expect("it ends");
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
