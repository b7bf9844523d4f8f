//! Errors of building and finding kernels, with file and remedy.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::{NEWEST_KNOWN, OLDEST, OLDEST_WITH_CPUS};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot {action}: {cause}{}", path.display(), hint(cause))]
    Io {
        /// `read`, `write`, `create` …
        action: &'static str,
        path: PathBuf,
        /// Part of the message; as a `source` it would be printed twice.
        cause: io::Error,
    },
    /// Another user controls the cache.
    #[error("kernel cache: {cause}; --cache-dir or SCHEDLAB_CACHE_DIR names it")]
    Untrusted { cause: machine::files::Error },
    #[error("{name}: cannot run: {cause}")]
    Command { name: String, cause: io::Error },
    /// A command was ended at its timeout.
    #[error("{name}: ended by schedlab after {seconds} s")]
    Slow {
        name: String,
        /// Real time.
        seconds: u64,
    },
    #[error(
        "{word:?}: not a kernel source; expected debian:7.3, debian:6.12, debian:newest, or the directory of a kernel tree"
    )]
    Source { word: String },
    #[error("{}: not a kernel tree that User-mode Linux can be built from (no {missing}); name another directory with --source", dir.display())]
    NoTree { dir: PathBuf, missing: &'static str },
    #[error("{what}: Linux {} is too old (expected {} or later); take another source", dotted(found), dotted(&OLDEST))]
    Old { what: String, found: (u32, u32) },
    #[error("{what}: Linux {} has one CPU in a guest (several need {} or later); take debian:7.3, or cpus=1", dotted(found), dotted(&OLDEST_WITH_CPUS))]
    OneCpu { what: String, found: (u32, u32) },
    #[error(
        "kernel arena: User-mode Linux does not run here (found {arch}, expected x86-64); take the simulator"
    )]
    Machine { arch: &'static str },
    #[error("kernel build: tools are missing; on Debian: apt-get install {}", packages.join(" "))]
    Tools {
        /// Debian's packages.
        packages: Vec<&'static str>,
    },
    #[error(
        "package {package}: in no suite of Debian; take debian:7.3 or debian:newest, or name a directory with --source"
    )]
    NoPackage { package: String },
    #[error(
        "package {package}: cannot be fetched without apt; unpack a kernel's source yourself and name its directory with --source"
    )]
    NoApt { package: String },
    /// apt's configuration has no mirror for newer suites.
    #[error(
        "newer suites: no entry in /etc/apt is for this system's release; name a directory with --source instead"
    )]
    NoMirror,
    #[error(
        "package {package}: cannot be fetched: {said}; without a network, install the package or name a directory with --source"
    )]
    Fetch { package: String, said: String },
    /// Not the file that was built.
    #[error("{}: changed since it was built; remove the kernel (schedlab kernel clean KEY) and build it again", path.display())]
    Changed { path: PathBuf },
    /// The archive is not its package's.
    #[error("{}: {why}; apt-get install --reinstall {package}, or name a directory of sources", path.display())]
    ForeignArchive { path: PathBuf, why: String, package: String },
    #[error("{}: damaged; remove it and repeat", path.display())]
    Archive { path: PathBuf },
    #[error(
        "{}: not enough space (found {} MB, expected {} MB); free some space (schedlab kernel clean), or name a cache on another disk with \
         --cache-dir", dir.display(), free >> 20, needed >> 20
    )]
    Space {
        dir: PathBuf,
        /// In bytes.
        free: u64,
        /// In bytes.
        needed: u64,
    },
    #[error("{}: does not apply: {why}", patch.display())]
    Patch {
        patch: PathBuf,
        /// File, hunk and line.
        why: String,
    },
    /// Not accepted by the kernel's configuration.
    #[error("kernel configuration: {} cannot be set, and the arena needs it; take another kernel", refused.join(", "))]
    Config { refused: Vec<String> },
    #[error("{}: not the code that schedlab knows, so the scheduler's clock cannot be made exact; take debian:6.1 to debian:7.3, or a tree near them", file.display())]
    Clock { file: PathBuf },
    #[error("kernel build: failed; the whole log is {}:\n{message}", log.display())]
    Compile {
        /// The first error with the compiler's excerpt.
        message: String,
        log: PathBuf,
    },
    /// schedlab's modules do not compile for a kernel.
    #[error(
        "modules: do not compile for Linux {release}{}; Linux {} to {} is known to work; the whole log is {}:\n{message}",
        symbol.as_ref().map_or_else(String::new, |name| format!(", which has no {name}")),
        dotted(&OLDEST), dotted(&NEWEST_KNOWN), log.display()
    )]
    Modules {
        release: String,
        /// The first name that the kernel does not have.
        symbol: Option<String>,
        /// The first error with the compiler's excerpt.
        message: String,
        log: PathBuf,
    },
    #[error("{}: built, but does not boot: {why}", linux.display())]
    Boot { linux: PathBuf, why: String },
    #[error("kernel {key:?}: not in the cache; schedlab kernel list shows what is")]
    NoKernel { key: String },
    #[error("kernel {key}: being built by another schedlab; wait for it or stop it")]
    Busy { key: String },
    /// Nothing is left of the build.
    #[error("kernel build: interrupted; nothing half built is left in the cache")]
    Interrupted,
}

/// System errors are shown like all errors of the cache.
impl From<machine::files::Error> for Error {
    fn from(error: machine::files::Error) -> Error {
        match error {
            machine::files::Error::Io { action, path, cause } => Error::Io { action, path, cause },
            cause => Error::Untrusted { cause },
        }
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), cause }
    }
}

fn dotted((major, minor): &(u32, u32)) -> String {
    format!("{major}.{minor}")
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; name a directory of your own with --cache-dir or SCHEDLAB_CACHE_DIR"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space (schedlab kernel clean), or name a cache on another disk with --cache-dir"
        }
        _ => "",
    }
}
