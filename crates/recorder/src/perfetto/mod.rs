//! Traces of Perfetto: recordings written as tracks for ui.perfetto.dev.
//!
//! The format is protocol buffers; its messages are in `proto`, and a test compares their numbers with Perfetto's own schema.

mod proto;
mod writer;

#[cfg(test)]
mod tests;

pub use writer::write;
