//! Prepares the forked process: control groups, priority, placement and user.
//!
//! Everything but system calls is in this file, because the safety argument of the unsafe block
//! covers it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Gid, Uid};
use rustix::stdio::stderr;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::{apart, set_ioprio};
use crate::placement::{Mask, Placement, bound_realtime};

/// Steps in order, each skipped if empty. Failures are written to standard error, which the caller
/// reads.
pub(crate) struct BeforeExec {
    /// A joining process writes its id to these control group files.
    pub(crate) doors: Vec<File>,
    pub(crate) ioprio: Option<u16>,
    pub(crate) placement: Placement,
    pub(crate) mask: Mask,
    /// Whether it leaves the terminal and sources of privileges.
    pub(crate) is_apart: bool,
    /// User, group, and all groups.
    pub(crate) user: Option<(Uid, Gid, Vec<Gid>)>,
}

impl BeforeExec {
    pub(crate) fn arrange(self, command: &mut Command) {
        // SAFETY: between fork and exec, only system calls are made, on files and numbers that the
        // closure owns. Nothing is allocated (errors are made of numbers), locked or read from the
        // environment. The forked process has one thread, so changing the thread's user changes the
        // process's.
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
        self.placement.apply(&self.mask).map_err(|(what, cause)| failed(what, cause))?;
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
                failed("it cannot give up privileges (no_new_privs)", errno.into())
            })?;
        }
        // The change of user clears the parent-death signal.
        bound_realtime(&self.placement)
            .map_err(|cause| failed("its realtime use cannot be limited", cause))
    }
}

fn failed(what: &'static str, cause: io::Error) -> io::Error {
    let _ = rustix::io::write(stderr(), what.as_bytes());
    cause
}
