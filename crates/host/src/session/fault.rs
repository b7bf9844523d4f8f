//! What can go wrong with the programs and the file system of an experiment, each with the next step.

use std::path::PathBuf;

use text::format_bytes;

use crate::names::list;

/// Why a session could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A program cannot be started.
    #[error("{}: it cannot be started: {why}", program.display())]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// The reason and the next step.
        why: String,
    },
    /// A place on the processors that cannot be had.
    #[error("{what}: {why}")]
    Placement {
        /// What was asked for, e.g. `isolate=0`.
        what: String,
        /// The reason, and what would do.
        why: String,
    },
    /// The user that a program should run as does not exist.
    #[error("{user}: no such user to run a program as; install the package that makes it, or see `getent passwd`")]
    NoUser {
        /// The name.
        user: String,
    },
    /// A share of the device that cannot be given.
    #[error("{what}: it cannot be given: {why}")]
    Share {
        /// The part of the share as it was written, e.g. `io_max wbps=10M`.
        what: String,
        /// The controller, the reason, and what would do.
        why: String,
    },
    /// A file system that is not in the table.
    #[error("{kind}: no such file system for experiments, expected one of {}", list(known))]
    UnknownFileSystem {
        /// What the plan says.
        kind: String,
        /// What it could say.
        known: Vec<String>,
    },
    /// The kernel cannot mount it.
    #[error(
        "{kind}: this kernel ({release}) has no such file system, and nothing was written; choose another one, or install the kernel's modules (try `modprobe {kind}`)"
    )]
    NotInKernel {
        /// The file system.
        kind: String,
        /// The kernel's release.
        release: String,
    },
    /// The device is too small.
    #[error("{device}: too small for {kind} (found {}, expected {}); take a larger device, or ext4", format_bytes(*has_bytes), format_bytes(*needs_bytes))]
    TooSmall {
        /// The device.
        device: String,
        /// The file system.
        kind: String,
        /// Its size.
        has_bytes: u64,
        /// What the file system needs.
        needs_bytes: u64,
    },
    /// An option of mkfs or mount that leads to something else than the device under test.
    #[error("{program}: the option {option:?} is not allowed: {why}")]
    Option {
        /// `mkfs` or `mount`.
        program: String,
        /// What was written.
        option: String,
        /// The reason.
        why: String,
    },
    /// mount succeeded, and the file system is not there.
    #[error("{}: mount succeeded, and there is no {kind} of {device}: {found}; check the options of mount", at.display())]
    NotMounted {
        /// The directory.
        at: PathBuf,
        /// The file system.
        kind: String,
        /// The device.
        device: String,
        /// What is there.
        found: String,
    },
    /// The file system cannot be unmounted.
    #[error(
        "{}: it cannot be unmounted, since it is used by {}; stop that, then `schedlab restore`", at.display(), list(users)
    )]
    StillUsed {
        /// The directory.
        at: PathBuf,
        /// Who uses it: names and process ids.
        users: Vec<String>,
    },
    /// Programs that do not die.
    #[error(
        "{}: still there {seconds} s after they were killed, waiting for a device; see `dmesg`, then `schedlab restore`",
        list(programs)
    )]
    StillRunning {
        /// How long it was waited.
        seconds: u64,
        /// Names and process ids.
        programs: Vec<String>,
    },
    /// The file system's signature cannot be taken off.
    #[error("{device}: the file system that was made on it is still there: {why}; then `schedlab restore`")]
    NotWiped {
        /// The device.
        device: String,
        /// The reason and the next step.
        why: String,
    },
}
