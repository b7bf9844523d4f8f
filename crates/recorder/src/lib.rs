//! Recordings of live disks, and their files.
//!
//! [`mod@file`] reads and writes files: Parquet, in which `schedlab record` writes, and the text of other tools.
//! [`live`] records.

#![forbid(unsafe_code)]

pub mod file;
pub mod live;
#[cfg(feature = "perfetto")]
pub mod perfetto;
