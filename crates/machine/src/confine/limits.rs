//! Resource limits.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bounds for a process and what it starts. A bound below the given one stays.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a file that it writes.
    pub file_bytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Limits {
    /// Sets the limits of this process; it leaves no core dumps.
    ///
    /// # Errors
    /// If the kernel rejects them.
    pub fn apply(&self) -> io::Result<()> {
        for (resource, most) in [
            (Resource::Core, 0),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.descriptors),
        ] {
            let now = getrlimit(resource);
            let least = |bound: Option<u64>| Some(bound.map_or(most, |bound| bound.min(most)));
            setrlimit(
                resource,
                Rlimit { current: least(now.current), maximum: least(now.maximum) },
            )?;
        }
        Ok(())
    }
}
