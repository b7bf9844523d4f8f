//! Files of recordings.

#[cfg(feature = "parquet")]
pub mod columnar;
