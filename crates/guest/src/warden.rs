//! The process between schedlab and a guest: whatever becomes of schedlab, nothing of the guest is left.
//!
//! A User-mode Linux is several processes: its kernel, and one for each address space inside, which the kernel traces. When the
//! kernel is killed, those others would go on as ordinary processes of the machine. The warden puts all of them into one process
//! group, and kills the group and removes the guest's working directory when the kernel has ended, when it is told to, and when
//! schedlab has died, however that happened.

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

/// The status of a warden that was told to end its guest.
pub const TOLD_TO_END: u8 = 130;
/// The status of a warden that could not start its guest.
pub const NOT_STARTED: u8 = 127;

/// How long the group is given to be gone before the warden stops looking.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Runs `command` (program and arguments) as a guest whose working directory is `workdir`, until it ends. Returns the exit status that
/// the warden's process shall have: the guest's, [`TOLD_TO_END`] or [`NOT_STARTED`].
///
/// To be called from a process of its own whose parent is schedlab.
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
        return Ok(TOLD_TO_END);
    }
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
    // Those that the guest's kernel leaves behind become ours: nobody else might clear them away soon.
    set_child_subreaper(Some(getpid()))?;
    let mut guest = Command::new(program).args(arguments).process_group(0).spawn()?;
    let group = Pid::from_child(&guest);
    let (tell, told) = mpsc::channel();
    let of_signals = tell.clone();
    thread::spawn(move || {
        // Ctrl-C at the terminal comes to schedlab as well, which decides what becomes of its guests.
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            let _ = of_signals.send(Some(signal));
        }
    });
    let waiter = thread::spawn(move || {
        let status = guest.wait();
        let _ = tell.send(None);
        (guest, status)
    });
    let asked = told.recv().ok().flatten();
    let _ = kill_process_group(group, Signal::KILL);
    let (guest, status) =
        waiter.join().map_err(|_| io::Error::other("the thread that waits for the guest broke off"))?;
    end(group);
    drop(guest);
    // Nobody else would: schedlab is dead.
    if orphaned() {
        drop(std::fs::remove_dir_all(workdir));
    }
    Ok(match asked {
        Some(_) => TOLD_TO_END,
        None => status?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED - 1),
    })
}

/// Kills a group, whose first process has been waited for, until nobody is in it any more: a process that is being made while the signal
/// is sent may miss it.
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

/// A running warden; the guest ends with it.
#[derive(Debug)]
pub(crate) struct Warden(pub(crate) Child);

impl Warden {
    /// Tells it to end its guest, and waits until that is done.
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

/// The arguments by which schedlab's binary becomes a warden: a hidden subcommand that hands what follows to [`watch_over`].
pub(crate) fn arguments(workdir: &Path, linux: &Path, line: &[String]) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        vec!["guest-warden".into(), std::process::id().to_string().into(), PathBuf::from(workdir).into(), linux.into()];
    words.extend(line.iter().map(OsString::from));
    words
}
