//! What a disk was asked for: a trace of requests, from any source.
//!
//! A [`Trace`] is what every reader of a format makes, what `schedlab trace record` writes, and
//! what a profile, a replay and a model are made from. A format that does not know a stage of a
//! request leaves it out ([`At::UNKNOWN`]); nothing is invented.

#![forbid(unsafe_code)]

pub mod formats;
pub mod io;
pub mod profile;
pub mod replay;
pub mod synthesize;
pub mod trace;

pub use io::{At, Flags, Io, Kind};
pub use trace::{About, Device, Process, Trace};
