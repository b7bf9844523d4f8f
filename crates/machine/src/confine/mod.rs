//! Drops privileges before untrusted code runs.
//!
//! [`Landlock`] restricts writing to listed paths, [`drop_capabilities`] and [`no_new_privs`] end
//! root's privileges, [`Seal`] adds forbidden system calls, and [`spawn`] adds namespaces with a
//! read-only view of the machine's files. The layers are independent; an unsupported one is
//! reported.
//!
//! They apply to the calling thread and its future children: call them before starting threads.

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

#[derive(Debug, thiserror::Error)]
#[error("{layer}: cannot {action}: {cause}")]
#[non_exhaustive]
pub struct Error {
    pub layer: String,
    pub action: &'static str,
    /// Part of the message, hence no `source`.
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
