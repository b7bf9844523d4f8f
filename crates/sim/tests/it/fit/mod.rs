//! Fits of modelled devices with known parameters.

mod disks;
mod latencies;
mod recorded;
