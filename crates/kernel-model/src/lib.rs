//! The C cores of the kernel's elevators (`kernel/core/`) as [`elevator::Elevator`]s, so that the
//! properties can be checked before a core runs in a kernel, and a differential test can compare it
//! with its Rust counterpart.
#![deny(unsafe_code)]

pub mod disk;
#[allow(unsafe_code)]
mod sys;

pub use sys::{CElevator, Ops, Row, Seek, anticipatory, occupancy, rows, wpcas};
