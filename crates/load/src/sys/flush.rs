//! The ioctl that drops what is cached of a block device.

use std::fs::File;
use std::io;

/// BLKFLSBUF of linux/fs.h: write back a block device's dirty pages and drop its cached ones.
const BLKFLSBUF: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 97);

/// Drops the cached pages of a block device, the dirty ones written; refused for any other file.
pub(crate) fn flush_buffers(file: &File) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument and touches no memory of this process; on a file that is
    // no block device it is refused.
    unsafe { rustix::ioctl::ioctl(file, rustix::ioctl::NoArg::<BLKFLSBUF>::new()) }
        .map_err(Into::into)
}
