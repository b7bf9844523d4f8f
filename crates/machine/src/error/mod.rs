//! The crate's errors, with device or path and the remedy.
//!
//! One type, which callers print or match in a few cases (`Busy`, `Refused`, `UnknownTunable`).
//! Variants carry facts, so that tests need not compare prose.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use text::format_bytes;

use crate::lasting::Lasting;
use crate::names::{did_you_mean, list};

mod fault;
mod findings;
mod problem;
mod refusal;

pub use fault::Fault;
pub use findings::{Content, Use};
pub use problem::Problem;
pub use refusal::Refusal;

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
    #[error(transparent)]
    Files(crate::files::Error),
    #[error(
        "{word}: no such block device, expected one of {}{}{}",
        list(known),
        did_you_mean(word.trim_start_matches("/dev/"), known),
        if word == "cpu" { "; settings of the CPU scheduler are compared with `schedlab compare --arena cpu`" } else { "" }
    )]
    UnknownDevice { word: String, known: Vec<String> },
    #[error(
        "{word}: it is a partition, and its scheduler is that of the whole disk; name {disk} instead"
    )]
    Partition {
        word: String,
        /// E.g. `/dev/sda`.
        disk: String,
    },
    #[error("{device}: no I/O scheduler: {why}")]
    NoScheduler { device: String, why: String },
    #[error("{device}: in use by another schedlab{}; wait for it or stop it", pid(pid_of_other))]
    Busy {
        device: String,
        /// If known.
        pid_of_other: Option<u32>,
    },
    #[error(
        "{device}: set by schedlab{} {lasting}; `schedlab set {device} --end` restores it now",
        pid(pid_of_other)
    )]
    Held {
        device: String,
        /// The process that will restore it, if known.
        pid_of_other: Option<u32>,
        lasting: Lasting,
    },
    #[error(
        "{device}: no scheduler {word:?}, expected one of {}{}",
        list(known),
        did_you_mean(word, known)
    )]
    UnknownScheduler { device: String, word: String, known: Vec<String> },
    #[error(
        "{device}: {name} is a tunable of {}, but the scheduler would be {scheduler}; add scheduler={} or remove {name}",
        others.join(" and "), others.first().map_or("", String::as_str)
    )]
    TunableOfOther { device: String, scheduler: String, name: String, others: Vec<String> },
    #[error("{device}: no {name} ({help}): not supported by this kernel or device")]
    NotShown { device: String, name: String, help: String },
    #[error("{device}: no {name} here: {why}")]
    NotHere {
        device: String,
        name: String,
        /// The missing part, and how to get it.
        why: String,
    },
    #[error("{device}: {name} is read-only: it describes the hardware or driver")]
    ReadOnlyAttribute { device: String, name: String },
    #[error(
        "{text:?}: invalid in a systemd unit (found {found}, expected one line); rename the file or device"
    )]
    NoUnitText { text: String, found: &'static str },
    #[error("{what}: {why}")]
    Cpu {
        /// E.g. `sysctl:kernel.sched_latency_ns`.
        what: String,
        why: String,
    },
    #[error("{device}: {name} is out of range (found {value}, expected {range})")]
    OutOfRange {
        device: String,
        name: String,
        value: String,
        /// Possible values with their unit.
        range: String,
    },
    #[error("{device}: {name} is left unchanged, since it could not be restored: {why}")]
    NoWayBack { device: String, name: String, why: String },
    #[error("{device}: not set: {}; {}", join(found), taken_back(left))]
    NotSet { device: String, found: Vec<Problem>, left: Option<Box<Error>> },
    #[error("{device}: disappeared during the experiment; check cables and `dmesg`")]
    DeviceGone { device: String },
    #[error("{tool}: not installed, and needed {purpose}; install the package {package}")]
    ToolMissing {
        tool: String,
        package: String,
        /// Begins with `to`.
        purpose: String,
    },
    #[error("{command}: failed ({status}): {stderr}")]
    ToolFailed { command: String, status: String, stderr: String },
    #[error("{scheduler}: the scheduler is not available: {why}")]
    ModuleNotLoaded { scheduler: String, why: String },
    #[error(
        "{device}: no tunable {name:?} with the scheduler {scheduler}, expected one of {}{}",
        list(known),
        did_you_mean(name, known)
    )]
    UnknownTunable { device: String, scheduler: String, name: String, known: Vec<String> },
    #[error("{device}: not restored: {}; `schedlab restore` tries again (old values: {})", join(found), journal.display())]
    NotRestored { device: String, found: Vec<Problem>, journal: PathBuf },
    #[error("{}: cannot read the journal entry: {why}; check and correct the settings that it names, then delete the file", path.display())]
    Journal { path: PathBuf, why: String },
    #[error(
        "{device}: refused for writing, since --destroy-data does not name it ({}); to overwrite it, give --destroy-data {device}",
        join(found)
    )]
    Refused { device: String, found: Vec<Content> },
    #[error("{device}: in use: {}", join(found))]
    InUse { device: String, found: Vec<Use> },
    #[error("{device}: cannot determine its contents: {why}")]
    ContentUnknown { device: String, why: String },
    #[error(
        "{device}: read-only; choose a workload that only reads, or allow writes with `blockdev --setrw {device}`"
    )]
    ReadOnly { device: String },
    #[error(
        "--destroy-data: names {named}, but the workload would write {device}; nothing was written"
    )]
    ConsentForOther { named: String, device: String },
    #[error(
        "{}: not enough space for the loop file (found {} free, expected {}); choose a smaller loop:SIZE or another --loop-dir",
        dir.display(), format_bytes(*free_bytes), format_bytes(*needed_bytes)
    )]
    NoSpace { dir: PathBuf, needed_bytes: u64, free_bytes: u64 },
    #[error(
        "tracefs: not mounted at /sys/kernel/tracing, or not accessible to this user; as root: mount -t tracefs none /sys/kernel/tracing"
    )]
    NoTracefs,
    #[error(
        "{}: cannot create a loop device: {cause}; is the loop module loaded (`modprobe loop`), are loop devices permitted in this container, and are you root?", file.display()
    )]
    NoLoopDevice {
        file: PathBuf,
        /// Part of the message, hence no `source`.
        cause: io::Error,
    },
    #[error("{}: still in use (found an opener, expected none); see `fuser -v {}`, stop the program, then `schedlab restore`", node.display(), node.display())]
    StillAttached { node: PathBuf },
    #[error(
        "{device}: not the device that was checked (found {found}, expected {expected}); nothing was written to it; name the device again"
    )]
    Replaced { device: String, found: String, expected: String },
    #[error(transparent)]
    Persist(#[from] Refusal),
    #[error(transparent)]
    Session(#[from] Fault),
    #[error("{doing}: interrupted")]
    Interrupted { doing: String },
}

impl Error {
    /// `map_err(Error::io("read", path))`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |cause| Error::Io { action, path, cause }
    }

    pub(crate) fn failed(tool: &str, args: &[&str], output: &Output) -> Error {
        Error::ToolFailed {
            command: format!("{tool} {}", args.join(" ")),
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_string(),
        }
    }
}

impl From<crate::files::Error> for Error {
    fn from(error: crate::files::Error) -> Error {
        match error {
            crate::files::Error::Io { action, path, cause } => Error::Io { action, path, cause },
            other => Error::Files(other),
        }
    }
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            " (run as root, or set SCHEDLAB_STATE_DIR to one of your directories)"
        }
        io::ErrorKind::ReadOnlyFilesystem => " (set SCHEDLAB_STATE_DIR to another directory)",
        io::ErrorKind::StorageFull => {
            " (free some space, or set SCHEDLAB_STATE_DIR to another directory)"
        }
        _ => "",
    }
}

fn pid(pid: &Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

fn join<T: ToString>(found: &[T]) -> String {
    found.iter().map(T::to_string).collect::<Vec<_>>().join("; ")
}

fn taken_back(left: &Option<Box<Error>>) -> String {
    match left {
        None => "all settings are restored".to_string(),
        Some(error) => format!("and the settings could not be restored: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::ProbeError;

    #[test]
    fn an_unknown_device_is_answered_with_the_nearest_one_and_all_there_are() {
        let known = vec!["nvme0n1".to_string(), "sda".to_string()];
        let message = Error::UnknownDevice { word: "nvme0n2".into(), known }.to_string();
        assert!(
            message.contains("did you mean \"nvme0n1\"") && message.contains("sda"),
            "{message}"
        );
    }

    #[test]
    fn a_word_like_nothing_has_no_nearest_name() {
        assert_eq!(did_you_mean("zzz", &["sda".to_string()]), "");
    }

    /// The message with its causes, joined as anyhow does.
    fn printed(error: &dyn std::error::Error) -> String {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }

    #[test]
    fn the_kernels_answer_is_printed_once() {
        let answer = || io::Error::from_raw_os_error(libc::ENOENT);
        let io = Error::io("find", "/nope")(answer());
        assert_eq!(printed(&io), "/nope: cannot find: No such file or directory (os error 2)");
        let probe = ProbeError::Unreadable { path: "/nope".into(), cause: answer() };
        assert_eq!(printed(&probe), "/nope: cannot read: No such file or directory (os error 2)");
    }

    #[test]
    fn a_lack_of_room_is_told_in_units_that_one_can_read() {
        let error = Error::NoSpace {
            dir: "/x".into(),
            needed_bytes: 109_951_229_886_464,
            free_bytes: 73_446_535_168,
        };
        let message = error.to_string();
        assert!(
            message.contains("/x: ") && message.contains("found 68.4 GiB free, expected 100.0 TiB"),
            "{message}"
        );
        assert_eq!(
            (format_bytes(1023), format_bytes(1024), format_bytes(3 << 19)),
            ("1023 B".into(), "1.0 KiB".into(), "1.5 MiB".into())
        );
    }

    #[test]
    fn a_lack_of_permission_says_what_to_do() {
        let error = Error::io("write", "/sys/x")(io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(error.to_string().contains("run as root"), "{error}");
    }
}
