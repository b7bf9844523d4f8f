//! A built kernel, and its record in the cache.

use std::fs::File;
use std::path::{Path, PathBuf};

use machine::files::Bounded;
use serde::{Deserialize, Serialize};
use text::limits::MANIFEST_BYTES;

use crate::Error;

/// Written last: without it, a directory is not a kernel.
const RECORD: &str = "kernel.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    pub name: String,
    /// In hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name in the cache.
    pub key: String,
    pub linux: PathBuf,
    /// The built tree, for modules.
    pub tree: PathBuf,
    /// `uname -r`.
    pub release: String,
    /// E.g. `debian:6.1`.
    pub source: String,
    /// Of the source package, or a hash of the directory's state.
    pub version: String,
    /// In order of application.
    pub patches: Vec<Patch>,
    /// Whether it has checks for kernel tests.
    pub debug: bool,
    /// Ticks a second of a kernel for CPU experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Whether it can have several CPUs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smp: bool,
    /// Seconds since 1970.
    pub built: u64,
    /// Used disk space.
    pub bytes: u64,
    pub objects: u64,
    /// Sources under which it was requested, e.g. also `debian:newest`.
    pub(crate) asked: Vec<String>,
    /// A hash of configuration, patches and compiler.
    pub(crate) recipe: String,
    /// The unpatched kernel whose modules fit this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) modules_of: Option<String>,
    /// Of `linux`.
    pub(crate) sha256: String,
}

impl Kernel {
    /// Paths are below `dir`, even if the cache was moved.
    pub(crate) fn read(dir: &Path) -> Option<Kernel> {
        let mut kernel =
            Kernel::from_json(&MANIFEST_BYTES.read(File::open(dir.join(RECORD)).ok()?).ok()?)?;
        kernel.tree = dir.join("tree");
        kernel.linux = kernel.tree.join("linux");
        kernel.linux.is_file().then_some(kernel)
    }

    #[must_use]
    pub fn from_json(bytes: &[u8]) -> Option<Kernel> {
        MANIFEST_BYTES.check(bytes.len()).ok()?;
        serde_json::from_slice(bytes).ok()
    }

    /// Replaces the record atomically.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(RECORD);
        let text = serde_json::to_string_pretty(self)
            .expect("a record of plain values can be written as JSON");
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(dir)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|cause| Error::io("write", &path, cause))
    }

    /// Major and minor number of its release.
    #[must_use]
    pub fn linux(&self) -> (u32, u32) {
        linux_of(&self.release)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.tree.parent().expect("the tree lies in the kernel's directory")
    }
}

/// Major and minor number of a release; 0 for what is missing.
#[must_use]
pub fn linux_of(release: &str) -> (u32, u32) {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
