//! Our modules, built against a kernel of the cache.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::{Error, Kernel, Progress};

/// A directory of built modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSet {
    dir: PathBuf,
}

impl ModuleSet {
    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of a module, `modeldisk` say, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<PathBuf> {
        Some(self.dir.join(format!("{name}.ko"))).filter(|path| path.is_file())
    }
}

impl Kernel {
    /// Our modules for this kernel, built if they are not yet: seconds, and milliseconds when they are.
    ///
    /// # Errors
    /// When they do not compile; the compiler's first error is part of the message.
    pub fn modules(&self, _progress: &mut dyn Progress, _stop: &AtomicBool) -> Result<ModuleSet, Error> {
        todo!("merged as a skeleton")
    }
}
