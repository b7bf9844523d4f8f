//! A program apart from schedlab: without its terminal, descriptors, umask, and any way to more
//! rights.
//!
//! Programs that a plan names run so under `--as USER`. A process with a controlling terminal can
//! put characters into its input (TIOCSTI), which root's shell then reads as typed, so the program
//! gets a session of its own, which has none. Everything here runs between fork and exec: system
//! calls on numbers only.

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::setsid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// The first descriptor that is not standard.
const FIRST: u32 = 3;
/// Descriptors that are closed one by one where the kernel has no close_range with flags (before
/// Linux 5.11).
const ONE_BY_ONE: i32 = 4096;
/// More than any kernel has capabilities.
const CAPABILITIES: libc::c_ulong = 64;

/// Begins a session without a terminal, marks every descriptor but the standard ones to be closed
/// by exec, and sets the usual umask.
pub(super) fn leave_terminal() -> Result<(), Errno> {
    setsid()?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // SAFETY: the call has three integers for arguments and touches no memory. Descriptors are
    // marked, not closed: std's own, on which it reports a failed exec, stays open until then.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        for number in FIRST.cast_signed()..ONE_BY_ONE {
            // SAFETY: the descriptor is borrowed for this call only, which fails on one that is not
            // open.
            let descriptor = unsafe { rustix::fd::BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}

/// Takes every capability out of what execution could give back; needs root, so that it comes
/// before the change of user.
pub(super) fn drop_bounding_set() {
    for capability in 0..CAPABILITIES {
        // SAFETY: the call has integers for arguments and touches no memory. It fails for a number
        // that the kernel does not know.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

/// Refuses rights by execution (setuid files, file capabilities), and gives up the inheritable
/// ones. The change of user has emptied the effective and permitted sets already, unless there was
/// none.
pub(super) fn renounce() -> Result<(), Errno> {
    set_no_new_privs(true)?;
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
