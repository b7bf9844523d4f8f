//! Failures of an experiment's programs and file system, each with a remedy.

use std::path::PathBuf;

use text::format_bytes;

use crate::names::list;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("{}: it cannot be started: {why}", program.display())]
    NotStarted { program: PathBuf, why: String },
    #[error("{what}: {why}")]
    Placement {
        /// E.g. `isolate=0`.
        what: String,
        why: String,
    },
    #[error(
        "{user:?}: no such user to run a program as; install the package that makes it, or see `getent passwd`"
    )]
    NoUser { user: String },
    #[error(
        "{user:?}: this user is root, whose rights programs are to be without; name another, e.g. --as nobody"
    )]
    RootAgain { user: String },
    #[error(
        "{what}: needs {}, which this process does not have; run as root, or add it to what the container or unit (CapabilityBoundingSet=) grants",
        list(missing)
    )]
    Capability { what: String, missing: Vec<String> },
    #[error("{what}: it cannot be given: {why}")]
    Share {
        /// As written, e.g. `io_max wbps=10M`.
        what: String,
        why: String,
    },
    #[error("{kind}: no such file system for experiments, expected one of {}", list(known))]
    UnknownFileSystem { kind: String, known: Vec<String> },
    #[error(
        "{kind}: this kernel ({release}) has no such file system, and nothing was written; choose another one, or install the kernel's modules (try `modprobe {kind}`)"
    )]
    NotInKernel { kind: String, release: String },
    #[error("{device}: too small for {kind} (found {}, expected {}); take a larger device, or ext4", format_bytes(*has_bytes), format_bytes(*needs_bytes))]
    TooSmall { device: String, kind: String, has_bytes: u64, needs_bytes: u64 },
    #[error("{program}: the option {option:?} is not allowed: {why}")]
    Option {
        /// `mkfs` or `mount`.
        program: String,
        option: String,
        why: String,
    },
    #[error("{}: mount succeeded, and there is no {kind} of {device}: {found}; check the options of mount", at.display())]
    NotMounted { at: PathBuf, kind: String, device: String, found: String },
    #[error(
        "{}: it cannot be unmounted, since it is used by {}; stop that, then `schedlab restore`", at.display(), list(users)
    )]
    StillUsed { at: PathBuf, users: Vec<String> },
    #[error(
        "{}: still there {seconds} s after they were killed, waiting for a device; see `dmesg`, then `schedlab restore`",
        list(programs)
    )]
    StillRunning { seconds: u64, programs: Vec<String> },
    #[error(
        "{device}: the file system that was made on it is still there: {why}; then `schedlab restore`"
    )]
    NotWiped { device: String, why: String },
}
