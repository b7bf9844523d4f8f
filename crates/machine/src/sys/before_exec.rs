//! What the forked process does to itself before it becomes the program: it joins its control
//! groups, and gets its priority, its placement and its user.
//!
//! All of it is in this file, as far as it is not a system call, because the argument of its one
//! unsafe block is about all of it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Gid, Uid};
use rustix::stdio::stderr;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::{apart, set_ioprio};
use crate::placement::{Mask, Placement, bound_realtime};

/// The steps, in this order, each left out where it is empty. What fails is written to standard
/// error, which the caller reads.
pub(crate) struct BeforeExec {
    /// The files of the control groups to which a process that joins writes its number.
    pub(crate) doors: Vec<File>,
    pub(crate) ioprio: Option<u16>,
    pub(crate) placement: Placement,
    /// The placement's CPUs.
    pub(crate) mask: Mask,
    /// Whether it leaves the terminal and everything that could give it rights.
    pub(crate) is_apart: bool,
    /// A user, its group, and all groups.
    pub(crate) user: Option<(Uid, Gid, Vec<Gid>)>,
}

impl BeforeExec {
    /// Has `command` do it when it is spawned.
    pub(crate) fn arrange(self, command: &mut Command) {
        // SAFETY: between fork and exec only system calls are made, on files and numbers that the
        // closure owns; nothing is allocated (an error is made of its number), locked or read from
        // the environment, and the forked process has one thread, so that its user is that
        // thread's.
        unsafe { command.pre_exec(move || self.take()) };
    }

    fn take(&self) -> io::Result<()> {
        for door in &self.doors {
            rustix::io::write(door, b"0")
                .map_err(|errno| failed("it cannot join its control group", errno.into()))?;
        }
        if let Some(ioprio) = self.ioprio {
            set_ioprio(ioprio)
                .map_err(|cause| failed("its priority (ioprio) is not permitted", cause))?;
        }
        self.placement.take(&self.mask).map_err(|(what, cause)| failed(what, cause))?;
        if self.is_apart {
            apart::leave_terminal()
                .map_err(|errno| failed("it cannot leave the terminal", errno.into()))?;
        }
        if let Some((uid, gid, groups)) = &self.user {
            apart::drop_bounding_set();
            let own = set_thread_groups(groups).and_then(|()| set_thread_res_gid(*gid, *gid, *gid));
            let own = own.and_then(|()| set_thread_res_uid(*uid, *uid, *uid));
            own.map_err(|errno| {
                failed("it cannot run as another user (are you root?)", errno.into())
            })?;
        }
        if self.is_apart {
            apart::renounce().map_err(|errno| {
                failed("it cannot renounce rights (no_new_privs)", errno.into())
            })?;
        }
        // After its user, since another user clears the signal at its parent's death.
        bound_realtime(&self.placement)
            .map_err(|cause| failed("its realtime cannot be bounded", cause))
    }
}

fn failed(what: &'static str, cause: io::Error) -> io::Error {
    let _ = rustix::io::write(stderr(), what.as_bytes());
    cause
}
