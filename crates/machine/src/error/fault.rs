//! Failures of an experiment's programs and file system, each with a remedy.

use std::path::PathBuf;

use text::format_bytes;

use crate::names::list;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("{}: cannot start: {why}", program.display())]
    NotStarted { program: PathBuf, why: String },
    #[error("{what}: {why}")]
    Placement {
        /// E.g. `isolate=0`.
        what: String,
        why: String,
    },
    #[error("{user:?}: no such user; install the package that creates it, or see `getent passwd`")]
    NoUser { user: String },
    #[error("{user:?}: programs cannot run as root here; name another user, e.g. --as nobody")]
    RootAgain { user: String },
    #[error(
        "{what}: needs {}, which this process does not have; run as root, or grant it to the container or unit (CapabilityBoundingSet=)",
        list(missing)
    )]
    Capability { what: String, missing: Vec<String> },
    #[error("{what}: cannot be set: {why}")]
    Share {
        /// As written, e.g. `io_max wbps=10M`.
        what: String,
        why: String,
    },
    #[error("{kind}: unsupported file system, expected one of {}", list(known))]
    UnknownFileSystem { kind: String, known: Vec<String> },
    #[error(
        "{kind}: not supported by this kernel ({release}), and nothing was written; choose another file system, or install the kernel's modules (try `modprobe {kind}`)"
    )]
    NotInKernel { kind: String, release: String },
    #[error("{device}: too small for {kind} (found {}, expected {}); use a larger device or ext4", format_bytes(*has_bytes), format_bytes(*needs_bytes))]
    TooSmall { device: String, kind: String, has_bytes: u64, needs_bytes: u64 },
    #[error("{program}: the option {option:?} is not allowed: {why}")]
    Option {
        /// `mkfs` or `mount`.
        program: String,
        option: String,
        why: String,
    },
    #[error("{}: mount succeeded, but {kind} of {device} is not mounted: {found}; check the mount options", at.display())]
    NotMounted { at: PathBuf, kind: String, device: String, found: String },
    #[error(
        "{}: cannot unmount: in use by {}; stop it, then `schedlab restore`", at.display(), list(users)
    )]
    StillUsed { at: PathBuf, users: Vec<String> },
    #[error(
        "{}: still running {seconds} s after being killed, waiting for a device; see `dmesg`, then `schedlab restore`",
        list(programs)
    )]
    StillRunning { seconds: u64, programs: Vec<String> },
    #[error("{device}: the file system made on it remains: {why}; then `schedlab restore`")]
    NotWiped { device: String, why: String },
}
