//! Scheduling system calls. None of them allocates.

use std::io;

/// For `ioprio_set`.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Of the first version of `struct sched_attr`.
const SIZE: u32 = 48;
const _: () = assert!(size_of::<SchedAttr>() == SIZE as usize);

/// `struct sched_attr`, first version.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchedAttr {
    /// Set only for the kernel.
    pub(crate) size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    pub(crate) priority: u32,
    /// Of a deadline task, or a fair task's slice.
    pub(crate) runtime: u64,
    pub(crate) deadline: u64,
    pub(crate) period: u64,
}

impl SchedAttr {
    /// 0 is the calling task.
    pub(crate) fn of_task(task: i32) -> io::Result<SchedAttr> {
        let mut found = SchedAttr::default();
        // SAFETY: the structure outlives the call, which writes at most SIZE bytes: its own size.
        let done = unsafe { libc::syscall(libc::SYS_sched_getattr, task, &raw mut found, SIZE, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(SchedAttr { size: 0, ..found }) }
    }

    /// 0 is the calling task.
    pub(crate) fn give(&self, task: i32) -> io::Result<()> {
        let given = SchedAttr { size: SIZE, ..*self };
        // SAFETY: the structure outlives the call, which reads as many bytes as its `size` field
        // states: its own size.
        let done = unsafe { libc::syscall(libc::SYS_sched_setattr, task, &raw const given, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A bitmap of online CPUs; 0 is the calling task.
pub(crate) fn sched_getaffinity(task: u32, words: &mut [u64]) -> io::Result<()> {
    // SAFETY: the words outlive the call, which writes at most their size.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, task, size_of_val(words), words.as_mut_ptr())
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// 0 is the calling task.
pub(crate) fn sched_setaffinity(task: u32, words: &[u64]) -> io::Result<()> {
    // SAFETY: the words outlive the call, and their size is passed; the kernel reads at most its
    // own size.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, task, size_of_val(words), words.as_ptr())
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Applies to the calling process.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Applies to the calling process.
pub(crate) fn set_ioprio(ioprio: u16) -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory.
    let done = unsafe {
        libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, libc::c_int::from(ioprio))
    };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
