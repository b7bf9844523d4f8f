//! Limits reads by the uncompressed size of a trace.

use std::io::Read;

use anyhow::{Result, anyhow};
use text::limits::TRACE_UNPACKED;

pub fn check_unpacked(bytes: u64) -> Result<()> {
    let bytes = usize::try_from(bytes)
        .map_err(|_| anyhow!("trace: more bytes than this machine can count"))?;
    Ok(TRACE_UNPACKED.check(bytes)?)
}

pub(super) struct Metered<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Metered<R> {
    pub(super) fn new(inner: R) -> Metered<R> {
        Metered { inner, left: TRACE_UNPACKED.most }
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(to)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                let exceeded = text::limits::Exceeded { limit: &TRACE_UNPACKED, found: None };
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, exceeded));
            }
        }
        Ok(read)
    }
}
