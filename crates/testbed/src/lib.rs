//! Test fixtures: requirements whose absence is reported, directories, loop devices, tmpfs and
//! waiting.
//!
//! Everything is removed on drop if it still belongs to the test. The number of a loop device that
//! was detached early may belong to another test.

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
