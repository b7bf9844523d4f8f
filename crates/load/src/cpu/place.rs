//! Where a CPU workload does its I/O: a file without a name, or the disk of a guest.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::buffer::Buffer;
use crate::cpu::Failure;
use crate::cpu::clock::is_virtual;

/// The disk of a guest whose time is virtual (`kernel/modeldisk-main.c`).
const GUEST_DISK: &str = "/dev/disk0";

/// A thread's part of the disk.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) file: File,
    /// Of the part's first byte.
    pub(crate) start: u64,
}

impl Place {
    /// The part number `at` of those of `bytes` each. `direct` passes by the page cache, where the
    /// file system can do so. [`Failure::Refused`] without unnamed files.
    pub(crate) fn open(dir: &Path, at: u32, bytes: u64, direct: bool) -> Result<Place, Failure> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let asked = if direct { flags | OFlags::DIRECT } else { flags };
        if is_virtual() {
            let file = open(GUEST_DISK, asked, Mode::empty())
                .map_err(refused("open the disk of the guest"))?;
            return Ok(Place { file: file.into(), start: u64::from(at) * bytes });
        }
        let unnamed = |flags| open(dir, flags | OFlags::TMPFILE, Mode::RUSR | Mode::WUSR);
        let file = match unnamed(asked) {
            Err(Errno::INVAL) if direct => unnamed(flags),
            done => done,
        };
        let file = file.map_err(refused(
            "make a file without a name in dir=… (name a directory on ext4, xfs, btrfs or tmpfs)",
        ))?;
        Ok(Place { file: file.into(), start: 0 })
    }
}

pub(crate) fn refused<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Failure {
    move |cause| Failure::Refused { what, cause: cause.into() }
}

/// Incompressible bytes, aligned for direct I/O.
pub(crate) fn block(bytes: u64) -> Result<Buffer, Failure> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    Buffer::new(bytes, 1, Some(bytes.into()))
        .map_err(|_| refused("get memory for its blocks")(io::ErrorKind::OutOfMemory))
}
