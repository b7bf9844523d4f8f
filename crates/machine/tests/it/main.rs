//! This machine's devices, settings and programs. `consent` needs a process in which nothing else
//! starts programs; `crash` has crashes.

#[path = "../common/mod.rs"]
mod common;
mod loop_device;
mod session;
mod settings;
mod tables;
