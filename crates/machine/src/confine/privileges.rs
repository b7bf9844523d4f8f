//! The powers of root, and how they are given up.

use std::io;

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::confine::{Error, Result, sys};

/// The kernel's capabilities have numbers below this.
const MOST_CAPABILITIES: u32 = 64;

/// Executing a program grants this thread no privileges any more: neither setuid bits nor file
/// capabilities are obeyed.
///
/// # Errors
/// Never on Linux ≥ 3.5.
pub fn no_new_privs() -> Result<()> {
    rustix::thread::set_no_new_privs(true).map_err(|cause| Error::new("no_new_privs", "set", cause))
}

/// Empties all sets of capabilities of this thread, including the bounding set and the ambient set.
/// A root that has done this can do what the permissions of files let it, and nothing else.
///
/// # Errors
/// If the kernel rejects it.
pub fn drop_capabilities() -> Result<()> {
    capabilities().map_err(|cause| Error::new("capabilities", "drop", cause))
}

/// The same, but a root process keeps the right to pass the permissions of files
/// (`CAP_DAC_OVERRIDE`): it reads what belongs to other users. Where it may write is for
/// [`crate::confine::Landlock`] to bound.
///
/// # Errors
/// If the kernel rejects it.
pub fn drop_capabilities_but_file_permissions() -> Result<()> {
    keep(CapabilitySet::DAC_OVERRIDE).map_err(|cause| Error::new("capabilities", "drop", cause))
}

/// Allocates nothing.
pub(crate) fn capabilities() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

/// Allocates nothing.
fn keep(kept: CapabilitySet) -> io::Result<()> {
    bounding_set()?;
    let held = rustix::thread::capabilities(None)?.permitted;
    let (kept, none) = (kept.intersection(held), CapabilitySet::empty());
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: none },
    )?;
    Ok(rustix::thread::clear_ambient_capability_set()?)
}

/// Empties the bounding set, which only a process can that may set capabilities, and only such a
/// process needs to.
pub(crate) fn bounding_set() -> io::Result<()> {
    if rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..MOST_CAPABILITIES {
            if !sys::drop_from_bounding_set(number)? {
                break;
            }
        }
    }
    Ok(())
}

/// Becomes another user, with the right to read and enter whatever the permissions are, which also
/// the programs have that it executes, or with no right. A process that may not change its user
/// stays what it is, without a right. Allocates nothing.
pub(crate) fn become_reader(user: u32, reads: bool) -> io::Result<()> {
    let held = rustix::thread::capabilities(None)?.permitted;
    if !held.contains(CapabilitySet::SETUID | CapabilitySet::SETGID) {
        return capabilities();
    }
    let kept = if reads {
        CapabilitySet::DAC_READ_SEARCH.intersection(held)
    } else {
        CapabilitySet::empty()
    };
    // What is not in the bounding set cannot become inheritable any more, so that is first.
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: held, permitted: held, inheritable: kept },
    )?;
    bounding_set()?;
    rustix::thread::set_keep_capabilities(true)?;
    match change_user(user, user) {
        Ok(()) => {}
        // The root of a namespace without this user is none of the machine's.
        Err(Errno::INVAL | Errno::PERM) => return capabilities(),
        Err(errno) => return Err(errno.into()),
    }
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: kept },
    )?;
    rustix::thread::clear_ambient_capability_set()?;
    if reads {
        rustix::thread::configure_capability_in_ambient_set(kept, true)?;
    }
    Ok(())
}

/// Becomes the user `uid` with the group `gid` and no other groups. Needs root.
///
/// # Errors
/// If the kernel rejects it.
pub fn become_user(uid: u32, gid: u32) -> Result<()> {
    change_user(uid, gid).map_err(|cause| Error::new(format!("user {uid}"), "become", cause))
}

/// Allocates nothing.
fn change_user(uid: u32, gid: u32) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}
