//! Models of devices, fitted from reads alone or from a trace of their work, and how far they
//! are off.
//!
//! A fit measures through [`Drive`], which a real device and the simulator's models implement, and
//! writes a description that the simulator and the kernel arena take. Reads that the fit has not
//! seen measure what a model is worth ([`held_out`]); of a trace ([`recorded`]) some slices are
//! kept back for it.

#![allow(missing_docs, reason = "the names of most fields say what they are")]

mod demerit;
mod drive;
pub mod hdd;
pub mod held_out;
mod inside;
pub mod latency;
pub mod recorded;
mod writes;

pub use demerit::{Error, Summary};
pub use drive::{Drive, Facts, FitError, ModelDrive, Read, Timed, bytes};
pub use writes::Writes;
