//! The C cores of the kernel's elevators (`kernel/core/`) as elevators of the laboratory.
//!
//! Each core is wrapped as an [`elevator::Elevator`], so that the properties of the Rust elevators
//! can be checked on it before it runs in a kernel. A differential test applies the same operations
//! to the Rust elevator and to the core and compares all answers.
#![deny(unsafe_code)]

pub mod disk;
#[allow(unsafe_code)]
mod sys;

pub use sys::{CElevator, Ops, Row, Seek, anticipatory, occupancy, rows, wpcas};
