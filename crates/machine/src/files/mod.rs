//! Directories held by descriptor ([`Dir`]), and modifying file operations ([`Files`]), each a step
//! before or after which a crash can come.
//!
//! Separate, so that tests can replace the steps, and every crate writes files in the same way: see
//! `docs/decisions/0016-files-as-root.md`.

mod acl;
mod bounded;
mod dir;
mod error;
mod input;
mod lock;
pub mod programs;
mod steps;
mod trust;
mod unfinished;
mod walk;

#[cfg(test)]
mod tests;

pub use acl::Subject;
pub use bounded::{Bounded, exceeded};
pub use dir::Dir;
pub use error::{Error, Refusal, remedy};
pub use input::{NotAFile, is_missing_input, not_a_file, open_input};
pub use lock::{Attempt, DataLock, OwnLock};
pub use steps::{Files, RealFiles, replace, replace_at};
pub use trust::Trust;
