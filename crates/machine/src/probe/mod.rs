//! Probes: what the device and the system counted while a workload ran.
//!
//! A load engine knows what it asked for; only the kernel's counters know what happened. They tell
//! whether the requests reached the device at all, whether somebody else used it, whether the
//! hypervisor or the heat took the CPU away. Everything here is plain data, taken before and after
//! a *whole* drive (warm-up included, since the device counts that too) and subtracted. What
//! follows from a difference is the arena's matter.
//!
//! Paths are parameters (the device's directory such as `/sys/block/loop0`, and the roots of /proc
//! and /sys), so that every reading can be tested on files.

mod device;
mod frequency;
mod system;

pub use device::{DeviceCounters, DeviceDelta};
pub use frequency::frequency_mhz;
pub use system::{SystemCounters, SystemDelta};

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The device's directory is not there any more: the device went away.
    #[error("{} is gone: the device was removed; see dmesg", .path.display())]
    Gone { path: PathBuf },
    #[error("{}: cannot read: {cause}", .path.display())]
    Unreadable {
        path: PathBuf,
        /// The kernel's answer; part of the message, hence no `source`.
        cause: std::io::Error,
    },
    /// The file does not look as the kernel writes it.
    #[error("{} holds {text:?} where {expected} belongs: is this kernel older than 2.6.39?", .path.display())]
    Malformed { path: PathBuf, text: String, expected: &'static str },
}

/// A file's text; a missing one means that the device has gone.
fn read(path: &Path) -> Result<String, ProbeError> {
    std::fs::read_to_string(path).map_err(|cause| match (cause.kind(), cause.raw_os_error()) {
        (std::io::ErrorKind::NotFound, _) | (_, Some(libc::ENODEV)) => {
            ProbeError::Gone { path: path.into() }
        }
        _ => ProbeError::Unreadable { path: path.into(), cause },
    })
}

/// The whole numbers of a line, other words left out.
fn numbers(line: &str) -> Vec<u64> {
    line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}
