//! Unsafe code: processes of a guest.

use std::{fs, io};

use rustix::process::Pid;

/// Kills all but this process.
pub(crate) fn kill_all_others() -> io::Result<()> {
    // SAFETY: kill takes two numbers and touches no memory.
    match unsafe { libc::kill(-1, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// For `ioprio_set` and `ioprio_get`.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Applies to the process and its future children.
pub(crate) fn set_ioprio(process: u32, priority: u16) -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory.
    let done = unsafe {
        libc::syscall(
            libc::SYS_ioprio_set,
            IOPRIO_WHO_PROCESS,
            process,
            libc::c_int::from(priority),
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(crate) fn ioprio(process: u32) -> io::Result<i32> {
    // SAFETY: the call takes two integers and touches no memory.
    let found = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, process) };
    i32::try_from(found).ok().filter(|found| *found >= 0).ok_or_else(io::Error::last_os_error)
}

/// Programs that this process executes are then at the addresses in their files, directly followed
/// by the heap.
pub(crate) fn fix_addresses() -> io::Result<()> {
    let persona = libc::c_ulong::from(libc::ADDR_NO_RANDOMIZE.cast_unsigned());
    // SAFETY: the call takes a number and touches no memory; it applies to programs executed later.
    if unsafe { libc::personality(persona) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Exit status 0 if `work` returns true, else 1.
///
/// # Errors
/// With several threads, whose locks would stay locked in the child.
pub(crate) fn fork(work: impl FnOnce() -> bool) -> io::Result<Pid> {
    let threads = fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "fork: this process has {threads} threads, expected 1"
        )));
    }
    // SAFETY: this process has one thread, so nothing that the child uses is held by another.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let done = work();
        // SAFETY: the child exits here, without running its parent's exit handlers.
        unsafe { libc::_exit(i32::from(!done)) }
    }
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        // The test harness is another thread.
        let error = super::fork(|| true).unwrap_err().to_string();
        assert!(error.contains("threads, expected 1"), "{error}");
    }
}
