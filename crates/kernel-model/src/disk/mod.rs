//! The disk of the kernel arena (kernel/core/disk.c) as a device model, for tests: the properties
//! of devices and a differential test run on it.

#[allow(unsafe_code)]
mod sys;

pub use sys::CDisk;
