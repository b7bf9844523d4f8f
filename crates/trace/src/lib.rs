//! A disk's I/O: a trace of requests from any source.
//!
//! A [`Trace`] is the output of every reader and of `schedlab trace record`, and the input of
//! profiles, replays and models. A stage unknown to a format is [`At::UNKNOWN`]; nothing is
//! invented.

#![forbid(unsafe_code)]

pub mod formats;
pub mod io;
pub mod profile;
pub mod replay;
pub mod synthesize;
pub mod trace;

pub use io::{At, Flags, Io, Kind};
pub use trace::{About, Device, Process, Trace};
