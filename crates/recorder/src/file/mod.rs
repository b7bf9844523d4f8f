//! Files of recordings.

#[cfg(feature = "parquet")]
pub mod columnar;
mod metered;
#[cfg_attr(not(feature = "parquet"), allow(dead_code, unused_imports, reason = "only files of Parquet grow"))]
pub mod output;
mod packed;
mod per_cpu;
#[cfg(not(feature = "perfetto"))]
mod perfetto_absent;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use metered::check_unpacked;
pub use per_cpu::{check_files, parts};
pub use read::{ReadOptions, is_recording, read, read_bytes};
pub use write::{can_write, is_perfetto, write, write_bytes};
