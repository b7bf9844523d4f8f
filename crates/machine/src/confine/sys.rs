//! System calls without a safe interface.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Pid;

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: libc::c_ulong = 1;

fn done(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// 0 without Landlock.
pub(crate) fn landlock_abi() -> u32 {
    // SAFETY: without attributes and with size 0, the call reads no memory and returns a number.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(answer).unwrap_or(0)
}

/// Does not allocate.
pub(crate) fn landlock_restrict_self(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes two numbers; the descriptor is borrowed and therefore open.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) })
        .map(drop)
}

pub(crate) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    let first = libc::c_uint::try_from(first).expect("descriptors are not negative");
    // SAFETY: the call takes three numbers and changes only flags: no descriptor is closed.
    done(unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })
    .map(drop)
}

/// `Ok(false)`: unknown capability.
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

/// Sets attributes of the mounts at and below `path`.
pub(crate) fn set_mount_attributes(path: &CStr, attributes: u64) -> io::Result<()> {
    set_attributes(path, attributes, libc::AT_RECURSIVE)
}

pub(crate) fn set_attributes_of_one_mount(path: &CStr, attributes: u64) -> io::Result<()> {
    set_attributes(path, attributes, 0)
}

fn set_attributes(path: &CStr, set: u64, flags: libc::c_int) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: `path` ends in a NUL; the structure is initialised, outlives the call, and its size
    // is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    done(result).map(drop)
}

pub(crate) fn unshare(namespaces: rustix::thread::UnshareFlags) -> io::Result<()> {
    assert!(
        !namespaces.contains(rustix::thread::UnshareFlags::FILES),
        "descriptors stay shared between threads"
    );
    // SAFETY: only a separate descriptor table (FILES) could invalidate another thread's
    // descriptors.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// `None` in the child. Fails with several threads, whose locks would stay locked in the child.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a process with one thread can be copied"));
    }
    // SAFETY: the only thread continues in both processes, with every lock in a state that it
    // knows.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        child => Pid::from_raw(child)
            .filter(|_| child > 0)
            .map(Some)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Runs no destructors or exit handlers.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// Makes the child call `prepare` before exec. It must not allocate or lock, since the parent may
/// be multi-threaded.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers are `Seal::apply_to` and `Reader::apply_to`, whose closures only make
    // system calls with numbers and memory prepared before.
    unsafe { command.pre_exec(prepare) };
}
