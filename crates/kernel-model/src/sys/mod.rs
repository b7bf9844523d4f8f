//! The unsafe code of this crate, which is all of it but the build: calls into the C cores, and the
//! memory that they get.

mod ffi;
mod memory;
mod rows;
mod wrapper;

pub use ffi::{Ops, Row, Seek};
pub use rows::{anticipatory, occupancy, rows, wpcas};
pub use wrapper::CElevator;
