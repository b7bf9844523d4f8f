//! The C cores of the kernel's elevators (`kernel/core/`) as elevators of the laboratory.
//!
//! What goes into a kernel must be right before it goes there. So each core is wrapped as an [`elevator::Elevator`], and the laws
//! that every Rust elevator keeps are tried on it; a differential test gives the Rust elevator and the core the same operations
//! and compares every answer.
//!
//! Calling C is the purpose of this crate, so it is the one besides the host's in which `unsafe` stands; `rows.rs` has
//! none but for naming the cores.

mod ffi;
mod memory;
mod rows;
mod wrapper;

pub use ffi::{Ops, Row, Seek};
pub use rows::{anticipatory, rows, wpcas};
pub use wrapper::CElevator;
