//! System calls of scheduling: policy, CPUs, nice level and I/O priority of a task. None of them
//! allocates.

use std::io;

/// Of `ioprio_set`: the number names a process, and 0 the calling one.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Bytes of the first version of `struct sched_attr`.
const SIZE: u32 = 48;
const _: () = assert!(size_of::<SchedAttr>() == SIZE as usize);

/// `struct sched_attr`, its first version.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchedAttr {
    /// Set on its way to the kernel, 0 elsewhere.
    pub(crate) size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    pub(crate) priority: u32,
    /// Of deadline tasks; of fair ones the slice.
    pub(crate) runtime: u64,
    pub(crate) deadline: u64,
    pub(crate) period: u64,
}

impl SchedAttr {
    /// Of a task, 0 for the calling one.
    pub(crate) fn of_task(task: i32) -> io::Result<SchedAttr> {
        let mut found = SchedAttr::default();
        // SAFETY: the structure lives as long as the call, which writes at most SIZE bytes: those
        // that it has.
        let done = unsafe { libc::syscall(libc::SYS_sched_getattr, task, &raw mut found, SIZE, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(SchedAttr { size: 0, ..found }) }
    }

    /// Gives it to a task, 0 for the calling one.
    pub(crate) fn give(&self, task: i32) -> io::Result<()> {
        let given = SchedAttr { size: SIZE, ..*self };
        // SAFETY: the structure lives as long as the call, which reads as many bytes as its `size`
        // says: those that it has.
        let done = unsafe { libc::syscall(libc::SYS_sched_setattr, task, &raw const given, 0) };
        if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The CPUs of a task (0 for the calling one) that are online, as bits.
pub(crate) fn sched_getaffinity(task: u32, words: &mut [u64]) -> io::Result<()> {
    // SAFETY: the words live as long as the call, which writes at most as many bytes as its size
    // says.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, task, size_of_val(words), words.as_mut_ptr())
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives CPUs to a task, 0 for the calling one.
pub(crate) fn sched_setaffinity(task: u32, words: &[u64]) -> io::Result<()> {
    // SAFETY: the words live as long as the call, and their size is given; what is beyond the
    // kernel's own size is not read.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, task, size_of_val(words), words.as_ptr())
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives a nice level to the calling process.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: the call has three integers for arguments and touches no memory.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives an I/O priority to the calling process.
pub(crate) fn set_ioprio(ioprio: u16) -> io::Result<()> {
    // SAFETY: the call has three integers for arguments and touches no memory.
    let done = unsafe {
        libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, libc::c_int::from(ioprio))
    };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
