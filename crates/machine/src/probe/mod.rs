//! Probes: counters of the device and the system while a workload ran.
//!
//! A load engine knows its own requests; only the kernel's counters show whether they reached the
//! device, whether other programs used it, and whether the hypervisor or throttling reduced CPU
//! time. Counters are plain data, taken before and after a *whole* drive (including warm-up, which
//! the device counts too) and subtracted. Interpreting the difference is up to the arena.
//!
//! Paths are parameters (the device's directory, such as `/sys/block/loop0`, and the roots of /proc
//! and /sys) for testing.

mod device;
mod frequency;
mod system;

pub use device::{DeviceCounters, DeviceDelta};
pub use frequency::frequency_mhz;
pub use system::{SystemCounters, SystemDelta};

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The device's directory no longer exists.
    #[error("{} is gone: the device was removed; see dmesg", .path.display())]
    Gone { path: PathBuf },
    #[error("{}: cannot read: {cause}", .path.display())]
    Unreadable {
        path: PathBuf,
        /// Part of the message, hence no `source`.
        cause: std::io::Error,
    },
    /// The file is not in the kernel's format.
    #[error("{} holds {text:?} where {expected} belongs: is this kernel older than 2.6.39?", .path.display())]
    Malformed { path: PathBuf, text: String, expected: &'static str },
}

/// A file's text; if it is missing, the device has been removed.
fn read(path: &Path) -> Result<String, ProbeError> {
    std::fs::read_to_string(path).map_err(|cause| match (cause.kind(), cause.raw_os_error()) {
        (std::io::ErrorKind::NotFound, _) | (_, Some(libc::ENODEV)) => {
            ProbeError::Gone { path: path.into() }
        }
        _ => ProbeError::Unreadable { path: path.into(), cause },
    })
}

/// The integers in a line; other words are skipped.
fn numbers(line: &str) -> Vec<u64> {
    line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}
