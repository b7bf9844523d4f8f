//! User-mode Linux kernels and guests.
//!
//! A [`Request`] names a kernel, the [`Cache`] finds or builds it, and [`Kernel::modules`] builds
//! schedlab's modules against it; [`Boot`] runs a guest. Building needs no root and writes only to
//! the cache.
#![deny(unsafe_code)]

mod boot;
mod build;
mod cache;
mod child;
mod compile;
mod config;
mod debian;
mod error;
mod host_side;
mod image;
pub mod inside;
mod kernel;
pub mod load;
mod lock;
mod modules;
mod patch;
pub mod readers;
mod recipe;
mod requirements;
mod result;
mod source;
pub mod supervisor;
#[allow(unsafe_code)]
mod sys;
mod tree;
mod verify;
mod workdir;

pub use boot::{Boot, BootError, Ended, PATIENCE, TimeTravel, WORKDIR_VARIABLE};
pub use cache::{Cache, Request, TICK_RATES};
pub use config::MAX_CPUS;
pub use error::Error;
pub use image::Image;
pub use kernel::{Kernel, Patch, linux_of};
pub use modules::ModuleSet;
pub use result::read_result;
pub use source::Source;
pub use workdir::workdir;

use std::time::Duration;

pub trait Progress {
    /// E.g. `unpacking linux-source-6.1`.
    fn phase(&mut self, what: &str);
    /// `total` is approximate, or 0 if unknown. `left` is estimated.
    fn step(&mut self, done: u64, total: u64, left: Option<Duration>);
    /// Prints a message on its own line.
    fn say(&mut self, text: &str);
}

#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&mut self, _: &str) {}
    fn step(&mut self, _: u64, _: u64, _: Option<Duration>) {}
    fn say(&mut self, _: &str) {}
}
