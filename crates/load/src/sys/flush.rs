//! The ioctl that drops a block device's cache.

use std::fs::File;
use std::io;

/// BLKFLSBUF of linux/fs.h.
const BLKFLSBUF: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 97);

/// Writes dirty pages first; other files refuse it.
pub(crate) fn flush_buffers(file: &File) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument and touches no memory of this process; other files refuse
    // it.
    unsafe { rustix::ioctl::ioctl(file, rustix::ioctl::NoArg::<BLKFLSBUF>::new()) }
        .map_err(Into::into)
}
