//! Files of recordings.

#[cfg(feature = "parquet")]
pub mod columnar;
mod metered;
pub mod output;
mod packed;
mod per_cpu;
mod read;
#[cfg(test)]
mod tests;

pub use metered::check_unpacked;
pub use per_cpu::check_files;
pub use read::{ReadOptions, read};
