//! The built `selfbench`.

mod common;
mod conformance;
mod kernel;
mod linpack;
