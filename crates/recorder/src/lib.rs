//! Traces of live disks, and trace files.
//!
//! [`mod@file`] reads and writes Parquet, the format of `schedlab trace record`, and other tools'
//! formats. [`live`] records.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "the full build uses all of it")
)]

pub mod file;
pub mod live;
#[cfg(feature = "full")]
pub mod perfetto;
