//! A helper that parses other users' files and needs no privilege except to read them.
//!
//! Root's files can be closed to others, so an ordinary user could often read nothing. The helper
//! runs as an unused user and keeps only the capability to read any file, within the paths that
//! Landlock leaves readable. Without Landlock it does not keep the capability.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::confine::{Landlock, Limits, Result, Seal, privileges, sys};

/// `nobody` and `nogroup` of most distributions, and the kernel's number for an unknown user.
const NOBODY: u32 = 65_534;
/// It writes no files.
const LIMITS: Limits = Limits { file_bytes: 0, descriptors: 1024 };
/// Programs, their libraries and descriptions of the machine. In /proc this user sees only the
/// public part of other processes.
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

/// A prepared restriction: another user if started by root, read access to system programs and the
/// given paths, no writes, no sockets.
#[derive(Debug, Clone)]
pub struct Reader {
    seal: Seal,
    keeps_reading: bool,
}

impl Reader {
    /// For a program that reads `paths`; missing ones are skipped.
    ///
    /// # Errors
    /// Also if no list of system calls exists for this architecture.
    pub fn new(program: &Path, paths: &[&Path]) -> Result<Reader> {
        let named =
            SYSTEM.iter().map(Path::new).chain(paths.iter().copied()).map(Path::to_path_buf);
        let all: Vec<PathBuf> =
            named.chain(places_of(program)).filter(|path| path.exists()).collect();
        let landlock = Landlock::read_only(&all)?;
        let keeps_reading = landlock.holds();
        Ok(Reader { seal: Seal::new(landlock, LIMITS)?, keeps_reading })
    }

    /// Restricts the process that `command` will start, not this one.
    pub fn on(&self, command: &mut Command) {
        let reader = self.clone();
        sys::before_exec(command, move || reader.apply());
    }

    /// Does not allocate.
    fn apply(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            privileges::become_reader(NOBODY, self.keeps_reading)?;
        }
        self.seal.apply_to_reader()
    }
}

/// Paths that a program outside the system directories reads: its own, its libraries, and the parts
/// of a Python virtual environment.
fn places_of(program: &Path) -> impl Iterator<Item = PathBuf> {
    let whole = std::fs::canonicalize(program).unwrap_or_default();
    let dirs = [program, &whole].map(|file| file.parent().map(Path::to_path_buf));
    let parts =
        |dir: PathBuf| ["", "../lib", "../lib64", "../pyvenv.cfg"].map(|part| dir.join(part));
    dirs.into_iter().flatten().filter(|dir| dir.is_absolute()).flat_map(parts)
}
