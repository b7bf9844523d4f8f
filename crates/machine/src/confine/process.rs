//! Starts a program that can read the machine's files and write to one directory.
//!
//! A leader in a new process group enters the namespaces and waits. The first process of the PID
//! namespace exits with the program, so its children cannot outlive it. Root's programs run as an
//! unused user. Without namespaces, Landlock and forbidden system calls remain; without Landlock
//! too, nothing is started.

use std::fs;
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use rustix::fs::{AtFlags, CWD, chownat};
use rustix::process::{
    Gid, Pid, Signal, Uid, WaitOptions, getgid, getuid, set_parent_process_death_signal, setpgid,
    wait, waitpid,
};
use rustix::thread::UnshareFlags;

use crate::confine::{
    Confinement, Error, Landlock, Result, Seal, landlock_abi, privileges, sys, view,
};

/// The first Landlock ABI that confines signals.
const KEEPS_SIGNALS: u32 = 6;
/// Exit status of a leader whose program did not start.
const NOT_STARTED: i32 = 127;

/// Returns the leader of the process group, a child of this process that exits with the program's
/// status.
///
/// # Errors
/// Fails if this process has several threads.
pub fn spawn(confinement: &Confinement, command: &mut Command) -> Result<Pid> {
    let refused =
        |cause: String| Error::new("confinement", "start the program", io::Error::other(cause));
    let namespaces = match attempt(confinement, command, true) {
        Ok(leader) => return Ok(leader),
        Err(cause) => cause,
    };
    let abi = landlock_abi();
    let least = if getuid().is_root() { KEEPS_SIGNALS } else { 1 };
    if abi < least {
        return Err(refused(format!(
            "{namespaces}, and Landlock cannot replace them (found version {abi}, expected {least} or later)"
        )));
    }
    eprintln!("{namespaces}; the program is confined by Landlock alone");
    attempt(confinement, command, false)
        .map_err(|cause| refused(format!("{namespaces}; without namespaces: {cause}")))
}

fn attempt(confinement: &Confinement, command: &mut Command, namespaces: bool) -> io::Result<Pid> {
    let (mut said, teller) = io::pipe()?;
    let mut teller = Some(teller);
    let Some(leader) = sys::fork()? else {
        drop(said);
        let status = lead(confinement, command, namespaces, &mut teller).unwrap_or_else(|cause| {
            // The parent is gone if this fails.
            drop(teller.map(|mut teller| teller.write_all(cause.to_string().as_bytes())));
            NOT_STARTED
        });
        sys::exit_now(status);
    };
    drop(teller);
    // Both processes do it, since either may run first. Fails after exec.
    let _ = setpgid(Some(leader), Some(leader));
    let mut error = String::new();
    said.read_to_string(&mut error)?;
    if error.is_empty() {
        return Ok(leader);
    }
    waitpid(Some(leader), WaitOptions::empty())?;
    Err(io::Error::other(error))
}

/// Returns the program's exit status.
fn lead(
    confinement: &Confinement,
    command: &mut Command,
    namespaces: bool,
    teller: &mut Option<PipeWriter>,
) -> Result<i32> {
    setpgid(None, None).map_err(|cause| Error::new("process group", "create", cause))?;
    if !namespaces {
        return Err(become_program(confinement, command, false));
    }
    leave_namespaces().map_err(|cause| Error::new("namespaces", "create", cause))?;
    let forked = || sys::fork().map_err(|cause| Error::new("process", "create", cause));
    let Some(first) = forked()? else {
        // Not the program, because a first process cannot kill itself with a signal, as a panicking
        // kernel does.
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|cause| Error::new("process", "bind", cause))?;
        let Some(program) = forked()? else {
            return Err(become_program(confinement, command, true));
        };
        return Ok(await_end(program, teller));
    };
    Ok(await_end(first, teller))
}

/// Returns the child's exit status. Only the child holds the pipe, until exec.
fn await_end(child: Pid, teller: &mut Option<PipeWriter>) -> i32 {
    drop(teller.take());
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let status = ExitStatus::from_raw(status.as_raw());
                return status
                    .code()
                    .or(status.signal().map(|signal| 128 + signal))
                    .unwrap_or(NOT_STARTED);
            }
            // An orphan of the program.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return NOT_STARTED,
        }
    }
}

fn leave_namespaces() -> io::Result<()> {
    let own = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    if getuid().is_root() {
        return sys::unshare(own);
    }
    let (uid, gid) = (getuid(), getgid());
    sys::unshare(own | UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1\n", uid.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1\n", gid.as_raw()))
}

/// Drops all privileges and executes the program; returns only on failure.
fn become_program(confinement: &Confinement, command: &mut Command, namespaces: bool) -> Error {
    match restrict(confinement, command, namespaces) {
        Ok(()) => {
            let cause = command.exec();
            Error::new(command.get_program().to_string_lossy(), "execute", cause)
        }
        Err(error) => error,
    }
}

fn restrict(confinement: &Confinement, command: &mut Command, namespaces: bool) -> Result<()> {
    let all = |cause: io::Error| Error::new("restrictions", "put in place", cause);
    sys::close_on_exec_from(3).map_err(all)?;
    let Confinement { workdir, user, limits, .. } = confinement;
    let other_user = namespaces && getuid().is_root();
    let mut memory = workdir.clone();
    if namespaces {
        view::enter(confinement, other_user)?;
        memory = PathBuf::from(view::MEMORY);
    }
    command.env("TMPDIR", &memory);
    let landlock =
        Landlock::read_all_write_only(&[workdir.as_path(), &memory, Path::new("/dev/null")])?;
    if other_user {
        give(workdir, *user)
            .map_err(|cause| Error::new(workdir.display().to_string(), "give away", cause))?;
        privileges::bounding_set().map_err(all)?;
        privileges::become_user(*user, *user)?;
    }
    // Changing the user has reset it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|cause| all(cause.into()))?;
    Seal::new(landlock, *limits)?.apply().map_err(all)
}

/// Nobody else could write to the directory before.
fn give(path: &Path, user: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
}
