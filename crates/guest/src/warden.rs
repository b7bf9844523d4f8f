//! The process between schedlab and a guest, which cleans up after the guest even if schedlab is killed.
//!
//! A User-mode Linux is several processes: its kernel, and one per address space, which the kernel traces. If the kernel
//! is killed, the others would continue as ordinary processes of the machine. The warden puts all of them into one
//! process group. It kills the group and removes the guest's working directory when the kernel has ended, on request, and
//! when schedlab has died.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, waitpgid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Exit status of a warden that ended its guest on request.
pub const STOPPED: u8 = 130;
/// Exit status of a warden that could not start its guest.
pub const NOT_STARTED: u8 = 127;

/// Time for which the warden waits for the group to end.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Runs `command` (program and arguments) as a guest with the working directory `workdir` until it ends. Returns the exit
/// status for the warden's process: the guest's, [`STOPPED`] or [`NOT_STARTED`].
///
/// Called in a process of its own whose parent is schedlab.
#[must_use]
pub fn watch_over(parent: u32, workdir: &Path, command: &[OsString]) -> u8 {
    match watched(parent, workdir, command) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("cannot start the guest: {error}");
            NOT_STARTED
        }
    }
}

fn watched(parent: u32, workdir: &Path, command: &[OsString]) -> io::Result<u8> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let orphaned = || getppid().is_none_or(|now| now.as_raw_nonzero().get().cast_unsigned() != parent);
    if orphaned() {
        drop(std::fs::remove_dir_all(workdir));
        return Ok(STOPPED);
    }
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
    // Become the parent of processes that the guest's kernel leaves behind, to reap them.
    set_child_subreaper(Some(getpid()))?;
    let mut guest = Command::new(program).args(arguments).process_group(0).spawn()?;
    let group = Pid::from_child(&guest);
    let (tell, received) = mpsc::channel();
    let of_signals = tell.clone();
    thread::spawn(move || {
        // Ctrl-C at the terminal also reaches schedlab, which decides about its guests.
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            let _ = of_signals.send(Some(signal));
        }
    });
    let waiter = thread::spawn(move || {
        let status = guest.wait();
        let _ = tell.send(None);
        (guest, status)
    });
    let asked = received.recv().ok().flatten();
    let _ = kill_process_group(group, Signal::KILL);
    let (guest, status) =
        waiter.join().map_err(|_| io::Error::other("the thread that waits for the guest broke off"))?;
    end(group);
    drop(guest);
    // schedlab is dead and cannot remove the directory.
    if orphaned() {
        drop(std::fs::remove_dir_all(workdir));
    }
    Ok(match asked {
        Some(_) => STOPPED,
        None => status?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED - 1),
    })
}

/// Kills a group, whose leader has been waited for, until it is empty: a process that is being created while the signal
/// is sent can miss it.
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

/// A running warden. Dropping it ends the guest.
#[derive(Debug)]
pub(crate) struct Warden(pub(crate) Child);

impl Warden {
    /// Requests the end of the guest and waits for it.
    pub(crate) fn end(&mut self) {
        let pid = Pid::from_child(&self.0);
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        drop(self.0.wait());
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.end();
    }
}

/// The arguments with which schedlab's binary runs as a warden: a hidden subcommand that calls [`watch_over`].
pub(crate) fn arguments(workdir: &Path, linux: &Path, line: &[String]) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        vec!["guest-warden".into(), std::process::id().to_string().into(), PathBuf::from(workdir).into(), linux.into()];
    words.extend(line.iter().map(OsString::from));
    words
}
