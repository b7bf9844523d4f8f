//! Perfetto traces: writes tracks and run queues for ui.perfetto.dev, and reads
//! ftrace's block events.
//!
//! A test compares the numbers of messages in `proto` with Perfetto's own schema.

mod events;
mod proto;
mod reader;
mod run_queue;
mod wire;
mod writer;

#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod run_queue_tests;
#[cfg(test)]
mod tests;

pub use events::check_events;
pub use reader::check_packet;
pub(crate) use reader::{is_perfetto, read};
pub(crate) use run_queue::write_run_queue;
pub use writer::write;
