//! What can go wrong with the machine, in words that name the device or path and the next step.
//!
//! One type for the crate: a caller wants to print it or to match on a few cases (`Busy`, `Refused`, `UnknownTunable`), and
//! every variant carries the facts that its message needs, so that a test can look at facts instead of prose.

use std::io;
use std::path::{Path, PathBuf};

use crate::consent::Obstacle;
use crate::journal::Lasting;
use crate::persist::Refusal;
use crate::session::Fault;
use crate::settings::Problem;
use text::format_bytes;

use crate::names::{did_you_mean, list};

/// Why an operation on the machine did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("{}: cannot {action} it: {cause}{}", path.display(), hint(cause))]
    Io {
        /// What was attempted: `read`, `write`, `create` …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer; part of the message, hence no `source`, which would print it twice.
        cause: io::Error,
    },
    /// No such block device.
    #[error(
        "{word}: no such block device, expected one of {}{}{}",
        list(known),
        did_you_mean(word.trim_start_matches("/dev/"), known),
        if word == "cpu" { "; settings of the CPU scheduler are compared with `schedlab compare --arena cpu`" } else { "" }
    )]
    UnknownDevice {
        /// What the user wrote.
        word: String,
        /// Every disk there is.
        known: Vec<String>,
    },
    /// A partition was named where a disk is needed: the scheduler belongs to the disk.
    #[error("{word}: it is a partition, and its scheduler is that of the whole disk; name {disk} instead")]
    Partition {
        /// What the user wrote.
        word: String,
        /// The disk it is part of, e.g. `/dev/sda`.
        disk: String,
    },
    /// The device has no I/O scheduler.
    #[error("{device}: no I/O scheduler: {why}")]
    NoScheduler {
        /// The device.
        device: String,
        /// The reason, in words.
        why: String,
    },
    /// Another schedlab is changing this device.
    #[error("{device}: in use by another schedlab{}; wait for it or stop it", pid(pid_of_other))]
    Busy {
        /// The device or temporary file.
        device: String,
        /// The other process, where it is known.
        pid_of_other: Option<u32>,
    },
    /// Another schedlab has set this device for a while.
    #[error(
        "{device}: set by schedlab{} {lasting}; `schedlab set {device} --end` takes it back now",
        pid(pid_of_other)
    )]
    Held {
        /// The device.
        device: String,
        /// The process that will put it back, where it is known.
        pid_of_other: Option<u32>,
        /// Until when.
        lasting: Lasting,
    },
    /// A scheduler that neither the device offers nor the kernel has as a module.
    #[error("{device}: no scheduler {word:?}, expected one of {}{}", list(known), did_you_mean(word, known))]
    UnknownScheduler {
        /// The device.
        device: String,
        /// What the user wrote.
        word: String,
        /// Every scheduler that the device can have.
        known: Vec<String>,
    },
    /// A tunable of another scheduler than the one that is asked about.
    #[error(
        "{device}: {name} is a tunable of {}, and the scheduler would be {scheduler}; say scheduler={} as well, or leave {name} out",
        others.join(" and "), others.first().map_or("", String::as_str)
    )]
    TunableOfOther {
        /// The device.
        device: String,
        /// The scheduler that the device would have.
        scheduler: String,
        /// What the user wrote.
        name: String,
        /// The schedulers that have it.
        others: Vec<String>,
    },
    /// An attribute that Linux has, but not for this device or in this version.
    #[error("{device}: no {name} ({help}): this kernel does not show it, or not for such a device")]
    NotShown {
        /// The device.
        device: String,
        /// The attribute.
        name: String,
        /// What it means.
        help: String,
    },
    /// An attribute that can only be read.
    #[error("{device}: {name} is read-only: it says what the hardware or the driver is like")]
    ReadOnlyAttribute {
        /// The device.
        device: String,
        /// The attribute.
        name: String,
    },
    /// A setting of processors that is impossible on this machine.
    #[error("{what}: {why}")]
    Processors {
        /// The setting by its key, e.g. `sysctl:kernel.sched_latency_ns`.
        what: String,
        /// The reason and the next step.
        why: String,
    },
    /// A value that the attribute does not take.
    #[error("{device}: {name} is out of range (found {value}, expected {range})")]
    OutOfRange {
        /// The device.
        device: String,
        /// The tunable or attribute.
        name: String,
        /// What the user wrote.
        value: String,
        /// What is possible, with the unit.
        range: String,
    },
    /// A value that could not be put back once it is changed.
    #[error("{device}: {name} is left alone, since it could not be put back: {why}")]
    NoWayBack {
        /// The device.
        device: String,
        /// The attribute.
        name: String,
        /// Why not.
        why: String,
    },
    /// A change that failed or had no effect, and was taken back.
    #[error("{device}: it was not set: {}; {}", problems(found), taken_back(left))]
    NotSet {
        /// The device.
        device: String,
        /// What failed.
        found: Vec<Problem>,
        /// What could not be taken back.
        left: Option<Box<Error>>,
    },
    /// The device is no longer there.
    #[error("{device}: it is gone, and was there when the experiment began; check cables and `dmesg`")]
    DeviceGone {
        /// The device.
        device: String,
    },
    /// A program that is needed is not installed.
    #[error("{tool}: not installed, and needed {purpose}; install the package {package}")]
    ToolMissing {
        /// The program.
        tool: String,
        /// The package that has it on Debian and Ubuntu.
        package: String,
        /// What for, beginning with `to`.
        purpose: String,
    },
    /// A program that was called failed.
    #[error("{command}: it failed ({status}): {stderr}")]
    ToolFailed {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// A scheduler's module could not be loaded.
    #[error("{scheduler}: the scheduler is not available: {why}")]
    ModuleNotLoaded {
        /// The scheduler.
        scheduler: String,
        /// The module, the reason and the next step.
        why: String,
    },
    /// A name that is neither a tunable of the scheduler nor an attribute of the queue.
    #[error(
        "{device}: no tunable {name:?} with the scheduler {scheduler}, expected one of {}{}",
        list(known),
        did_you_mean(name, known)
    )]
    UnknownTunable {
        /// The device.
        device: String,
        /// The scheduler in effect.
        scheduler: String,
        /// What the user wrote.
        name: String,
        /// Every name that can be set.
        known: Vec<String>,
    },
    /// The device could not be put back as it was; the journal entry stays.
    #[error("{device}: it is not as it was before: {}; `schedlab restore` tries again (old values: {})", problems(found), journal.display())]
    NotRestored {
        /// The device.
        device: String,
        /// What is not as it was.
        found: Vec<Problem>,
        /// The journal entry with the old values.
        journal: PathBuf,
    },
    /// A journal entry cannot be understood; it is never deleted silently.
    #[error("{}: the journal entry cannot be read: {why}; check the settings that it names, correct them, then delete that file", path.display())]
    Journal {
        /// The entry.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Writing to the device would destroy or endanger something, and the user did not consent.
    #[error(
        "{device}: refused for writing: {}; to destroy what is on it, say --destroy-data {device}",
        obstacles(found)
    )]
    Refused {
        /// The device.
        device: String,
        /// What stands in the way.
        found: Vec<Obstacle>,
    },
    /// Somebody uses the device right now: consent does not help, since writing under a user corrupts what it holds.
    #[error("{device}: it is in use: {}", obstacles(found))]
    InUse {
        /// The device.
        device: String,
        /// Who uses it.
        found: Vec<Obstacle>,
    },
    /// The kernel refuses writes to the device; consent does not help.
    #[error(
        "{device}: it is read-only; choose a workload that only reads, or allow writes with `blockdev --setrw {device}`"
    )]
    ReadOnly {
        /// The device.
        device: String,
    },
    /// `--destroy-data` names another device than the one that would be written.
    #[error("--destroy-data: it names {named}, and the workload would write {device}; nothing was written")]
    ConsentForOther {
        /// What the consent names.
        named: String,
        /// The device of the experiment.
        device: String,
    },
    /// Too little room for a temporary file.
    #[error(
        "{}: too little room for the loop file (found {} free, expected {}); choose a smaller loop:SIZE or another --loop-dir",
        dir.display(), format_bytes(*free_bytes), format_bytes(*needed_bytes)
    )]
    NoSpace {
        /// The directory.
        dir: PathBuf,
        /// Bytes that the file needs.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// A setting cannot be kept, or not be forgotten.
    #[error(transparent)]
    Persist(#[from] Refusal),
    /// A program or a file system of an experiment.
    #[error(transparent)]
    Session(#[from] Fault),
    /// The caller asked to stop.
    #[error("{doing}: interrupted")]
    Interrupted {
        /// What was going on.
        doing: String,
    },
}

impl Error {
    /// Wraps a failed file operation: `map_err(Error::io("read", path))`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |cause| Error::Io { action, path, cause }
    }
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => " (run as root, or name a directory of your own with SCHEDLAB_STATE_DIR)",
        io::ErrorKind::ReadOnlyFilesystem => " (choose another place with SCHEDLAB_STATE_DIR)",
        io::ErrorKind::StorageFull => " (free some space, or choose another place with SCHEDLAB_STATE_DIR)",
        _ => "",
    }
}

fn pid(pid: &Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

fn problems(found: &[Problem]) -> String {
    found.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

fn taken_back(left: &Option<Box<Error>>) -> String {
    match left {
        None => "everything is as it was before".to_string(),
        Some(error) => format!("and it could not be taken back: {error}"),
    }
}

fn obstacles(found: &[Obstacle]) -> String {
    found.iter().map(Obstacle::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::ProbeError;

    #[test]
    fn an_unknown_device_is_answered_with_the_nearest_one_and_all_there_are() {
        let known = vec!["nvme0n1".to_string(), "sda".to_string()];
        let message = Error::UnknownDevice { word: "nvme0n2".into(), known }.to_string();
        assert!(message.contains("did you mean \"nvme0n1\"") && message.contains("sda"), "{message}");
    }

    #[test]
    fn a_word_like_nothing_has_no_nearest_name() {
        assert_eq!(did_you_mean("zzz", &["sda".to_string()]), "");
    }

    /// What the user reads: the message and its causes, joined as anyhow joins them.
    fn printed(error: &dyn std::error::Error) -> String {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }

    #[test]
    fn the_kernels_answer_is_printed_once() {
        let answer = || io::Error::from_raw_os_error(libc::ENOENT);
        let io = Error::io("find", "/nope")(answer());
        assert_eq!(printed(&io), "/nope: cannot find it: No such file or directory (os error 2)");
        let probe = ProbeError::Unreadable { path: "/nope".into(), cause: answer() };
        assert_eq!(printed(&probe), "/nope: cannot read it: No such file or directory (os error 2)");
    }

    #[test]
    fn a_lack_of_room_is_told_in_units_that_one_can_read() {
        let error = Error::NoSpace { dir: "/x".into(), needed_bytes: 109_951_229_886_464, free_bytes: 73_446_535_168 };
        let message = error.to_string();
        assert!(message.contains("/x: ") && message.contains("found 68.4 GiB free, expected 100.0 TiB"), "{message}");
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
