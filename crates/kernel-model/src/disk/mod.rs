//! The kernel arena's disk (kernel/core/disk.c) as a device model, for property and differential
//! tests.

#[allow(unsafe_code)]
mod sys;

pub use sys::CDisk;
