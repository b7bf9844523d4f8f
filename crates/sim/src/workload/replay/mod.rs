//! `replay`: a trace as a workload.
//!
//! What is replayed, and what each request waits for, is [`trace::replay`]; [`client`] makes the
//! requests. Reading the file is left to the caller that runs the workload, since this crate
//! touches no files: see [`crate::workload::WorkloadKind::needs_trace`].

mod client;
pub(crate) mod params;
mod places;
pub(crate) mod setup;
#[cfg(test)]
mod tests;

pub(crate) use client::build;
pub(crate) use params::{
    ACCEPTS, DEVICE, FILE, FORMAT, LOOP, PART, READS_ONLY, SCALE, SKIP_BAD, SPEED, WRAP, aligned,
    clients, fits, iodepth, possible, writing,
};
pub use setup::{Format, LoopMode, ReplayParams};
