//! A helper that reads what others wrote, and needs nothing of root but to read it.
//!
//! Root's files can be closed to others, so another user alone would often read nothing. The helper
//! runs as a user that nobody is and keeps one capability, to read whatever the permissions are,
//! within what Landlock leaves readable. Without Landlock it does not keep it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::confine::{Landlock, Limits, Result, Seal, privileges, sys};

/// `nobody` and `nogroup` of most distributions, and the kernel's own number for a user that it
/// does not know.
const NOBODY: u32 = 65_534;
/// It writes no file.
const LIMITS: Limits = Limits { file_bytes: 0, descriptors: 1024 };
/// Programs, what they are linked with, and what describes the machine. Of other processes /proc
/// shows this user what it shows all.
const SYSTEM: [&str; 13] = [
    "/bin",
    "/dev/urandom",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/usr",
];

/// A prepared restriction: as root another user, who reads the system's programs and the named
/// paths; no writes, no sockets.
#[derive(Debug, Clone)]
pub struct Reader {
    seal: Seal,
    keeps_reading: bool,
}

impl Reader {
    /// For a program that reads `paths`, as far as they exist.
    ///
    /// # Errors
    /// If one of them cannot be opened, or the list of system calls does not exist for this
    /// machine.
    pub fn new(program: &Path, paths: &[&Path]) -> Result<Reader> {
        let named =
            SYSTEM.iter().map(Path::new).chain(paths.iter().copied()).map(Path::to_path_buf);
        let all: Vec<PathBuf> =
            named.chain(places_of(program)).filter(|path| path.exists()).collect();
        let landlock = Landlock::read_only(&all)?;
        let keeps_reading = landlock.holds();
        Ok(Reader { seal: Seal::new(landlock, LIMITS)?, keeps_reading })
    }

    /// Restricts the process that `command` will start, and not this one.
    pub fn on(&self, command: &mut Command) {
        let reader = self.clone();
        sys::before_exec(command, move || reader.apply());
    }

    /// Allocates nothing.
    fn apply(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            privileges::become_reader(NOBODY, self.keeps_reading)?;
        }
        self.seal.apply_to_reader()
    }
}

/// What a program that is not the system's reads: where it is, its libraries, and what makes a
/// virtual environment of Python's.
fn places_of(program: &Path) -> impl Iterator<Item = PathBuf> {
    let whole = std::fs::canonicalize(program).unwrap_or_default();
    let dirs = [program, &whole].map(|file| file.parent().map(Path::to_path_buf));
    let parts =
        |dir: PathBuf| ["", "../lib", "../lib64", "../pyvenv.cfg"].map(|part| dir.join(part));
    dirs.into_iter().flatten().filter(|dir| dir.is_absolute()).flat_map(parts)
}
