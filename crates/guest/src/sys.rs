//! The unsafe code of this crate: processes of a guest.

use std::{fs, io};

use rustix::process::Pid;

/// Kills all processes that this one may kill, but not itself.
pub(crate) fn kill_all_others() -> io::Result<()> {
    // SAFETY: kill takes two numbers and touches no memory.
    match unsafe { libc::kill(-1, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Of `ioprio_set` and `ioprio_get`: the number names a process.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Gives an I/O priority to a process, and to what it starts from then on.
pub(crate) fn set_ioprio(process: u32, priority: u16) -> io::Result<()> {
    // SAFETY: the call has three integers for arguments and touches no memory.
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

/// The I/O priority of a process.
pub(crate) fn ioprio(process: u32) -> io::Result<i32> {
    // SAFETY: the call has two integers for arguments and touches no memory.
    let found = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, process) };
    i32::try_from(found).ok().filter(|found| *found >= 0).ok_or_else(io::Error::last_os_error)
}

/// Programs that this process executes from then on lie at the addresses that their files name, the
/// heap right behind them: the kernel of this machine moves nothing at random.
pub(crate) fn fix_addresses() -> io::Result<()> {
    let persona = libc::c_ulong::from(libc::ADDR_NO_RANDOMIZE.cast_unsigned());
    // SAFETY: the call takes a number and touches no memory; it applies to programs still to come.
    if unsafe { libc::personality(persona) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Forks a process that does `work`; its exit status is 0 if that returns true, else 1.
///
/// # Errors
/// If this process has several threads: a lock that another one held would stay locked in the copy.
/// If no process can be made.
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
        // SAFETY: the child ends here, without running what its parent left to be run at its end.
        unsafe { libc::_exit(i32::from(!done)) }
    }
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        // The test's harness is another thread.
        let error = super::fork(|| true).unwrap_err().to_string();
        assert!(error.contains("threads, expected 1"), "{error}");
    }
}
