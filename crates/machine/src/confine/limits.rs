//! Resource limits.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits for a process and its children. A lower existing limit stays.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub file_bytes: u64,
    pub descriptors: u64,
}

impl Limits {
    /// Limits this process and disables core dumps.
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
