//! The process between schedlab and a guest, which cleans up even if schedlab is killed.
//!
//! User-mode Linux has a process for its kernel and one per address space, which would survive it.
//! The supervisor puts all into one process group. When the kernel exits, on request, or when
//! schedlab dies, it kills the group and removes the working directory.
//!
//! The guest's root is the machine's file tree, and its kernel may be patched, foreign or
//! compromised. The supervisor therefore confines the kernel's process before its first instruction
//! (see `machine::confine`).

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use machine::confine::{Confinement, Limits};
use machine::files::programs;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, waitpgid, waitpid,
};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::sys;

/// Exit status after a request to stop.
pub const STOPPED: u8 = 130;
pub const NOT_STARTED: u8 = 127;

/// Timeout for the group to exit.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// For root's guests: ids that systemd lists as unused and distributions do not assign. Concurrent
/// guests have different ones, unless there are very many.
const USERS: std::ops::Range<u32> = 60_578..61_184;
/// In the working directory, besides memory.
const FILE_BYTES: u64 = 1 << 30;
const DESCRIPTORS: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GuestSpec {
    pub(crate) parent: u32,
    pub(crate) workdir: PathBuf,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) reachable: Vec<PathBuf>,
    pub(crate) memory_mib: u32,
    pub(crate) line: Vec<String>,
}

/// Runs the kernel on standard input. `spec` is [`Supervisor`]'s argument. Returns the guest's exit
/// status, [`STOPPED`] or [`NOT_STARTED`]. Requires a single-threaded process whose parent is
/// schedlab.
#[must_use]
pub fn watch_over(spec: &OsStr) -> u8 {
    let spec = serde_json::from_slice(spec.as_encoded_bytes()).map_err(io::Error::other);
    match spec.and_then(|spec| watched(&spec)) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("cannot start the guest: {error}");
            NOT_STARTED
        }
    }
}

fn watched(spec: &GuestSpec) -> io::Result<u8> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let orphaned =
        || getppid().is_none_or(|now| now.as_raw_nonzero().get().cast_unsigned() != spec.parent);
    if orphaned() {
        drop(std::fs::remove_dir_all(&spec.workdir));
        return Ok(STOPPED);
    }
    // Reap the guest's orphans.
    set_child_subreaper(Some(getpid()))?;
    let group = start(spec)?;
    let (tell, received) = mpsc::channel();
    let of_signals = tell.clone();
    thread::spawn(move || {
        // Ctrl-C also reaches schedlab, which decides about its guests.
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            let _ = of_signals.send(Some(signal));
        }
    });
    let waiter = thread::spawn(move || {
        let status = waitpid(Some(group), WaitOptions::empty());
        let _ = tell.send(None);
        status
    });
    let asked = received.recv().ok().flatten();
    let _ = kill_process_group(group, Signal::KILL);
    let status = waiter
        .join()
        .map_err(|_| io::Error::other("the thread that waits for the guest broke off"))??;
    end(group);
    // A dead schedlab cannot remove the directory.
    if orphaned() {
        drop(std::fs::remove_dir_all(&spec.workdir));
    }
    let status = status.and_then(|(_, status)| ExitStatus::from_raw(status.as_raw()).code());
    Ok(match asked {
        Some(_) => STOPPED,
        None => status.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED - 1),
    })
}

/// Returns the process group of the confined kernel.
///
/// User-mode Linux counts the gap between itself and its heap as memory. With address randomisation
/// it is up to 1 GiB: free memory would vary between boots, and rarely exceed the file size limit.
fn start(spec: &GuestSpec) -> io::Result<Pid> {
    sys::fix_addresses()?;
    let kernel = io::stdin().as_fd().try_clone_to_owned()?;
    let memory_bytes = u64::from(spec.memory_mib) << 20;
    let confinement = Confinement {
        workdir: spec.workdir.clone(),
        reachable: spec.reachable.clone(),
        readable: spec.readable.clone(),
        memory_bytes,
        user: USERS.start + std::process::id() % (USERS.end - USERS.start),
        limits: Limits { file_bytes: memory_bytes + FILE_BYTES, descriptors: DESCRIPTORS },
    };
    let mut command =
        programs::command_with_empty_env(format!("/proc/self/fd/{}", kernel.as_raw_fd()));
    command.arg0("linux").args(&spec.line).stdin(Stdio::null());
    machine::confine::spawn(&confinement, &mut command).map_err(io::Error::other)
}

/// Repeats until the group is empty, because a process created during the signal can miss it. The
/// leader has been waited for.
fn end(group: Pid) {
    let pause = Duration::from_millis(1);
    for _ in 0..GONE_WITHIN.as_millis() {
        if kill_process_group(group, Signal::KILL).is_err() {
            return;
        }
        while matches!(waitpgid(group, WaitOptions::NOHANG), Ok(Some(_))) {}
        thread::sleep(pause);
    }
}

/// A supervisor whose drop ends the guest.
#[derive(Debug)]
pub(crate) struct Supervisor(pub(crate) Child);

impl Supervisor {
    pub(crate) fn end(&mut self) {
        let pid = Pid::from_child(&self.0);
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        drop(self.0.wait());
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end();
    }
}

/// Arguments of a hidden subcommand that calls [`watch_over`].
pub(crate) fn arguments(spec: &GuestSpec) -> io::Result<[String; 2]> {
    Ok(["guest-supervisor".to_owned(), serde_json::to_string(spec)?])
}
