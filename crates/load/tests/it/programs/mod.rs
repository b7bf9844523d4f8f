//! Runners on a real loop device, without an arena around them.

mod bench;
mod ground;
mod pgbench;
