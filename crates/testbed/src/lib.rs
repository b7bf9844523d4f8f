//! What tests need of the machine: requirements that skip aloud, directories, loop devices and
//! tmpfs of one test's own, and waiting.
//!
//! Everything made here is removed when it is dropped, and only if it is still the test's own: loop
//! devices are numbered, and the number of a device that was detached early may already belong to
//! another test.

#![deny(unsafe_code)]

mod directory;
mod level;
mod loop_device;
mod require;
#[allow(unsafe_code)]
mod sys;
mod tmpfs;
mod wait;

pub use directory::{Directory, copy_program};
pub use level::is_soak;
pub use loop_device::Loop;
pub use require::{is_root, require, skip, tool};
pub use sys::LoopOptions;
pub use sys::allocator;
pub use tmpfs::Tmpfs;
pub use wait::eventually;
