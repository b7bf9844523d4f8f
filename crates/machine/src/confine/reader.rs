//! A helper that parses other users' files with no privilege but to read them.
//!
//! Root's files can be closed to ordinary users. The helper runs as an unused user and keeps only
//! the capability to read any file, restricted by Landlock; without Landlock, it does not keep it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::confine::{Landlock, Limits, Result, Seal, privileges, sys};

/// `nobody` and `nogroup`, and the kernel's overflow id.
const NOBODY: u32 = 65_534;
const LIMITS: Limits = Limits { file_bytes: 0, descriptors: 1024 };
/// Programs, libraries and descriptions of the machine. Other processes' private parts of /proc
/// stay closed.
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

/// As root, another user; reads only system programs and given paths; no writes, no sockets.
#[derive(Debug, Clone)]
pub struct Reader {
    seal: Seal,
    keeps_reading: bool,
}

impl Reader {
    /// Missing `paths` are skipped.
    pub fn new(program: &Path, paths: &[&Path]) -> Result<Reader> {
        let named =
            SYSTEM.iter().map(Path::new).chain(paths.iter().copied()).map(Path::to_path_buf);
        let all: Vec<PathBuf> =
            named.chain(places_of(program)).filter(|path| path.exists()).collect();
        let landlock = Landlock::read_only(&all)?;
        let keeps_reading = landlock.holds();
        Ok(Reader { seal: Seal::new(landlock, LIMITS)?, keeps_reading })
    }

    /// Applies to the process that `command` will start.
    pub fn apply_to(&self, command: &mut Command) {
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

/// Its directory, libraries, and the parts of a Python virtual environment, unless in system
/// directories.
fn places_of(program: &Path) -> impl Iterator<Item = PathBuf> {
    let whole = std::fs::canonicalize(program).unwrap_or_default();
    let dirs = [program, &whole].map(|file| file.parent().map(Path::to_path_buf));
    let parts =
        |dir: PathBuf| ["", "../lib", "../lib64", "../pyvenv.cfg"].map(|part| dir.join(part));
    dirs.into_iter().flatten().filter(|dir| dir.is_absolute()).flat_map(parts)
}
