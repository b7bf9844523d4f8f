//! The system calls that no safe interface has. The only unsafe code of this crate.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: libc::c_ulong = 1;

fn done(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The version of Landlock that this kernel has; 0: none.
pub(crate) fn landlock_abi() -> u32 {
    // SAFETY: without attributes, of size 0, the call reads no memory and answers with a number.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(answer).unwrap_or(0)
}

/// Puts a ruleset on this thread. Allocates nothing.
pub(crate) fn landlock_restrict_self(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes two numbers; the descriptor is borrowed and therefore open.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) }).map(drop)
}

/// Drops a capability from the bounding set. `Ok(false)`: the kernel has none of this number.
pub(crate) fn drop_from_bounding_set(number: u32) -> io::Result<bool> {
    // SAFETY: prctl with this option takes a number and touches no memory.
    match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number), 0, 0, 0) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
            error => Err(error),
        },
    }
}

/// Has `command`'s process call `prepare` before it executes its program.
///
/// `prepare` must not allocate or lock: it runs in the copy of a process that may have several threads.
pub(crate) fn before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the only caller is `Seal::on`, whose closure makes system calls with numbers and memory prepared before.
    unsafe { command.pre_exec(prepare) };
}
