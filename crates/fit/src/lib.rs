//! Models of devices, fitted from reads alone, and how far they are off.
//!
//! A fit measures through [`Drive`], which a real device and the simulator's models implement, and writes a description that the
//! simulator and the kernel arena take. Reads that the fit has not seen measure what a model is worth ([`held_out`]).
#![forbid(unsafe_code)]

mod demerit;
mod drive;
pub mod hdd;
pub mod held_out;
pub mod latency;
mod writes;

pub use demerit::{Error, Summary};
pub use drive::{Drive, Facts, FitError, ModelDrive, Read, Timed, bytes};
pub use writes::Writes;
