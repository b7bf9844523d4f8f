//! Linux in a process: User-mode Linux kernels, from a source package to a guest that has been run.
//!
//! The kernel-building half: a [`Request`] says which kernel is wanted, the [`Cache`] finds or builds it, and a built [`Kernel`] has
//! our [modules](Kernel::modules) built against it. Nothing here needs root, and nothing is written outside the cache directory.

mod boot;
mod build;
mod cache;
mod child;
mod compile;
mod config;
mod debian;
mod error;
pub mod inside;
mod kernel;
pub mod load;
mod lock;
mod modules;
mod patch;
pub mod readers;
mod requirements;
mod source;
mod tree;
mod verify;
pub mod warden;
mod workdir;

pub use boot::{Boot, BootError, Ended, PATIENCE, TimeTravel, WORKDIR_VARIABLE};
pub use cache::{Cache, Request};
pub use error::Error;
pub use kernel::{Kernel, Patch};
pub use modules::ModuleSet;
pub use source::Source;
pub use workdir::workdir;

use std::time::Duration;

/// Who is told how far a build is.
pub trait Progress {
    /// A new part of the work begins, in a few words: `unpacking linux-source-6.1`.
    fn phase(&mut self, what: &str);
    /// Within this part `done` of about `total` steps (0: nobody knows) are done; `left` is the time left, where it can be told.
    fn step(&mut self, done: u64, total: u64, left: Option<Duration>);
    /// Something worth a line of its own.
    fn say(&mut self, text: &str);
}

/// Tells nobody.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&mut self, _: &str) {}
    fn step(&mut self, _: u64, _: u64, _: Option<Duration>) {}
    fn say(&mut self, _: &str) {}
}
