//! Trace formats: read into a [`crate::Trace`], or written for other tools.
//!
//! [`FORMATS`] is the table. A text format is one file with a [`lines::Reader`], fed line by line
//! ([`Parser::feed`]); [`blktrace`] decodes binary files. Parquet, compression and file access are
//! in crate `recorder`. Any bytes give a trace or an error that names the line and what was
//! expected, never a panic. With `skip_bad` malformed lines are counted and skipped.

mod blkparse;
pub mod blktrace;
mod builder;
mod cloud;
mod fio;
mod format;
mod join;
mod lines;
mod msr;
mod parser;
#[cfg(test)]
mod tests;
mod write;

pub use builder::{Builder, Extent};
pub use format::{FORMATS, Format, FormatRow, Options, TraceError};
pub use join::{Action, Event, Joiner};
pub use parser::{Parser, parse};
pub use write::lines;
