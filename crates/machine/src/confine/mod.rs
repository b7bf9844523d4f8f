//! What a process gives up before it runs something that is not trusted.
//!
//! Each layer holds by itself, and what a kernel lacks is reported, not ignored: [`Landlock`]
//! restricts writing to a list of paths, [`drop_capabilities`] and [`no_new_privs`] end the powers
//! of root, [`Seal`] adds a list of forbidden system calls and can be put on a
//! [`std::process::Command`]. [`spawn`] starts a program in namespaces of its own that show the
//! machine's files read-only.
//!
//! All of it applies to the calling thread and to what it creates afterwards: call it before
//! threads are started.

mod confinement;
mod landlock;
mod limits;
mod privileges;
mod process;
mod reader;
mod seal;
#[allow(unsafe_code)]
mod sys;
mod syscalls;
mod view;

pub use confinement::Confinement;
pub use landlock::{Landlock, landlock_abi};
pub use limits::Limits;
pub use privileges::{
    become_user, drop_capabilities, drop_capabilities_but_file_permissions, no_new_privs,
};
pub use process::spawn;
pub use reader::Reader;
pub use seal::Seal;

/// A layer that could not be put in place.
#[derive(Debug, thiserror::Error)]
#[error("{layer}: cannot {action}: {cause}")]
#[non_exhaustive]
pub struct Error {
    /// `Landlock`, `capabilities`, a path …
    pub layer: String,
    /// What was attempted.
    pub action: &'static str,
    /// The system's answer; part of the message, hence no `source`.
    pub cause: std::io::Error,
}

impl Error {
    pub(crate) fn new(
        layer: impl Into<String>,
        action: &'static str,
        cause: impl Into<std::io::Error>,
    ) -> Error {
        Error { layer: layer.into(), action, cause: cause.into() }
    }
}

/// The result of a layer.
pub type Result<T> = std::result::Result<T, Error>;
