//! Programs that belong to an experiment: started apart, fed, waited for within a deadline, and
//! ended with all that they have started.

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

/// How long a program may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How long what a program has started may outlive it before it counts as left behind.
const FAREWELL: Duration = Duration::from_millis(100);

/// How often a running program is looked after: whether its deadline is over, and how much it has
/// printed.
const LOOK: Duration = Duration::from_millis(20);

/// How much of what a program prints is kept, in bytes; of more, the end.
const KEPT: u64 = 64 << 20;

#[derive(Debug, Clone, Default)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Variables beside those that every program gets (PATH, HOME, LC_ALL=C).
    pub env: Vec<(String, OsString)>,
    /// Its working directory; `/` if none is named.
    pub dir: PathBuf,
    /// The user that it runs as, by name, with that user's groups; this process's own if none is
    /// named. Such a program is also `apart`.
    pub user: Option<String>,
    /// It has a session of its own without a terminal, only the standard descriptors, and cannot
    /// gain rights by executing a file.
    pub apart: bool,
    pub share: Share,
    pub placement: Placement,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// Where it prints to instead of memory, for a reader that needs it at once; [`Ended::stdout`]
    /// is empty then.
    pub stdout: Option<Arc<OwnedFd>>,
}

/// A program on its way; dropped, it is ended with all that it has started.
///
/// What it prints is kept in memory, the last 64 MiB of it while it is waited for or looked at:
/// nothing is written to any file system.
#[derive(Debug)]
pub struct Running {
    pub(super) root: Root,
    pub(super) child: Child,
    pub(super) handle: Option<OwnedFd>,
    pub(super) began: Instant,
    /// CPU time of this process when it began.
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
    /// What it printed, the last 64 MiB.
    pub stdout: String,
    /// What it complained, the last 64 MiB.
    pub stderr: String,
    /// From its start to its end; being started (a few tenths of a millisecond) is in it.
    pub wall: Duration,
    /// It was ended by us: its deadline was over.
    pub too_long: bool,
    /// It was ended by us: the experiment was interrupted.
    pub stopped: bool,
    /// Names of processes that it had started and that were still there 100 ms after its end; they
    /// were killed.
    pub left: Vec<String>,
    /// CPU time that this process itself has used from the program's start to its end.
    pub own_cpu: Duration,
    /// What the kernel counted for its first thread.
    pub task: TaskCounters,
    /// What the kernel counted for it and for the children that it waited for.
    pub usage: Usage,
    /// What of its placement it did not have at its end: what, wanted, found.
    pub displaced: Vec<(&'static str, String, String)>,
    /// What its control group moved to and from the device; known only of a program with a weight
    /// or bounds, since only such a one is in a group that the kernel counts for. What it wrote
    /// through the page cache may be missing: v1 does not know whose pages it writes back.
    pub io: Option<Io>,
}

/// CPU time that this process has used so far.
pub(super) fn cpu_of_our_own() -> Duration {
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

    /// What of its placement it does not have.
    pub fn displaced(&self) -> Vec<(&'static str, String, String)> {
        self.id()
            .filter(|_| !self.placement.is_plain())
            .map(|pid| self.placement.missing(pid))
            .unwrap_or_default()
    }

    /// Sends a signal to it alone; nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = match (&self.handle, self.id()) {
            (Some(handle), _) => pidfd_send_signal(handle, signal),
            (None, Some(pid)) => kill_process(pid, signal),
            (None, None) => Ok(()),
        };
    }

    /// Waits for its end; when the deadline is over or `stop` is set, it gets SIGTERM, and SIGKILL
    /// after 5 s. Then everything that it has left behind is killed.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be waited for, [`Error::Session`] when what it has left behind
    /// does not die.
    pub fn wait(mut self, deadline: Duration, stop: &AtomicBool) -> Result<Ended, Error> {
        let _overseer = Overseer::of(&self.placement, self.id(), deadline);
        let (mut too_long, mut stopped) = (false, false);
        let mut terminated_at: Option<Instant> = None;
        let mut at_end = (TaskCounters::default(), Usage::default(), Vec::new());
        let status = loop {
            // Until it is reaped what the kernel counted for it is still there.
            if let Some(usage) = self.id().and_then(usage_of_ended) {
                at_end = (TaskCounters::read(&self.root, self.pid()), usage, self.displaced());
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
                Some(since) if since.elapsed() > GRACE => {
                    self.whose.end(&self.root, Duration::ZERO)?;
                }
                _ => {}
            }
            self.bound();
            self.sleep();
        };
        let wall = self.began.elapsed();
        let own_cpu = cpu_of_our_own().saturating_sub(self.cpu_before);
        let left = self.end()?;
        let io = self.group.io();
        self.group.remove()?;
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(text_of);
        let (task, usage, displaced) = at_end;
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
            displaced,
            io,
        })
    }

    /// What it has printed so far.
    pub fn printed(&mut self) -> String {
        self.bound();
        text_of(&self.stdout)
    }

    /// What it has complained so far.
    pub fn complained(&mut self) -> String {
        self.bound();
        text_of(&self.stderr)
    }

    /// What its control group has moved so far to and from the device; see [`Ended::io`].
    pub fn io(&self) -> Option<Io> {
        self.group.io()
    }

    /// Kills what the program has left behind, and gives the names.
    fn end(&mut self) -> Result<Vec<String>, Error> {
        let left = self.whose.end(&self.root, FAREWELL)?;
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

    /// Until it ends, but not for long.
    fn sleep(&self) {
        let Some(handle) = &self.handle else { return thread::sleep(Duration::from_millis(1)) };
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        if poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&wait)).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Gives back the memory of what was printed first, where it is too much.
    fn bound(&self) {
        for file in [&self.stdout, &self.stderr] {
            let printed = file.metadata().map_or(0, |meta| meta.len());
            if printed > 2 * KEPT {
                let _ = fallocate(
                    file,
                    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    0,
                    printed - KEPT,
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
        // It is reaped unless it hangs in the kernel.
        let since = Instant::now();
        while self.is_alive() && since.elapsed() < GRACE {
            self.sleep();
        }
        let _ = self.group.remove();
    }
}

/// The end of what was printed, read without moving the place at which the program writes on.
fn text_of(file: &File) -> String {
    let printed = file.metadata().map_or(0, |meta| meta.len());
    let start = printed.saturating_sub(KEPT);
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
