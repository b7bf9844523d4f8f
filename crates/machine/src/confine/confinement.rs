//! The limits of an untrusted program.

use std::path::PathBuf;

use crate::confine::Limits;

#[derive(Debug, Clone)]
pub struct Confinement {
    /// The only writable directory; root gives it to `user`.
    pub workdir: PathBuf,
    /// Absolute paths that stay visible below closed directories.
    pub reachable: Vec<PathBuf>,
    /// Like `reachable`; files that others may not read are copied.
    pub readable: Vec<PathBuf>,
    pub memory_bytes: u64,
    /// Applies if root starts the program.
    pub user: u32,
    pub limits: Limits,
}
