//! Counters of device and system while a workload ran.
//!
//! They show whether requests reached the device, whether other programs used it, and whether
//! hypervisor or throttling reduced CPU time. They are taken before and after a *whole* drive,
//! including warm-up, and subtracted; the arena interprets the difference. Paths are parameters,
//! for testing.

mod device;
mod frequency;
mod system;

pub use device::{DeviceCounters, DeviceDelta};
pub use frequency::frequency_mhz;
pub use system::{SystemCounters, SystemDelta};

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The directory no longer exists.
    #[error("{} is gone: the device was removed; see dmesg", .path.display())]
    Gone { path: PathBuf },
    #[error("{}: cannot read: {cause}", .path.display())]
    Unreadable {
        path: PathBuf,
        /// Part of the message, hence no `source`.
        cause: std::io::Error,
    },
    /// The file is not in the kernel's format.
    #[error("{}: unexpected content (found {text:?}, expected {expected}): is this kernel older than 2.6.39?", .path.display())]
    Malformed { path: PathBuf, text: String, expected: &'static str },
}

/// Missing if the device was removed.
fn read(path: &Path) -> Result<String, ProbeError> {
    std::fs::read_to_string(path).map_err(|cause| match (cause.kind(), cause.raw_os_error()) {
        (std::io::ErrorKind::NotFound, _) | (_, Some(libc::ENODEV)) => {
            ProbeError::Gone { path: path.into() }
        }
        _ => ProbeError::Unreadable { path: path.into(), cause },
    })
}

/// Other words are skipped.
fn numbers(line: &str) -> Vec<u64> {
    line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}
