//! Memory for pgbench's log without a path or clean-up: an unmounted tmpfs.
//!
//! pgbench inherits its descriptor, and it disappears with the last process, even if schedlab is
//! killed. A directory on /dev/shm would be left behind; /run is on disk on some machines.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use machine::files::Bounded;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use text::limits::TRANSACTIONS_BYTES;

use crate::programs::error::RunnerError;

#[derive(Debug)]
pub(super) struct Scratch {
    root: OwnedFd,
}

impl Scratch {
    pub(super) fn new(uid: u32) -> Result<Scratch, RunnerError> {
        let failed = RunnerError::file(
            "mount (needs root and Linux 5.2 or later)",
            "the tmpfs for pgbench's log".as_ref(),
        );
        mount(uid).map(|root| Scratch { root }).map_err(|errno| failed(errno.into()))
    }

    /// The prefix of pgbench's log files, as seen by pgbench.
    pub(super) fn prefix(&self) -> String {
        format!("{}/log", self.directory())
    }

    /// The order of files does not matter.
    pub(super) fn text(&self) -> Result<String, RunnerError> {
        let failed = |cause: io::Error| RunnerError::file("read", "pgbench's log".as_ref())(cause);
        let mut all = String::new();
        for entry in fs::read_dir(self.directory()).map_err(failed)? {
            let file = File::open(entry.map_err(failed)?.path()).map_err(failed)?;
            all += &TRANSACTIONS_BYTES.read_text(file).map_err(failed)?;
            TRANSACTIONS_BYTES
                .check(all.len())
                .map_err(|exceeded| failed(io::Error::other(exceeded)))?;
        }
        Ok(all)
    }

    fn directory(&self) -> String {
        format!("/proc/self/fd/{}", self.root.as_raw_fd())
    }
}

fn mount(uid: u32) -> rustix::io::Result<OwnedFd> {
    let tmpfs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&tmpfs, "mode", "0700")?;
    fsconfig_set_string(&tmpfs, "uid", uid.to_string())?;
    fsconfig_create(&tmpfs)?;
    // pgbench inherits it.
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&tmpfs, FsMountFlags::empty(), attributes)
}
