//! Formats of traces: what others have recorded, read into a [`crate::Trace`], and traces
//! written for other tools.
//!
//! [`FORMATS`] is the table. A reader of text is one file with a [`lines::Reader`], which is called
//! with one line at a time, so that a file is never in memory as a whole ([`Parser::feed`]).
//! blktrace's binary files are decoded by [`blktrace`]. Parquet, compression and everything else
//! that needs a file are in crate `recorder`.
//!
//! Traces come from elsewhere and may be damaged: any bytes give a trace or an error that names
//! the line and what was expected there, never a panic. With `skip_bad` broken lines are counted
//! and passed over instead.

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
