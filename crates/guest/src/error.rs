//! What can go wrong with a kernel, in words that name the file and the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel or a module could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {}: {cause}{}", path.display(), hint(cause))]
    Io {
        /// What was attempted: `read`, `write`, `create` …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer; part of the message, hence no `source`, which would print it twice.
        cause: io::Error,
    },
    /// What the user wrote as a source is none.
    #[error(
        "{word:?} is no kernel source: write debian:6.1, debian:6.12, debian:newest, or the directory of a kernel tree"
    )]
    Source {
        /// The word.
        word: String,
    },
    /// A signal asked to end; nothing half built is left.
    #[error("interrupted; nothing half built is left in the cache")]
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
