//! What a program that is not trusted may do.

use std::path::PathBuf;

use crate::confine::Limits;

/// What the program may do.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// The only directory that it can write to. As root it is given to `user`, with all it holds.
    pub workdir: PathBuf,
    /// Absolute paths that stay visible below directories that others may not enter.
    pub reachable: Vec<PathBuf>,
    /// Like `reachable`; if others may not read them, the program gets a copy.
    pub readable: Vec<PathBuf>,
    /// Bytes of memory that it holds in a file.
    pub memory_bytes: u64,
    /// User and group that it runs as when it is started by root.
    pub user: u32,
    /// Its limits.
    pub limits: Limits,
}
