//! The limits of an untrusted program.

use std::path::PathBuf;

use crate::confine::Limits;

/// What an untrusted program may do.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// The only writable directory. Root gives it, with its contents, to `user`.
    pub workdir: PathBuf,
    /// Absolute paths that stay visible below directories closed to other users.
    pub reachable: Vec<PathBuf>,
    /// Like `reachable`; the program gets a copy of files that other users may not read.
    pub readable: Vec<PathBuf>,
    /// Size of the program's memory file.
    pub memory_bytes: u64,
    /// User and group of the program if root starts it.
    pub user: u32,
    pub limits: Limits,
}
