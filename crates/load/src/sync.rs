//! A synchronous client: one request at a time, by pread and pwrite.
//!
//! A completion time is also the next submission time: the step in between takes a few nanoseconds,
//! less than reading the clock.

use std::io;
use std::os::unix::fs::FileExt;

use rustix::io::{Errno, pread, pwrite};

use elevator::{Completion, Op, Request, Time};
use sim::workload::{Client, Step};

use crate::buffer::Buffer;
use crate::shared::Shared;
use crate::tally::{Failure, Tally};
use crate::target::Target;
use crate::turnaround::Turnaround;

/// Runs until the client ends, the window closes, or it is stopped.
pub(super) fn run(
    client: &mut dyn Client,
    target: &Target,
    buffer: &mut Buffer,
    turnaround: &mut Turnaround,
    shared: &Shared,
    tally: &mut Tally,
) {
    let mut now = shared.now();
    let mut last = None;
    tally.begin(now);
    while now < tally.close_ns && !shared.is_stopped() {
        match client.next(Time::from_ns(now), last.as_ref()) {
            Step::Io(request) => {
                let result = transfer(target, &request, buffer.bytes(request.len));
                let done = shared.now();
                match result {
                    Ok(()) => tally.record_completion(&request, now, done),
                    Err(failure) => {
                        if !tally.record_failure(&request, &target.path, target.is_device, &failure)
                        {
                            break;
                        }
                    }
                }
                last = Some(Completion {
                    request,
                    submitted: Time::from_ns(now),
                    completed: Time::from_ns(done),
                });
                now = turnaround.wait(done, tally.close_ns, shared);
            }
            Step::Think(ns) => now = shared.sleep_until(now + ns, tally.close_ns),
            // Nothing is in flight between two steps.
            Step::Await(_) => {}
            Step::Sync => {
                let result = target.file.sync_data();
                now = shared.now();
                tally.record_sync(result, &target.path, now);
            }
            Step::End => {
                tally.finished = true;
                break;
            }
        }
        tally.check_window(now);
    }
}

/// Calls the kernel directly, because libc's cancellation points cost two atomic operations in a
/// multi-threaded program.
#[inline]
fn transfer(target: &Target, request: &Request, bytes: &mut [u8]) -> Result<(), Failure> {
    let at = target.base + request.offset;
    let moved = match request.op {
        Op::Read => pread(&*target.file, &mut *bytes, at),
        Op::Write => pwrite(&*target.file, &*bytes, at),
    };
    match moved {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(n) => finish(target, request, bytes, n),
        Err(Errno::INTR) => finish(target, request, bytes, 0),
        Err(errno) => Err(Failure::Error(errno.into())),
    }
}

/// Continues a short transfer until it is complete or fails.
#[cold]
pub(super) fn finish(
    target: &Target,
    request: &Request,
    bytes: &mut [u8],
    mut done: usize,
) -> Result<(), Failure> {
    while done < bytes.len() {
        let at = target.base + request.offset + done as u64;
        let moved = match request.op {
            Op::Read => target.file.read_at(&mut bytes[done..], at),
            Op::Write => target.file.write_at(&bytes[done..], at),
        };
        match moved {
            Ok(0) => return Err(Failure::EndOfTarget),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Error(error)),
        }
    }
    Ok(())
}
