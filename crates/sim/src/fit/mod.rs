//! Device models fitted from reads or from a trace, with their errors.
//!
//! A fit measures through [`Drive`], which real devices and the simulator's models implement, and
//! writes a description for the simulator and the kernel arena. Its accuracy is measured on
//! held-out reads ([`held_out`]) or held-out slices of the trace ([`recorded`]).

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
