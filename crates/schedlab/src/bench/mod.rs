//! Comparisons of schedlab's own parts with the tools that people use for the same.

pub(crate) mod conformance;
pub(crate) mod engine;
mod fio;
pub(crate) mod kernel;
pub(crate) mod linpack;
pub(crate) mod study;
pub(crate) mod tune;
