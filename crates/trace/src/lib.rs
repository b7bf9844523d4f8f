//! What a disk was asked for: a recording of requests, from any source.
//!
//! A [`Recording`] is what every reader of a format makes, what `schedlab record` writes, and what
//! a profile, a replay and a model are made from. A format that does not know a stage of a request
//! leaves it out ([`At::UNKNOWN`]); nothing is invented.

#![forbid(unsafe_code)]

pub mod formats;
pub mod io;
pub mod profile;
pub mod recording;
pub mod replay;
pub mod synthesize;

pub use io::{At, Flags, Io, Kind};
pub use recording::{About, Device, Process, Recording};
