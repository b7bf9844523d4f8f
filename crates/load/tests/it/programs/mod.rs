//! Runners on a real loop device, without an arena.

mod bench;
mod ground;
mod pgbench;
