//! Linux's asynchronous I/O (io_setup, io_submit, io_getevents): several requests in flight from
//! one thread.
//!
//! Without a free tag, io_submit sleeps, and the thread submits no more, like clients of the
//! simulator (crates/sim/src/engine/client.rs) and the guest's kernel threads. io_uring uses worker
//! threads instead.
//!
//! Source: Linux 6.1 fs/aio.c and include/uapi/linux/aio_abi.h; confirmed. libc has no wrapper for
//! these calls.

use std::io;
use std::os::fd::RawFd;

use elevator::Op;

/// struct iocb.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    reqprio: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// struct io_event.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

/// IOCB_CMD_PREAD and IOCB_CMD_PWRITE.
const READ: u16 = 0;
const WRITE: u16 = 1;

/// With queued requests and the last completions.
#[derive(Debug)]
pub(super) struct Aio {
    context: libc::c_ulong,
    /// One block per slot.
    blocks: Vec<Block>,
    queued: Vec<u32>,
    events: Vec<Event>,
    /// Number of events returned to the client.
    taken: usize,
    given: usize,
}

impl Aio {
    pub(super) fn new(depth: u32) -> io::Result<Aio> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's number to a variable initialised with 0, as it
        // requires.
        check(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) })?;
        let slots = depth as usize;
        Ok(Aio {
            context,
            blocks: vec![Block::default(); slots],
            queued: Vec::with_capacity(slots),
            events: vec![Event::default(); slots],
            taken: 0,
            given: 0,
        })
    }

    /// Queues a request for the next submission.
    pub(super) fn queue(&mut self, slot: u32, op: Op, fd: RawFd, bytes: &mut [u8], offset: u64) {
        let opcode = match op {
            Op::Read => READ,
            Op::Write => WRITE,
        };
        self.blocks[slot as usize] = Block {
            data: slot.into(),
            opcode,
            fd: fd as u32,
            buffer: bytes.as_mut_ptr() as u64,
            bytes: bytes.len() as u64,
            offset: offset as i64,
            ..Block::default()
        };
        self.queued.push(slot);
    }

    /// Sleeps while there is no tag. A failed call leaves the rest queued.
    ///
    /// # Safety
    /// The memory of each queued request must stay valid, and unused by others, until its
    /// completion is taken.
    pub(super) unsafe fn submit(&mut self) -> io::Result<()> {
        while !self.queued.is_empty() {
            let blocks = self.blocks.as_mut_ptr();
            let mut list: Vec<*mut Block> =
                self.queued.iter().map(|slot| blocks.wrapping_add(*slot as usize)).collect();
            // SAFETY: the list points to as many blocks as it has entries; the kernel copies blocks
            // during the call. Their buffers are the caller's guarantee.
            let handed = check(unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, list.len(), list.as_mut_ptr())
            })?;
            self.queued.drain(..handed as usize);
        }
        Ok(())
    }

    /// Takes all available completions, after waiting for the first.
    pub(super) fn wait(&mut self, nanoseconds: u64) -> io::Result<()> {
        let mut timeout = libc::timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as i64,
            tv_nsec: (nanoseconds % 1_000_000_000) as i64,
        };
        (self.taken, self.given) = (0, 0);
        let room = self.events.len();
        // SAFETY: the kernel writes at most `room` events, which is the size of the table.
        let taken = check(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                1 as libc::c_long,
                room,
                self.events.as_mut_ptr(),
                &raw mut timeout,
            )
        })?;
        self.taken = taken as usize;
        Ok(())
    }

    /// Returns slot and result.
    pub(super) fn next_completion(&mut self) -> Option<(u64, i32)> {
        let event = self.events.get(self.given).filter(|_| self.given < self.taken)?;
        self.given += 1;
        Some((event.data, event.result as i32))
    }
}

impl Drop for Aio {
    /// Waits for requests in flight.
    fn drop(&mut self) {
        // SAFETY: the context belongs to this value and is destroyed once; no request of it is in
        // flight, or the kernel waits for it.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn check(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
