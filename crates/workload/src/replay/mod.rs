//! `replay`: a recorded block trace as a workload.
//!
//! A trace is text: a fio iolog ([`fio`]), what blkparse prints ([`blkparse`]), or a CSV of the MSR Cambridge collection
//! ([`msr`]). [`parse`] reads any of them into a [`Trace`]; [`client`] replays it. Reading the file is left to the caller that runs the
//! workload, since this crate touches no files: see [`crate::WorkloadKind::needs_trace`].
//!
//! Traces come from elsewhere and may be damaged: any bytes give a trace or an error that names the line and what was expected
//! there, never a panic. With `skip_bad` broken lines are counted and passed over instead.
//!
//! Times are taken relative to the first request. A trace in which time runs backwards is an error: its requests would be
//! replayed in an order that never was. Where a trace covers several files (fio) or disks (MSR), they are laid out one after
//! another on the target, each on a border of 1 MiB [P].

mod blkparse;
mod client;
mod fio;
mod lines;
mod msr;
pub(crate) mod params;
mod parse;
pub(crate) mod setup;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use client::build;
pub(crate) use params::{
    ACCEPTS, FILE, FORMAT, LOOP, SKIP_BAD, SPEED, WRAP, aligned, clients, fits, iodepth, possible, writing,
};
pub use parse::parse;
pub use setup::{LoopMode, ReplayParams};
pub use trace::{Format, Options, Record, Trace, TraceError};
