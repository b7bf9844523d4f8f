//! A sender or receiver of messages, in a thread or a forked process.
//!
//! In a forked process, other threads' locks, including the allocator's, are never released. This
//! file therefore does not allocate, lock or panic on purpose: it uses system calls, shared atomics
//! and stack buffers. [`crate::cpu::sys`] forks only for this and [`crate::cpu::clock::compute`].

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::{Errno, read, write};

use crate::cpu::clock::{charge_step, now_ns, sleep_until};
use crate::cpu::counted::{Counted, FIGURES, OWN};

const LONGEST: usize = 4096;

/// First byte of a message, and of a farewell.
const MESSAGE: u8 = 1;
const GOODBYE: u8 = 2;

// Header of the shared numbers; a `SLOT` per task follows.
pub(crate) const READY: usize = 0;
/// 0 until the start; then the end of sending.
pub(crate) const END: usize = 1;
/// Nonzero if stopped early.
pub(crate) const STOPPED: usize = 2;
pub(crate) const HEAD: usize = 3;
/// Messages, end time, and counters of a task.
pub(crate) const SLOT: usize = 2 + FIGURES;

pub(crate) struct Channel {
    pub(crate) from: OwnedFd,
    pub(crate) to: OwnedFd,
}

#[derive(Clone, Copy)]
pub(crate) enum Role<'a> {
    Send(&'a [Channel]),
    /// From this many senders.
    Receive(&'a OwnedFd, usize),
}

/// False if a channel failed.
pub(crate) fn task(
    role: Role<'_>,
    bytes: usize,
    numbers: &[AtomicU64],
    slot: &[AtomicU64],
) -> bool {
    numbers[READY].fetch_add(1, Ordering::AcqRel);
    // Waking all tasks at once would distort the start of the measurement.
    while numbers[END].load(Ordering::Acquire) == 0 {
        sleep_until(now_ns() + 1_000_000);
    }
    let end = numbers[END].load(Ordering::Acquire);
    if end == u64::MAX && numbers[STOPPED].load(Ordering::Acquire) != 0 {
        return true;
    }
    let before = Counted::read(OWN);
    let over = || now_ns() >= end || numbers[STOPPED].load(Ordering::Acquire) != 0;
    let count = match role {
        Role::Send(channels) => send(channels, bytes, over),
        Role::Receive(from, senders) => receive(from, bytes, senders),
    };
    slot[0].store(count.unwrap_or(u64::MAX), Ordering::Release);
    slot[1].store(now_ns(), Ordering::Release);
    Counted::read(OWN).since(&before).store(&slot[2..]);
    count.is_ok()
}

pub(crate) fn send(
    channels: &[Channel],
    bytes: usize,
    over: impl Fn() -> bool,
) -> Result<u64, Errno> {
    let mut message = [MESSAGE; LONGEST];
    let mut sent = 0;
    while !over() {
        for channel in channels {
            charge_step();
            whole(&message[..bytes], |rest| write(&channel.to, rest))?;
            sent += 1;
        }
    }
    message[0] = GOODBYE;
    channels
        .iter()
        .try_for_each(|channel| whole(&message[..bytes], |rest| write(&channel.to, rest)))?;
    Ok(sent)
}

/// Returns the number of messages, without farewells.
pub(crate) fn receive(from: &OwnedFd, bytes: usize, senders: usize) -> Result<u64, Errno> {
    let mut message = [0; LONGEST];
    let (mut received, mut goodbyes) = (0, 0);
    while goodbyes < senders {
        let mut filled = 0;
        while filled < bytes {
            match read(from, &mut message[filled..bytes]) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(more) => filled += more,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        match message[0] {
            MESSAGE => {
                charge_step();
                received += 1;
            }
            GOODBYE => goodbyes += 1,
            _ => return Err(Errno::BADMSG),
        }
    }
    Ok(received)
}

fn whole(mut rest: &[u8], write: impl Fn(&[u8]) -> rustix::io::Result<usize>) -> Result<(), Errno> {
    while !rest.is_empty() {
        match write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
