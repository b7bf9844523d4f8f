//! Fits of modelled devices, whose parameters are known.

mod disks;
mod latencies;
mod recorded;
