//! A pipe for the program's output that holds one write: until it is read, the program blocks at
//! its next write.
//!
//! This stops the program exactly between two phases: its last output of a phase stays in the pipe,
//! and once it waits in `write`, the next phase has not begun.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, tee};

use crate::programs::error::RunnerError;
use crate::programs::kind::Bench;

/// Polling interval for interrupts and the deadline.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A pipe passes on up to a page in one piece.
const PAGE: usize = 4096;

#[derive(Debug)]
pub(super) struct Gate {
    reader: OwnedFd,
    /// For copies, to examine writes without reading them.
    aside: (OwnedFd, OwnedFd),
    /// Output read so far.
    pub(super) text: String,
    until: Instant,
}

impl Gate {
    /// Returns the gate, and the end for the program's output. Waits until `until` at most.
    pub(super) fn new(until: Instant) -> Result<(Gate, Arc<OwnedFd>), RunnerError> {
        // With O_DIRECT each write is a packet; a pipe of one page holds one.
        let made = || {
            let (reader, writer) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC)?;
            fcntl_setpipe_size(&writer, PAGE)?;
            Ok((reader, writer))
        };
        let failed =
            |errno: rustix::io::Errno| RunnerError::file("make", "a pipe".as_ref())(errno.into());
        let (reader, writer) = made().map_err(failed)?;
        let aside = made().map_err(failed)?;
        Ok((Gate { reader, aside, text: String::new(), until }, Arc::new(writer)))
    }

    /// `None` if the program has closed its end, or time is over.
    pub(super) fn peek(&mut self, bench: &Bench<'_>) -> Option<String> {
        if !self.wait(bench) {
            return None;
        }
        let copied = tee(&self.reader, &self.aside.1, PAGE, SpliceFlags::empty())
            .ok()
            .filter(|len| *len > 0)?;
        read(&self.aside.0).filter(|piece| piece.len() == copied).map(text)
    }

    /// Reads a write, so that the program continues.
    pub(super) fn take(&mut self, bench: &Bench<'_>) -> Option<String> {
        if !self.wait(bench) {
            return None;
        }
        let piece = read(&self.reader).filter(|piece| !piece.is_empty()).map(text)?;
        self.text.push_str(&piece);
        Some(piece)
    }

    /// Reads until the program closes its end.
    pub(super) fn drain(&mut self, bench: &Bench<'_>) {
        while self.take(bench).is_some() {}
    }

    /// Waits until the program blocks; false if it has exited, or time is over.
    pub(super) fn wait_until_blocked(&self, bench: &Bench<'_>, pid: u32) -> bool {
        // As in proc(5): the system call and its first argument.
        let waits_to_print = format!("{} 0x1 ", libc::SYS_write);
        while !self.is_over(bench) && !self.is_closed() {
            match fs::read_to_string(format!("/proc/{pid}/syscall")) {
                Ok(call) if call.starts_with(&waits_to_print) => return true,
                Ok(_) => thread::sleep(Duration::from_micros(500)),
                Err(_) => return false,
            }
        }
        false
    }

    fn is_closed(&self) -> bool {
        let mut watched = [PollFd::new(&self.reader, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().contains(PollFlags::HUP)
    }

    fn wait(&self, bench: &Bench<'_>) -> bool {
        while !self.is_over(bench) {
            let mut watched = [PollFd::new(&self.reader, PollFlags::IN)];
            if poll(&mut watched, Some(&POLL_INTERVAL)).is_ok_and(|ready| ready > 0) {
                return true;
            }
        }
        false
    }

    fn is_over(&self, bench: &Bench<'_>) -> bool {
        Instant::now() > self.until || bench.stop.load(Ordering::Relaxed)
    }
}

fn read(from: &OwnedFd) -> Option<Vec<u8>> {
    let mut piece = vec![0; PAGE];
    let len = rustix::io::read(from, &mut piece).ok()?;
    piece.truncate(len);
    Some(piece)
}

fn text(piece: Vec<u8>) -> String {
    String::from_utf8_lossy(&piece).into_owned()
}
