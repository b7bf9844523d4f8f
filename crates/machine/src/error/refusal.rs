//! Why a setting cannot be persisted or unpersisted.

use std::io;
use std::path::PathBuf;

use crate::names::list;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("{device}: it cannot be distinguished from other devices after a restart: {why}")]
    NoIdentity { device: String, why: String },
    #[error(
        "{device}: {other} has the same {what}, and a rule would set both; name the slot instead, with --by-path"
    )]
    Duplicates {
        device: String,
        other: String,
        /// `PROPERTY=value`.
        what: String,
    },
    #[error(
        "{name}: it cannot be persisted by a rule of udev, which writes attributes of the queue only; a cost model is persisted as a \
         line of systemd's hwdb (`schedlab iocost` prints it), another attribute by a unit of your own"
    )]
    NotOfTheQueue { name: String },
    #[error(
        "{name}={value:?}: it cannot be persisted, since a value is made of letters, digits, blanks and . _ + -"
    )]
    OddValue { name: String, value: String },
    #[error(
        "{device}: nothing is left to persist; name a setting, e.g. scheduler=mq-deadline or read_ahead_kb=512"
    )]
    Nothing { device: String },
    #[error(
        "{}: it is not as schedlab wrote it:\n{difference}\nnothing was changed; to lose these differences, add --force",
        path.display()
    )]
    Edited { path: PathBuf, difference: String },
    #[error(
        "{}: it is there already, and schedlab did not write it; it differs from what would be written:\n{difference}\n\
         nothing was changed; with --force it is replaced, and `schedlab unpersist` puts it back",
        path.display()
    )]
    NotOurs { path: PathBuf, difference: String },
    #[error("{}: it is {what}, and schedlab writes plain files only; take it out of the way first", path.display())]
    NoPlainFile { path: PathBuf, what: String },
    #[error("{}: cannot {action}: {cause}{}", path.display(), advice(cause))]
    CannotWrite {
        action: &'static str,
        path: PathBuf,
        /// Part of the message, hence no `source`.
        cause: io::Error,
    },
    #[error("{first}; and undoing: {second}; `schedlab restore` tries again")]
    HalfDone { first: String, second: String },
    #[error(
        "{}: it was edited after a schedlab that did not end had changed it, so it is left alone; correct it, then delete {}",
        path.display(), journal.display()
    )]
    EditedMeanwhile { path: PathBuf, journal: PathBuf },
    #[error("{}: udev does not accept it: {}; nothing was persisted, please report this", path.display(), list(complaints))]
    BadRule { path: PathBuf, complaints: Vec<String> },
    #[error("{word}: nothing is persisted for it, expected one of {}", list(known))]
    NothingPersisted { word: String, known: Vec<String> },
    #[error("{}: it cannot be read: {why}; it lists files that schedlab wrote: delete those by hand, then it", path.display())]
    Manifest { path: PathBuf, why: String },
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; where /etc is read-only or generated (NixOS, images), put what `schedlab persist … --print` shows into the \
             system's own configuration"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; everything is as it was before: free some space on that file system and repeat"
        }
        _ => "",
    }
}
