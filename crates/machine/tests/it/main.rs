//! This machine's devices, settings and programs, through the crate's interface. Claims of whole
//! devices are in `consent`, which needs a process in which nothing else starts programs; crashes
//! are in `crash`.

#[path = "../common/mod.rs"]
mod common;
mod loop_device;
mod session;
mod settings;
mod tables;
