//! The unsafe code of this crate: the ring whose memory the kernel reads and writes, and an ioctl.

mod flush;
mod uring;

pub(crate) use flush::flush_buffers;
pub(crate) use uring::Ring;
