//! The machine: devices, settings, their journal, and an experiment's programs.
//!
//! Paths go through a [`Root`], changes of settings through a [`Guard`], and writing workloads
//! through a [`Claim`]. Only this crate writes to the machine.
#![deny(unsafe_code)]

pub mod capability;
pub mod confine;
pub mod conflicts;
pub mod consent;
pub mod cpu;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod crashpoints;
pub mod device;
pub mod environment;
pub mod error;
pub mod files;
mod hierarchies;
pub mod journal;
mod lasting;
pub mod loopdev;
pub mod modules;
pub mod names;
pub mod persist;
pub mod placement;
pub mod probe;
mod processes;
mod restore;
#[cfg(test)]
mod restore_tests;
mod root;
pub mod session;
pub mod settings;
#[allow(unsafe_code)]
mod sys;
pub mod systemd;
pub mod tracing;

pub use consent::{Authority, Claim, Content, Use, check_writable};
pub use device::Device;
pub use error::Error;
pub use journal::{Outcome, key};
pub use loopdev::LoopDevice;
pub use restore::{KINDS, restore_all};
pub use root::Root;
pub use session::Session;
pub use settings::{Change, Guard, Problem, Restored, Setting, Watch};
pub use sys::now_ns;
pub use tracing::TracingInstance;
