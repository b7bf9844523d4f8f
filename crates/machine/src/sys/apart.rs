//! Separates a program from schedlab's terminal, descriptors, umask and privileges.
//!
//! For programs run under `--as USER`. A process can inject input into its controlling terminal
//! (TIOCSTI), which root's shell would execute, so the program gets a session without one.
//! Everything runs between fork and exec: only system calls on integers.

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::setsid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// The first after the standard descriptors.
const FIRST: u32 = 3;
/// If close_range has no flags (before Linux 5.11).
const ONE_BY_ONE: i32 = 4096;
/// More than any kernel has.
const CAPABILITIES: libc::c_ulong = 64;

/// Starts a new session, sets close-on-exec on all but the standard descriptors, and the usual
/// umask.
pub(super) fn leave_terminal() -> Result<(), Errno> {
    setsid()?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // SAFETY: the call takes three integers and touches no memory. Descriptors are marked, not
    // closed: std's own, on which it reports a failed exec, stays open until then.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        for number in FIRST.cast_signed()..ONE_BY_ONE {
            // SAFETY: the descriptor is borrowed for this call only, which fails if it is not open.
            let descriptor = unsafe { rustix::fd::BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}

/// Needs root, so it precedes the change of user.
pub(super) fn drop_bounding_set() {
    for capability in 0..CAPABILITIES {
        // SAFETY: the call takes integers and touches no memory. It fails for unknown numbers.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

/// Sets no_new_privs and drops inheritable capabilities. The change of user has cleared the others.
pub(super) fn renounce() -> Result<(), Errno> {
    set_no_new_privs(true)?;
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
