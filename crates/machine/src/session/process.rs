//! An experiment's programs, ended at their deadline with all their descendants.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};

use super::group::{Group, Io};
use super::scan::Whose;
use super::share::Share;
use crate::error::Error;
use crate::placement::{Overseer, Placement, TaskCounters};
use crate::root::Root;
use crate::sys::{Usage, usage_of_ended};

/// Time from SIGTERM to SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(5);

/// Descendants that live longer count as left behind.
const DESCENDANTS_TIMEOUT: Duration = Duration::from_millis(100);

/// Interval of checks of deadline and output size.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes of output; older output is dropped.
const MAX_OUTPUT: u64 = 64 << 20;

#[derive(Debug, Clone, Default)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// In addition to PATH, HOME and LC_ALL=C.
    pub env: Vec<(String, OsString)>,
    /// Default: `/`.
    pub dir: PathBuf,
    /// A user's name, with that user's groups; default: this process's user. Implies `apart`.
    pub user: Option<String>,
    /// A session without a terminal, only standard descriptors, and no_new_privs.
    pub apart: bool,
    pub share: Share,
    pub placement: Placement,
    pub input: Vec<u8>,
    /// Receives the output instead of memory; [`Ended::stdout`] is empty then.
    pub stdout: Option<Arc<OwnedFd>>,
}

/// Ended with all descendants on drop.
///
/// Output is kept in memory, the last 64 MiB while it is awaited or examined, and never written to
/// a file system.
#[derive(Debug)]
pub struct Running {
    pub(super) root: Root,
    pub(super) child: Child,
    pub(super) handle: Option<OwnedFd>,
    pub(super) began: Instant,
    /// CPU time of this process at the start.
    pub(super) cpu_before: Duration,
    pub(super) stdout: File,
    pub(super) stderr: File,
    pub(super) whose: Whose,
    pub(super) group: Group,
    pub(super) placement: Placement,
    pub(super) ended: bool,
}

#[derive(Debug, Default)]
pub struct Ended {
    pub status: ExitStatus,
    /// The last 64 MiB.
    pub stdout: String,
    /// The last 64 MiB.
    pub stderr: String,
    /// Including its start (a few tenths of a millisecond).
    pub wall: Duration,
    /// Ended at the deadline.
    pub too_long: bool,
    /// Ended by an interrupt.
    pub stopped: bool,
    /// Descendants alive 100 ms after its exit; they were killed.
    pub left: Vec<String>,
    /// CPU time of this process while the program ran.
    pub own_cpu: Duration,
    /// Counters of its first thread.
    pub task: TaskCounters,
    /// Counters of the program and of the children that it waited for.
    pub usage: Usage,
    /// Parts of its placement not in effect at its end: setting, expected and found value.
    pub placement_deviations: Vec<(&'static str, String, String)>,
    /// Only with a weight or limits, which need a group that the kernel counts for. v1 does not
    /// attribute write-back.
    pub io: Option<Io>,
}

pub(super) fn own_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn placement_deviations(&self) -> Vec<(&'static str, String, String)> {
        self.id()
            .filter(|_| !self.placement.is_plain())
            .map(|pid| self.placement.deviations(pid))
            .unwrap_or_default()
    }

    /// Sends a signal to it alone, unless it has exited.
    pub fn signal(&self, signal: Signal) {
        let _ = match (&self.handle, self.id()) {
            (Some(handle), _) => pidfd_send_signal(handle, signal),
            (None, Some(pid)) => kill_process(pid, signal),
            (None, None) => Ok(()),
        };
    }

    /// Waits for it to exit. At the deadline, or if `stop` is set, it gets SIGTERM, and SIGKILL
    /// after 5 s. Remaining descendants are then killed.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be waited for, [`Error::Session`] if a descendant does not die.
    pub fn wait(mut self, deadline: Duration, stop: &AtomicBool) -> Result<Ended, Error> {
        let _overseer = Overseer::of(&self.placement, self.id(), deadline);
        let (mut too_long, mut stopped) = (false, false);
        let mut terminated_at: Option<Instant> = None;
        let mut at_end = (TaskCounters::default(), Usage::default(), Vec::new());
        let status = loop {
            // Until it is reaped what the kernel counted for it is still there.
            if let Some(usage) = self.id().and_then(usage_of_ended) {
                at_end = (
                    TaskCounters::read(&self.root, self.pid()),
                    usage,
                    self.placement_deviations(),
                );
            }
            if let Some(status) =
                self.child.try_wait().map_err(Error::io("wait for", "the program"))?
            {
                break status;
            }
            too_long |= !stopped && self.began.elapsed() > deadline;
            stopped |= !too_long && stop.load(Ordering::Relaxed);
            match terminated_at {
                None if too_long || stopped => {
                    self.signal_all(Signal::TERM);
                    terminated_at = Some(Instant::now());
                }
                Some(since) if since.elapsed() > TERM_TIMEOUT => {
                    self.whose.end(&self.root, Duration::ZERO)?;
                }
                _ => {}
            }
            self.bound();
            self.sleep();
        };
        let wall = self.began.elapsed();
        let own_cpu = own_cpu_time().saturating_sub(self.cpu_before);
        let left = self.end()?;
        let io = self.group.io();
        self.group.remove()?;
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(text_of);
        let (task, usage, placement_deviations) = at_end;
        Ok(Ended {
            status,
            stdout,
            stderr,
            wall,
            too_long,
            stopped,
            left,
            own_cpu,
            task,
            usage,
            placement_deviations,
            io,
        })
    }

    pub fn stdout(&mut self) -> String {
        self.bound();
        text_of(&self.stdout)
    }

    pub fn stderr(&mut self) -> String {
        self.bound();
        text_of(&self.stderr)
    }

    /// So far; see [`Ended::io`].
    pub fn io(&self) -> Option<Io> {
        self.group.io()
    }

    /// Kills remaining descendants; returns their names.
    fn end(&mut self) -> Result<Vec<String>, Error> {
        let left = self.whose.end(&self.root, DESCENDANTS_TIMEOUT)?;
        self.ended = true;
        Ok(left)
    }

    fn signal_all(&self, signal: Signal) {
        self.signal(signal);
        if let Some(pid) = self.id() {
            let _ = kill_process_group(pid, signal);
        }
    }

    fn id(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Waits briefly, or until it exits.
    fn sleep(&self) {
        let Some(handle) = &self.handle else { return thread::sleep(Duration::from_millis(1)) };
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
        if poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&wait)).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn bound(&self) {
        for file in [&self.stdout, &self.stderr] {
            let printed = file.metadata().map_or(0, |meta| meta.len());
            if printed > 2 * MAX_OUTPUT {
                let _ = fallocate(
                    file,
                    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    0,
                    printed - MAX_OUTPUT,
                );
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let _ = self.child.kill();
        let _ = self.whose.end(&self.root, Duration::ZERO);
        // Reaped unless it hangs in the kernel.
        let since = Instant::now();
        while self.is_alive() && since.elapsed() < TERM_TIMEOUT {
            self.sleep();
        }
        let _ = self.group.remove();
    }
}

/// Reads the end of the output without moving the program's write position.
fn text_of(file: &File) -> String {
    let printed = file.metadata().map_or(0, |meta| meta.len());
    let start = printed.saturating_sub(MAX_OUTPUT);
    let mut bytes = vec![0; usize::try_from(printed - start).unwrap_or(0)];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], start + read as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => read += more,
        }
    }
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}
