//! Tests through the crate's interface: results of other builds, limits, segments and threads.

mod builds;
mod limits;
mod resolved;
mod shards;
mod threads;
