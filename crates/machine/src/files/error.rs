//! Why a directory or file is refused.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::acl::Subject;

/// A directory or file could not be used, or must not be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: cannot {action}: {cause}{}", path.display(), hint(cause))]
    Io { action: &'static str, path: PathBuf, cause: io::Error },
    /// Another user controls it, or may have planted it.
    #[error("{}: {why}", path.display())]
    Refused { path: PathBuf, why: Refusal },
    #[error(
        "{name:?}: not the name of a file (found a path or nothing, expected one component); leave out its slashes"
    )]
    Name { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The owner is neither root nor this process's user.
    Owner { owner: u32, mode: u32, user: u32 },
    /// Others may write it, or create and remove files in it.
    Shared { owner: u32, mode: u32 },
    /// A list lets another user write it, or files created in it.
    Listed { writer: Subject, inherited: bool },
    /// A link that another user has created.
    Link { owner: u32 },
    /// A link, directory, pipe or device.
    NotAFile { found: &'static str },
    /// It has a second name, which another user may reach.
    Linked { names: u64 },
    /// Another kind of file.
    NotADirectory { found: &'static str },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Owner { owner, mode, user } => write!(
                f,
                "belongs to another user, who could change what is written or read there (found owner {owner}, mode {mode:04o}, expected owner {}); \
                 name a directory whose parents are all {}",
                if user == 0 { "0 (root)".to_owned() } else { format!("{user} or 0 (root)") },
                if user == 0 { "root's" } else { "yours or root's" },
            ),
            Refusal::Shared { owner, mode } => write!(
                f,
                "other users may write there (found owner {owner}, mode {mode:04o}, expected no write permission for others); name another \
                 directory, or check this one and remove the permission with `chmod go-w`"
            ),
            Refusal::Listed { writer, inherited } => {
                let entry = match writer {
                    Subject::User(user) => format!("u:{user}"),
                    Subject::Group(group) => format!("g:{group}"),
                    Subject::OwningGroup(_) => "g:".to_owned(),
                };
                let (what, prefix) =
                    if inherited { ("what is made there", "d:") } else { ("there", "") };
                write!(
                    f,
                    "an access control list lets others write {what} (found {prefix}{entry}:w, expected no write permission for others); \
                     name another directory, or check this one and remove the permission with `setfacl -m {prefix}{entry}:rx`"
                )
            }
            Refusal::Link { owner } => write!(
                f,
                "a symbolic link of another user (found owner {owner}); name its target directory instead"
            ),
            Refusal::NotAFile { found } => write!(
                f,
                "in the way (found {found}, expected a regular file or nothing); remove it, or name another directory"
            ),
            Refusal::Linked { names } => write!(
                f,
                "has a second name, through which another file would be changed (found {names} names, expected 1); remove it, or name another \
                 directory"
            ),
            Refusal::NotADirectory { found } => {
                write!(
                    f,
                    "in the way (found {found}, expected a directory); remove it, or name another directory"
                )
            }
        }
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> Error {
        move |errno| Error::Io { action, path: path.to_path_buf(), cause: errno.into() }
    }

    pub(crate) fn refused(path: &Path, why: Refusal) -> Error {
        // A relative path without components is the working directory.
        let working = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let path = if path.as_os_str().is_empty() || path == Path::new(".") {
            working()
        } else {
            path.to_path_buf()
        };
        Error::Refused { path, why }
    }

    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }

    pub fn already_exists(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AlreadyExists)
    }

    /// `None` if schedlab itself refuses.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { cause, .. } => Some(cause.kind()),
            Error::Refused { .. } | Error::Name { .. } => None,
        }
    }
}

/// The remedy for a failed write.
pub fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f)",
        _ => "make room",
    }
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and repeat",
        io::ErrorKind::FileTooLarge => "; raise the limit on file sizes (ulimit -f) and repeat",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; name another directory, or run as a user who may write there"
        }
        _ => "",
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io { cause, .. } => cause,
            other => io::Error::new(io::ErrorKind::PermissionDenied, other),
        }
    }
}
