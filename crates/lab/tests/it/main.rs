//! The crate through its interface: results of other builds, limits of inputs, plans measured in
//! pieces, and records on any number of threads.

mod builds;
mod limits;
mod resolved;
mod shards;
mod threads;
