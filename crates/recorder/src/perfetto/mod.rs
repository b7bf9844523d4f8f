//! Traces of Perfetto: traces written as tracks for ui.perfetto.dev, and traces with ftrace's
//! events of the block layer read.
//!
//! The format is protocol buffers; its messages are in `proto`, and a test compares their numbers
//! with Perfetto's own schema.

mod events;
mod proto;
mod reader;
mod wire;
mod writer;

#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod tests;

pub use events::check_events;
pub use reader::check_packet;
pub(crate) use reader::{is_perfetto, read};
pub use writer::write;
