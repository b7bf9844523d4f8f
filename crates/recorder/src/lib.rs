//! Traces of live disks, and their files.
//!
//! [`mod@file`] reads and writes files: Parquet, in which `schedlab trace record` writes, and the
//! text of other tools. [`live`] records.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "the full build uses all of it")
)]

pub mod file;
pub mod live;
#[cfg(feature = "full")]
pub mod perfetto;
