//! Drops root's privileges.

use std::io;

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::confine::{Error, Result, sys};

/// An upper bound on the kernel's capability numbers.
const MAX_CAPABILITIES: u32 = 64;

/// Makes this thread ignore setuid bits and file capabilities.
pub fn no_new_privs() -> Result<()> {
    rustix::thread::set_no_new_privs(true).map_err(|cause| Error::new("no_new_privs", "set", cause))
}

/// Clears all capability sets, including bounding and ambient. Root keeps only what file
/// permissions grant.
pub fn drop_capabilities() -> Result<()> {
    capabilities().map_err(|cause| Error::new("capabilities", "drop", cause))
}

/// Like [`drop_capabilities`], but root keeps `CAP_DAC_OVERRIDE` to read other users' files.
pub fn drop_capabilities_but_file_permissions() -> Result<()> {
    keep(CapabilitySet::DAC_OVERRIDE).map_err(|cause| Error::new("capabilities", "drop", cause))
}

/// Does not allocate.
pub(crate) fn capabilities() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

/// Does not allocate.
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

/// Clears the bounding set. Without `CAP_SETPCAP`, that is impossible and unnecessary.
pub(crate) fn bounding_set() -> io::Result<()> {
    if rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..MAX_CAPABILITIES {
            if !sys::drop_from_bounding_set(number)? {
                break;
            }
        }
    }
    Ok(())
}

/// Becomes another user. With `reads`, keeps the capability to read everything, also in executed
/// programs. If changing the user is not permitted, only capabilities are dropped. Does not
/// allocate.
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
    // First, because only capabilities in the bounding set can become inheritable.
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: held, permitted: held, inheritable: kept },
    )?;
    bounding_set()?;
    rustix::thread::set_keep_capabilities(true)?;
    match change_user(user, user) {
        Ok(()) => {}
        // In a namespace that does not map this user, root has no power outside.
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

/// Needs root. Drops all other groups.
pub fn become_user(uid: u32, gid: u32) -> Result<()> {
    change_user(uid, gid).map_err(|cause| Error::new(format!("user {uid}"), "become", cause))
}

/// Does not allocate.
fn change_user(uid: u32, gid: u32) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}
