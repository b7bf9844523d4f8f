//! Individually timed reads, for measuring a device for a model.
//!
//! The clients' rings count completions and keep histograms; this one returns each read's times in
//! order.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};

use crate::EngineError;
use crate::buffer::Buffer;
use crate::drive::PATIENCE;
use crate::shared::monotonic_ns;

/// Between checks of the stop flag.
static TICK: Timespec = Timespec::new().nsec(20_000_000);

/// Memory and ring outlive every read: if one does not complete, they are leaked.
pub struct TimedReads {
    ring: ManuallyDrop<IoUring>,
    buffer: ManuallyDrop<Buffer>,
    file: File,
    path: PathBuf,
    /// Buffer bytes per slot.
    slot_bytes: usize,
    slots: usize,
    in_flight: usize,
}

impl std::fmt::Debug for TimedReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimedReads").field("path", &self.path).finish_non_exhaustive()
    }
}

impl TimedReads {
    /// `depth` reads of up to `largest` bytes at once, with direct I/O. Fails without memory or
    /// io_uring.
    pub fn new(
        file: File,
        path: &Path,
        depth: u32,
        largest: u32,
    ) -> Result<TimedReads, EngineError> {
        let failed = |cause| EngineError::Setup {
            doing: "cannot set up io_uring",
            cause,
            next: "it needs Linux 5.11 and sysctl kernel.io_uring_disabled = 0",
        };
        let slots = depth.max(1);
        let ring = super::uring::build(slots).map_err(failed)?;
        let buffer = Buffer::new(largest, slots, None)?;
        Ok(TimedReads {
            ring: ManuallyDrop::new(ring),
            buffer: ManuallyDrop::new(buffer),
            file,
            path: path.to_owned(),
            slot_bytes: largest as usize,
            slots: slots as usize,
            in_flight: 0,
        })
    }

    /// Reads offset and length in bytes, in order with `depth` in flight. Returns submission and
    /// completion times on the monotonic clock; if stopped, fewer than the reads, none of them
    /// usable.
    ///
    /// # Errors
    /// A read fails or is short, or none completes for a minute.
    pub fn read_many(
        &mut self,
        depth: u32,
        reads: &[(u64, u32)],
        stop: &AtomicBool,
    ) -> Result<Vec<(u64, u64)>, EngineError> {
        let depth = (depth.max(1) as usize).min(self.slots);
        assert!(
            reads.iter().all(|(_, len)| *len as usize <= self.slot_bytes),
            "a read fits into its slot"
        );
        let mut times = vec![(0, 0); reads.len()];
        let (mut next, mut free) = (0, (0..depth).collect::<Vec<_>>());
        let mut last_ns = monotonic_ns();
        let mut failure = None;
        while next < reads.len() && failure.is_none() && !stop.load(Ordering::Relaxed)
            || self.in_flight > 0
        {
            while next < reads.len() && failure.is_none() && !stop.load(Ordering::Relaxed) {
                let Some(slot) = free.pop() else { break };
                let (offset, len) = reads[next];
                self.push(slot, next, offset, len);
                times[next].0 = monotonic_ns();
                next += 1;
            }
            match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&TICK)) {
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                    _ => return Err(self.failed(error)),
                },
            }
            let now = monotonic_ns();
            for done in self.ring.completion() {
                let (slot, at) =
                    ((done.user_data() >> 32) as usize, done.user_data() as u32 as usize);
                (last_ns, self.in_flight) = (now, self.in_flight - 1);
                free.push(slot);
                times[at].1 = now;
                if done.result() != reads[at].1 as i32 {
                    failure.get_or_insert(done.result());
                }
            }
            if self.in_flight > 0 && now.saturating_sub(last_ns) > PATIENCE.as_nanos() as u64 {
                return Err(EngineError::Hung {
                    clients: 1,
                    path: self.path.clone(),
                    seconds: PATIENCE.as_secs(),
                });
            }
        }
        match failure {
            Some(result @ 0..) => Err(self.failed(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("a read ended after {result} bytes"),
            ))),
            Some(errno) => Err(self.failed(io::Error::from_raw_os_error(-errno))),
            None => {
                times.truncate(next);
                Ok(times)
            }
        }
    }

    fn failed(&self, cause: io::Error) -> EngineError {
        EngineError::File { doing: "cannot read", path: self.path.clone(), cause }
    }

    fn push(&mut self, slot: usize, at: usize, offset: u64, len: u32) {
        let start = self.buffer.all()[slot * self.slot_bytes..].as_mut_ptr();
        let entry = opcode::Read::new(Fd(self.file.as_raw_fd()), start, len)
            .offset(offset)
            .build()
            .user_data((slot as u64) << 32 | at as u64);
        // SAFETY: the entry names a file that lives as long as the ring, and a range of the buffer
        // that belongs to this slot alone until its completion is taken; the range is within the
        // buffer, because a read is no longer than a slot. The buffer is unmapped after the last
        // completion, or never.
        unsafe { self.ring.submission().push(&entry) }
            .expect("the ring has an entry for each slot");
        self.in_flight += 1;
    }
}

impl Drop for TimedReads {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            return;
        }
        // SAFETY: this is the only place that drops the two, it is reached once, and nothing uses
        // them afterwards.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn every_read_has_its_own_times_and_no_more_are_open_than_asked_for() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let mut timed = TimedReads::new(file.reopen().unwrap(), file.path(), 4, 8192).unwrap();
        let reads: Vec<(u64, u32)> = (0..100).map(|at| (at % 64 * 8192, 4096)).collect();
        let times = timed.read_many(4, &reads, &AtomicBool::new(false)).unwrap();
        assert_eq!(times.len(), 100);
        assert!(times.iter().all(|(began, ended)| began <= ended));
        for (began, _) in &times {
            let open =
                times.iter().filter(|(other, ended)| other <= began && ended > began).count();
            assert!(open <= 4, "{open} open at once");
        }
        assert!(
            timed.read_many(1, &reads, &AtomicBool::new(true)).unwrap().is_empty(),
            "stopped before the first"
        );
    }

    #[test]
    fn a_read_beyond_the_end_is_an_error_that_names_the_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 4096]).unwrap();
        let mut timed = TimedReads::new(file.reopen().unwrap(), file.path(), 1, 4096).unwrap();
        let error =
            timed.read_many(1, &[(2048, 4096)], &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read /") && error.contains("ended after 2048 bytes"),
            "{error}"
        );
        assert_eq!(
            timed.read_many(1, &[(0, 4096)], &AtomicBool::new(false)).unwrap().len(),
            1,
            "and goes on"
        );
    }
}
