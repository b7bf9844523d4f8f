//! `replay`: a trace as a workload.
//!
//! [`trace::replay`] decides which requests are made and what each waits for; [`client`] makes
//! them. The caller reads the file: see [`crate::workload::WorkloadKind::needs_trace`].

mod client;
pub(crate) mod params;
mod places;
pub(crate) mod setup;
#[cfg(test)]
mod tests;

pub(crate) use client::build;
pub(crate) use params::{
    ACCEPTS, DEVICE, FILE, FORMAT, LOOP, PART, READS_ONLY, SCALE, SKIP_BAD, SPEED, WRAP,
    check_alignment, clients, fits, iodepth, possible, writing,
};
pub use setup::{Format, LoopMode, ReplayParams};
