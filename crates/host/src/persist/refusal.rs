//! Why a setting cannot be kept or forgotten, in words that name the file or device and the next step.

use std::io;
use std::path::PathBuf;

use crate::names::list;

/// Why a setting cannot be kept, or not be forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing tells this device from others after a restart.
    #[error("{device}: it cannot be distinguished from other devices after a restart: {why}")]
    NoIdentity {
        /// The device.
        device: String,
        /// The reason, and what can be done.
        why: String,
    },
    /// Another device answers to the same rule.
    #[error("{device}: {other} has the same {what}, and a rule would set both; name the slot instead, with --by-path")]
    Twins {
        /// The device.
        device: String,
        /// The other one.
        other: String,
        /// What they share, as `PROPERTY=value`.
        what: String,
    },
    /// A value that cannot stand in a rule.
    #[error("{name}={value:?}: it cannot be kept, since a value is made of letters, digits, blanks and . _ + -")]
    OddValue {
        /// The attribute.
        name: String,
        /// What the user wrote.
        value: String,
    },
    /// Nothing would be kept.
    #[error("{device}: nothing is left to keep; name a setting, e.g. scheduler=mq-deadline or read_ahead_kb=512")]
    Nothing {
        /// The device.
        device: String,
    },
    /// A file that schedlab wrote was edited since, or went away.
    #[error(
        "{}: it is not as schedlab wrote it:\n{difference}\nnothing was changed; to lose these differences, add --force",
        path.display()
    )]
    Edited {
        /// The file.
        path: PathBuf,
        /// The lines that differ.
        difference: String,
    },
    /// A file of this name is there, and schedlab did not write it.
    #[error(
        "{}: it is there already, and schedlab did not write it; it differs from what would be written:\n{difference}\n\
         nothing was changed; with --force it is replaced, and `schedlab forget` puts it back",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The lines that differ.
        difference: String,
    },
    /// Something else than a plain file has the name.
    #[error("{}: it is {what}, and schedlab writes plain files only; take it out of the way first", path.display())]
    NoPlainFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A file could not be written.
    #[error("{}: cannot {action} it: {cause}{}", path.display(), advice(cause))]
    CannotWrite {
        /// What was attempted.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer; part of the message, hence no `source`.
        cause: io::Error,
    },
    /// It failed, and what had been done by then could not be undone.
    #[error("{first}; and undoing: {second}; `schedlab restore` tries again")]
    HalfDone {
        /// What went wrong first.
        first: String,
        /// What went wrong in undoing.
        second: String,
    },
    /// An interrupted `keep` or `forget` cannot be undone because somebody has edited a file since.
    #[error(
        "{}: it was edited after a schedlab that did not end had changed it, so it is left alone; correct it, then delete {}",
        path.display(), journal.display()
    )]
    EditedMeanwhile {
        /// The file.
        path: PathBuf,
        /// The journal entry.
        journal: PathBuf,
    },
    /// udev does not understand the rule.
    #[error("{}: udev does not accept it: {}; nothing was kept, please report this", path.display(), list(complaints))]
    BadRule {
        /// The rule's file.
        path: PathBuf,
        /// What udev said.
        complaints: Vec<String>,
    },
    /// Nothing is kept under that name.
    #[error("{word}: nothing is kept for it, expected one of {}", list(known))]
    NothingKept {
        /// What the user wrote.
        word: String,
        /// Every key there is.
        known: Vec<String>,
    },
    /// The list of what is kept cannot be understood.
    #[error("{}: it cannot be read: {why}; it lists files that schedlab wrote: delete those by hand, then it", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; where /etc is read-only or generated (NixOS, images), put what `schedlab keep … --print` shows into the \
             system's own configuration"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; everything is as it was before: free some space on that file system and repeat"
        }
        _ => "",
    }
}
