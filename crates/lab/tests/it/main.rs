//! The crate through its interface: limits of inputs, plans measured in pieces, and records on any number of threads.

mod limits;
mod shards;
mod threads;
