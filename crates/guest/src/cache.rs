//! The cache of built kernels.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::{Error, Progress, Source};

/// Which kernel is wanted.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Where its source comes from.
    pub source: Source,
    /// Patches for it, in the order in which they are applied (`patch -p1`).
    pub patches: Vec<PathBuf>,
    /// With the checks for kernel tests: KASAN, lockdep, sleep-in-atomic and more. Slower by a factor of several.
    pub debug: bool,
}

/// A patch that a kernel was built with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// Its file name.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// A built kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name in the cache.
    pub key: String,
    /// The program to run.
    pub linux: PathBuf,
    /// The built tree, for modules.
    pub tree: PathBuf,
    /// What `uname -r` says in it.
    pub release: String,
    /// The word it was asked for by, e.g. `debian:6.1`.
    pub source: String,
    /// Version of the source package, or the state of the directory.
    pub version: String,
    /// Its patches, in order.
    pub patches: Vec<Patch>,
    /// Whether it has the checks for kernel tests.
    pub debug: bool,
    /// When it was built, in seconds since 1970.
    pub built: u64,
}

/// The directory of built kernels. Many processes may use one at the same time.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Where the cache is if nobody says otherwise: `$SCHEDLAB_CACHE_DIR`, `$XDG_CACHE_HOME/schedlab`, `~/.cache/schedlab`, whichever
    /// is set first.
    #[must_use]
    pub fn default_dir() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("SCHEDLAB_CACHE_DIR")
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("schedlab")))
            .or_else(|| set("HOME").map(|dir| dir.join(".cache/schedlab")))
    }

    /// Opens the cache in `dir`, which need not exist yet.
    ///
    /// # Errors
    /// When the directory can neither be made nor used.
    pub fn open(dir: &Path) -> Result<Cache, Error> {
        Ok(Cache { dir: dir.to_owned() })
    }

    /// The kernel that was asked for, if it is built already. Takes a few milliseconds.
    ///
    /// # Errors
    /// When a patch or the cache cannot be read.
    pub fn find(&self, _request: &Request) -> Result<Option<Kernel>, Error> {
        let _ = &self.dir;
        todo!("merged as a skeleton")
    }

    /// Finds or builds a kernel: minutes the first time. Setting `stop` ends it within a second with [`Error::Interrupted`].
    ///
    /// # Errors
    /// When source, tools, space or network are missing, a patch does not apply, or something does not compile.
    pub fn build(&self, _request: &Request, _progress: &mut dyn Progress, _stop: &AtomicBool) -> Result<Kernel, Error> {
        todo!("merged as a skeleton")
    }

    /// Every built kernel, newest first.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn list(&self) -> Result<Vec<Kernel>, Error> {
        todo!("merged as a skeleton")
    }
}
