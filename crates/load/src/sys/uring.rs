//! A client with several requests in flight: an io_uring with a registered file and buffer, or the
//! older asynchronous I/O (`aio.rs`).
//!
//! One system call submits new requests and waits for the first completion; all available
//! completions get the same time. A timeout in the ring fires fifty times a second, because a
//! timeout per wait would arm a timer for each request.
//!
//! The kernel unpins registered pages only when no request uses them, so a request that outlives
//! the mapping writes to pages that no other process has. Nevertheless, a ring that fails with
//! requests in flight is leaked with its buffer; if the device hangs, its own thread waits for it.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use elevator::{Completion, Op, Request, Time};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use sim::workload::{Client, Step};

use super::aio::Aio;
use crate::EngineError;
use crate::buffer::Buffer;
use crate::drive::Submission;
use crate::shared::Shared;
use crate::sync::finish;
use crate::tally::{Failure, Tally};
use crate::target::Target;
use crate::turnaround::Turnaround;

/// Between checks of clock and stop flag.
static TICK: Timespec = Timespec::new().nsec(TICK_NS as u32);
const TICK_NS: u64 = 20_000_000;
/// `user_data` of the timeout.
const TICK_ID: u64 = u64::MAX;

enum Calls {
    Uring(IoUring),
    Aio(Aio),
}

pub(crate) struct Ring {
    ring: ManuallyDrop<Calls>,
    buffer: ManuallyDrop<Buffer>,
    /// Buffer bytes per slot.
    slot_size: usize,
    slots: Vec<InFlight>,
    free: Vec<u32>,
    /// Whether the timeout is submitted.
    ticking: bool,
}

#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    submitted: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RingState {
    Working,
    /// Starts nothing before this time.
    Thinking(u64),
    /// Starts nothing until this many are in flight.
    Awaiting(u32),
    /// Waits for everything, then flushes.
    Syncing,
    /// Starts nothing more.
    Closing,
}

impl Ring {
    /// `depth` requests of up to `size` bytes. Call it from the thread that will use it.
    pub(crate) fn new(
        mut buffer: Buffer,
        size: u32,
        depth: u32,
        target: &Target,
        submission: Submission,
    ) -> Result<Ring, EngineError> {
        let failed = |doing, next| move |cause| EngineError::Setup { doing, cause, next };
        if matches!(submission, Submission::Aio { .. }) {
            let next = "raise sysctl fs.aio-max-nr, or use a smaller iodepth";
            let aio = Aio::new(depth).map_err(failed("cannot set up asynchronous I/O", next))?;
            return Ok(Ring::with(Calls::Aio(aio), buffer, size, depth));
        }
        let ring = build(depth).map_err(failed(
            "cannot set up io_uring",
            "it needs Linux 5.11 and sysctl kernel.io_uring_disabled = 0; iodepth = 1 does without",
        ))?;
        let bytes = buffer.all();
        let area = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: the area is the whole of a private mapping that lives as long as the ring (both
        // are dropped together, the ring first, or leaked together); the kernel pins its pages.
        unsafe { ring.submitter().register_buffers(&[area]) }.map_err(failed(
            "cannot register memory with io_uring",
            "run as root or raise the limit of locked memory (ulimit -l), or use a smaller iodepth or block_size",
        ))?;
        ring.submitter().register_files(&[target.file.as_raw_fd()]).map_err(failed(
            "cannot register the target with io_uring",
            "iodepth = 1 does without",
        ))?;
        Ok(Ring::with(Calls::Uring(ring), buffer, size, depth))
    }

    fn with(calls: Calls, buffer: Buffer, size: u32, depth: u32) -> Ring {
        let idle = InFlight { request: Request::new(Op::Read, 0, 0), submitted: 0 };
        Ring {
            ring: ManuallyDrop::new(calls),
            buffer: ManuallyDrop::new(buffer),
            slot_size: size as usize,
            slots: vec![idle; depth as usize],
            free: (0..depth).rev().collect(),
            ticking: false,
        }
    }

    /// Runs until the client ends, the window closes, or it is stopped; waits for requests in
    /// flight.
    pub(crate) fn run(
        &mut self,
        client: &mut dyn Client,
        target: &Target,
        turnaround: &mut Turnaround,
        shared: &Shared,
        tally: &mut Tally,
    ) {
        let mut now = shared.now();
        let mut last = None;
        let mut state = RingState::Working;
        tally.begin(now);
        loop {
            if now >= tally.close_ns || shared.is_stopped() {
                state = RingState::Closing;
            }
            if let RingState::Thinking(until) = state
                && now >= until
            {
                state = RingState::Working;
            }
            if let RingState::Awaiting(most) = state
                && self.in_flight() <= most
            {
                state = RingState::Working;
            }
            if state == RingState::Working {
                state = self.fill(client, target, now, &mut last, tally);
            }
            if self.free.len() < self.slots.len() {
                match self.wait(state, now) {
                    Ok(()) => {}
                    Err(error) => {
                        tally.first_error.get_or_insert(format!("io_uring: {error}"));
                        tally.errors += 1;
                        return;
                    }
                }
                now = shared.now();
                let in_flight = self.in_flight();
                if !self.reap(target, now, &mut last, tally) {
                    state = RingState::Closing;
                }
                if self.in_flight() < in_flight {
                    now = turnaround.wait(now, tally.close_ns, shared);
                }
            } else {
                match state {
                    RingState::Closing => return,
                    RingState::Thinking(until) => now = shared.sleep_until(until, tally.close_ns),
                    RingState::Syncing => {
                        let result = target.file.sync_data();
                        now = shared.now();
                        tally.record_sync(result, &target.path, now);
                        state = RingState::Working;
                    }
                    RingState::Working | RingState::Awaiting(_) => {
                        unreachable!(
                            "a client that works or waits for completions has something in flight"
                        )
                    }
                }
            }
            tally.check_window(now);
        }
    }

    fn in_flight(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Takes steps until the ring is full or the client requests no I/O.
    fn fill(
        &mut self,
        client: &mut dyn Client,
        target: &Target,
        now: u64,
        last: &mut Option<Completion>,
        tally: &mut Tally,
    ) -> RingState {
        while let Some(&slot) = self.free.last() {
            match client.next(Time::from_ns(now), last.take().as_ref()) {
                Step::Io(request) => {
                    self.free.pop();
                    self.slots[slot as usize] = InFlight { request, submitted: now };
                    let range = slot as usize * self.slot_size
                        ..slot as usize * self.slot_size + request.len as usize;
                    let bytes = &mut self.buffer.all()[range];
                    match &mut *self.ring {
                        Calls::Uring(ring) => {
                            let entry = entry(target, &request, slot, bytes);
                            // SAFETY: the entry names the registered file and a range inside the
                            // registered buffer that belongs to this slot alone until its
                            // completion is taken.
                            unsafe { ring.submission().push(&entry) }
                                .expect("the ring has an entry for each slot and one for the tick");
                        }
                        Calls::Aio(aio) => {
                            aio.queue(
                                slot,
                                request.op,
                                target.file.as_raw_fd(),
                                bytes,
                                target.base + request.offset,
                            );
                        }
                    }
                }
                Step::Think(ns) => return RingState::Thinking(now + ns),
                Step::Await(most) if (self.slots.len() - self.free.len()) as u32 <= most => {}
                Step::Await(most) => return RingState::Awaiting(most),
                Step::Sync => return RingState::Syncing,
                Step::End => {
                    tally.finished = true;
                    return RingState::Closing;
                }
            }
        }
        RingState::Working
    }

    /// Submits, and waits for a completion, the tick, or the end of a think time.
    fn wait(&mut self, state: RingState, now: u64) -> io::Result<()> {
        let ring = match &mut *self.ring {
            Calls::Uring(ring) => ring,
            Calls::Aio(aio) => {
                let rest_ns = match state {
                    RingState::Thinking(until) => (until - now).min(TICK_NS),
                    _ => TICK_NS,
                };
                // SAFETY: each request has a slot of the buffer, which is its own until the
                // completion is taken; the buffer is unmapped after the last completion, or never.
                return match unsafe { aio.submit() }.and_then(|()| aio.wait(rest_ns)) {
                    Err(error)
                        if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) =>
                    {
                        Ok(())
                    }
                    other => other,
                };
            }
        };
        if !self.ticking {
            let tick = opcode::Timeout::new(&TICK).build().user_data(TICK_ID);
            // SAFETY: the time that the entry points to is static.
            unsafe { ring.submission().push(&tick) }.expect("the ring has an entry for the tick");
            self.ticking = true;
        }
        let waited = match state {
            RingState::Thinking(until) => {
                let rest = Timespec::new().nsec((until - now).min(TICK_NS) as u32);
                ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&rest))
            }
            _ => ring.submitter().submit_and_wait(1),
        };
        match waited {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// False if the client must not continue.
    fn reap(
        &mut self,
        target: &Target,
        now: u64,
        last: &mut Option<Completion>,
        tally: &mut Tally,
    ) -> bool {
        let mut go_on = true;
        loop {
            let (id, moved) = match &mut *self.ring {
                Calls::Uring(ring) => {
                    let Some(done) = ring.completion().next() else { break };
                    (done.user_data(), done.result())
                }
                Calls::Aio(aio) => {
                    let Some(done) = aio.next_completion() else { break };
                    done
                }
            };
            if id == TICK_ID {
                self.ticking = false;
                continue;
            }
            let slot = id as u32;
            let InFlight { request, submitted } = self.slots[slot as usize];
            self.free.push(slot);
            *last = Some(Completion {
                request,
                submitted: Time::from_ns(submitted),
                completed: Time::from_ns(now),
            });
            if moved == request.len as i32 {
                tally.record_completion(&request, submitted, now);
                continue;
            }
            let start = slot as usize * self.slot_size;
            let bytes = &mut self.buffer.all()[start..start + request.len as usize];
            let result = match moved {
                moved @ 0.. => finish(target, &request, bytes, moved as usize),
                errno if matches!(-errno, libc::EINTR | libc::EAGAIN) => {
                    finish(target, &request, bytes, 0)
                }
                errno => Err(Failure::Error(io::Error::from_raw_os_error(-errno))),
            };
            match result {
                Ok(()) => tally.record_completion(&request, submitted, now),
                Err(failure) => {
                    go_on &=
                        tally.record_failure(&request, &target.path, target.is_device, &failure)
                }
            }
        }
        go_on
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.free.len() < self.slots.len() {
            return;
        }
        // The kernel tears the ring down later; the target must be free when the drive ends.
        if let Calls::Uring(ring) = &*self.ring {
            let _ = ring.submitter().unregister_files();
            let _ = ring.submitter().unregister_buffers();
        }
        // SAFETY: this is the only place that drops the two, it is reached once, and nothing uses
        // them afterwards.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.buffer);
        }
    }
}

/// Single-issuer since Linux 6.1, whose completions cost no interrupts between CPUs.
pub(super) fn build(depth: u32) -> io::Result<IoUring> {
    let lean = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth + 1);
    let ring = match lean {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth + 1)?,
        other => other?,
    };
    if ring.params().is_feature_ext_arg() {
        Ok(ring)
    } else {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

#[inline]
fn entry(target: &Target, request: &Request, slot: u32, bytes: &mut [u8]) -> squeue::Entry {
    let at = target.base + request.offset;
    let start = bytes.as_mut_ptr();
    let entry = match request.op {
        Op::Read => opcode::ReadFixed::new(Fixed(0), start, request.len, 0).offset(at).build(),
        Op::Write => opcode::WriteFixed::new(Fixed(0), start, request.len, 0).offset(at).build(),
    };
    entry.user_data(slot.into())
}
