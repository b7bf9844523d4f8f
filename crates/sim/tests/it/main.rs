//! The simulator from outside: devices, engine, and schedulers on modelled disks.

mod bfq;
mod claims;
mod device;
mod engine;
mod fit;
mod golden;
mod memory;
mod nearest;
mod queueing;
mod workload;
