//! The machine.

pub mod engine;
pub mod probe;
