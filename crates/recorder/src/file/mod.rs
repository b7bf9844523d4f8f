//! Trace files.

#[cfg(feature = "full")]
pub mod columnar;
#[cfg_attr(not(feature = "full"), path = "minimal.rs")]
mod libraries;
mod metered;
#[cfg(feature = "full")]
pub mod output;
mod packed;
mod per_cpu;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use libraries::{is_trace, read_bytes, write_run_queue};
pub use metered::check_unpacked;
pub use per_cpu::{check_files, parts};
pub use read::{ReadOptions, read};
pub use write::{can_write, is_perfetto, write, write_bytes, write_tracks};
