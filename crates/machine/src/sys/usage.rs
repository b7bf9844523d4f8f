//! What a child that has ended used: rustix's waitid has no place for it.

use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::Pid;

/// What a program and the children that it waited for used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// User and system time.
    pub cpu: Duration,
    /// The largest resident memory of one of its processes, in bytes. At least the memory of its
    /// own that this process had when it forked: the kernel counts from there.
    pub max_rss: u64,
}

/// The usage of a child that has ended, which stays to be reaped; none while it runs.
pub(crate) fn usage_of_ended(pid: Pid) -> Option<Usage> {
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut used = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both structures live as long as the call and are at least as large as the kernel's.
    let done = unsafe {
        let pid = pid.as_raw_nonzero().get();
        libc::syscall(libc::SYS_waitid, libc::P_PID, pid, info.as_mut_ptr(), how, used.as_mut_ptr())
    };
    // SAFETY: zeros are values of both structures.
    let (info, used) = unsafe { (info.assume_init(), used.assume_init()) };
    // SAFETY: the field is in what waitid fills in; it is 0 where no child has ended.
    if done != 0 || unsafe { info.si_pid() } == 0 {
        return None;
    }
    let time = |of: libc::timeval| {
        let micros = u32::try_from(of.tv_usec).unwrap_or(0).saturating_mul(1000);
        Duration::new(u64::try_from(of.tv_sec).unwrap_or(0), micros)
    };
    let max_rss = u64::try_from(used.ru_maxrss).unwrap_or(0) * 1024;
    Some(Usage { cpu: time(used.ru_utime) + time(used.ru_stime), max_rss })
}
