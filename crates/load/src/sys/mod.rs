//! Unsafe code: rings, and an ioctl.

mod aio;
mod flush;
mod timed;
mod uring;

pub(crate) use flush::flush_buffers;
pub use timed::TimedReads;
pub(crate) use uring::Ring;
