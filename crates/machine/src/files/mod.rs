//! Directories held by descriptor ([`Dir`]), and the file operations that change something
//! ([`Files`]), each one step that a crash can come before or after.
//!
//! A crate of its own so that the fake kernels of tests can replace the steps without knowing the
//! machine, and so that every crate that writes a file writes it in the same manner:
//! `docs/decisions/0016-files-as-root.md` has the rule and the reasons.

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
