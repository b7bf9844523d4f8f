//! Calls into the C cores, and their memory: all unsafe code of this crate except the build and the
//! disk.

mod ffi;
mod memory;
mod rows;
mod wrapper;

pub use ffi::{Ops, Row, Seek};
pub use rows::{anticipatory, occupancy, rows, wpcas};
pub use wrapper::CElevator;
