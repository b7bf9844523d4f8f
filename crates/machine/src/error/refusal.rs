//! Why a setting cannot be persisted or unpersisted.

use std::io;
use std::path::PathBuf;

use crate::names::list;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("{device}: cannot be distinguished from other devices after a restart: {why}")]
    NoIdentity { device: String, why: String },
    #[error(
        "{device}: {other} has the same {what}, so a rule would set both; name the slot instead, with --by-path"
    )]
    Duplicates {
        device: String,
        other: String,
        /// `PROPERTY=value`.
        what: String,
    },
    #[error(
        "{name}: cannot be persisted by a udev rule, which writes queue attributes only; persist a cost model as a line of systemd's hwdb (`schedlab iocost` prints it), another attribute with your own unit"
    )]
    NotOfTheQueue { name: String },
    #[error(
        "{name}={value:?}: cannot be persisted: a value consists of letters, digits, blanks and . _ + -"
    )]
    OddValue { name: String, value: String },
    #[error(
        "{device}: nothing to persist; name a setting, e.g. scheduler=mq-deadline or read_ahead_kb=512"
    )]
    Nothing { device: String },
    #[error(
        "{}: changed since schedlab wrote it:\n{difference}\nnothing was changed; to discard these differences, add --force",
        path.display()
    )]
    Edited { path: PathBuf, difference: String },
    #[error(
        "{}: already exists and was not written by schedlab; it differs from the new content:\n{difference}\n\
         nothing was changed; --force replaces it, and `schedlab unpersist` restores it",
        path.display()
    )]
    NotOurs { path: PathBuf, difference: String },
    #[error("{}: is {what}, but schedlab writes plain files only; move it away first", path.display())]
    NoPlainFile { path: PathBuf, what: String },
    #[error("{}: cannot {action}: {cause}{}", path.display(), advice(cause))]
    CannotWrite {
        action: &'static str,
        path: PathBuf,
        /// Part of the message, hence no `source`.
        cause: io::Error,
    },
    #[error("{first}; undoing failed: {second}; `schedlab restore` tries again")]
    HalfDone { first: String, second: String },
    #[error(
        "{}: edited after an interrupted schedlab had changed it, so it is left unchanged; correct it, then delete {}",
        path.display(), journal.display()
    )]
    EditedMeanwhile { path: PathBuf, journal: PathBuf },
    #[error("{}: rejected by udev: {}; nothing was persisted; please report this", path.display(), list(complaints))]
    BadRule { path: PathBuf, complaints: Vec<String> },
    #[error("{word}: has no persisted settings, expected one of {}", list(known))]
    NothingPersisted { word: String, known: Vec<String> },
    #[error("{}: cannot read: {why}; it lists files that schedlab wrote: delete those by hand, then this file", path.display())]
    Manifest { path: PathBuf, why: String },
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; where /etc is read-only or generated (NixOS, images), add the output of `schedlab persist … --print` to the system's \
             configuration"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; all changes were undone: free some space on that file system and repeat"
        }
        _ => "",
    }
}
