//! What can go wrong with a kernel, in words that name the file and the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel or a module could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("{}: cannot {action}: {cause}{}", path.display(), hint(cause))]
    Io {
        /// What was attempted: `read`, `write`, `create` …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer; part of the message, hence no `source`, which would print it twice.
        cause: io::Error,
    },
    /// A command could not be run.
    #[error("{name}: cannot run: {cause}")]
    Command {
        /// The command.
        name: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// A command went on for too long and was ended.
    #[error("{name}: ended by schedlab after {seconds} s")]
    Slow {
        /// The command.
        name: String,
        /// Real time.
        seconds: u64,
    },
    /// What the user wrote as a source is none.
    #[error(
        "{word:?}: not a kernel source; expected debian:6.1, debian:6.12, debian:newest, or the directory of a kernel tree"
    )]
    Source {
        /// The word.
        word: String,
    },
    /// A directory is no kernel tree.
    #[error("{}: not a kernel tree that User-mode Linux can be built from (no {missing}); name another directory with --source", dir.display())]
    NoTree {
        /// The directory.
        dir: PathBuf,
        /// What is not there.
        missing: &'static str,
    },
    /// This is not the machine for it.
    #[error("kernel arena: User-mode Linux does not run here (found {arch}, expected x86-64); take the simulator")]
    Machine {
        /// The CPU's architecture.
        arch: &'static str,
    },
    /// Commands are missing.
    #[error("kernel build: tools are missing; on Debian: apt-get install {}", packages.join(" "))]
    Tools {
        /// Debian's packages.
        packages: Vec<&'static str>,
    },
    /// No suite has the package.
    #[error(
        "package {package}: in no suite of Debian; take debian:6.1 or debian:newest, or name a directory with --source"
    )]
    NoPackage {
        /// The package.
        package: String,
    },
    /// There is no apt here.
    #[error(
        "package {package}: cannot be fetched without apt; unpack a kernel's source yourself and name its directory with --source"
    )]
    NoApt {
        /// The package.
        package: String,
    },
    /// apt's configuration names no mirror to look for newer suites.
    #[error("newer suites: no entry in /etc/apt is for this system's release; name a directory with --source instead")]
    NoMirror,
    /// apt could not fetch something.
    #[error(
        "package {package}: cannot be fetched: {said}; without a network, install the package or name a directory with --source"
    )]
    Fetch {
        /// What was to be fetched.
        package: String,
        /// What apt complained about.
        said: String,
    },
    /// An archive cannot be read.
    #[error("{}: damaged; remove it and repeat", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
    },
    /// There is not enough room.
    #[error(
        "{}: not enough space (found {} MB, expected {} MB); free some space (schedlab kernel clean), or name a cache on another disk with \
         --cache-dir", dir.display(), free >> 20, needed >> 20
    )]
    Space {
        /// The cache.
        dir: PathBuf,
        /// Bytes.
        free: u64,
        /// Bytes.
        needed: u64,
    },
    /// A patch does not apply.
    #[error("{}: does not apply: {why}", patch.display())]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// File, hunk and line.
        why: String,
    },
    /// The kernel's configuration did not take what was asked for.
    #[error("kernel configuration: {} cannot be set, and the arena needs it; take another kernel", refused.join(", "))]
    Config {
        /// The options.
        refused: Vec<String>,
    },
    /// Something does not compile.
    #[error("kernel build: failed; the whole log is {}:\n{message}", log.display())]
    Compile {
        /// The first error, with the lines that the compiler shows.
        message: String,
        /// Everything that was said.
        log: PathBuf,
    },
    /// A kernel does not come up.
    #[error("{}: built, but does not boot: {why}", linux.display())]
    Boot {
        /// The kernel.
        linux: PathBuf,
        /// What was seen.
        why: String,
    },
    /// A key names no kernel of the cache.
    #[error("kernel {key:?}: not in the cache; schedlab kernel list shows what is")]
    NoKernel {
        /// The key.
        key: String,
    },
    /// Another schedlab builds this kernel now.
    #[error("kernel {key}: being built by another schedlab; wait for it or stop it")]
    Busy {
        /// The key.
        key: String,
    },
    /// A signal asked to end; nothing half built is left.
    #[error("kernel build: interrupted; nothing half built is left in the cache")]
    Interrupted,
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), cause }
    }
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
