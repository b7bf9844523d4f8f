//! Drops privileges before untrusted code runs.
//!
//! The layers are independent, and one that the kernel does not support is reported. [`Landlock`]
//! restricts writing to listed paths, [`drop_capabilities`] and [`no_new_privs`] end root's
//! privileges, and [`Seal`] adds a list of forbidden system calls and can be applied to a
//! [`std::process::Command`]. [`spawn`] starts a program in namespaces with a read-only view of the
//! machine's files.
//!
//! Every layer applies to the calling thread and its future children: call it before starting
//! threads.

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

/// A layer that could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("{layer}: cannot {action}: {cause}")]
#[non_exhaustive]
pub struct Error {
    pub layer: String,
    pub action: &'static str,
    /// The system's error; part of the message, hence no `source`.
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

pub type Result<T> = std::result::Result<T, Error>;
