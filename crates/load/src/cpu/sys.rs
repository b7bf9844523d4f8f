//! Unsafe code: shared memory, forked processes that die with their parent, the number of CPUs.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal,
    waitpid,
};

use crate::cpu::build::Compiler;
use crate::cpu::clock::compute;
use crate::cpu::messenger::{Role, task};

/// Shared with forked processes; initially 0.
#[derive(Debug)]
pub(crate) struct Shared {
    start: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: it points to atomics, which any thread may use, and which stay until it is dropped.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn new(len: usize) -> io::Result<Shared> {
        let bytes = len.max(1) * size_of::<AtomicU64>();
        // SAFETY: a new mapping at an address chosen by the kernel touches no memory in use.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::other("memory at address 0"))?;
        Ok(Shared { start, len })
    }

    pub(crate) fn numbers(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `len` numbers, is page-aligned, zeroed by the kernel, and lives
        // as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it is the whole mapping that `new` made, and no reference to it outlives `self`.
        let _ =
            unsafe { munmap(self.start.as_ptr().cast(), self.len.max(1) * size_of::<AtomicU64>()) };
    }
}

/// The exit status is 1 if a channel failed.
pub(crate) fn fork_messenger(
    role: Role<'_>,
    bytes: usize,
    numbers: &[AtomicU64],
    slot: &[AtomicU64],
) -> io::Result<Pid> {
    // SAFETY: a messenger allocates nothing and takes no lock: see the head of its file.
    unsafe { fork(|| u8::from(!task(role, bytes, numbers, slot))) }
}

pub(crate) fn fork_computing(ns: u64) -> io::Result<Pid> {
    // SAFETY: it reads the clock and multiplies, and nothing else.
    unsafe {
        fork(|| {
            compute(ns);
            0
        })
    }
}

/// Bytes of a compiler's stack.
const STACK: usize = 256 << 10;

/// The stack of the compilers of one job, which run one after the other.
#[derive(Debug)]
pub(crate) struct Stack(Vec<u8>);

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack(vec![0; STACK])
    }
}

/// Runs a compiler in a process that shares this one's memory, as vfork has it, and returns when it
/// has ended: with a copy of the memory, trials in a guest took five times as long. False if its I/O
/// failed.
pub(crate) fn run_compiler(compiler: Compiler<'_>, stack: &mut Stack) -> io::Result<bool> {
    extern "C" fn begin(compiler: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the parent thread waits for the end of this process, and lends it the compiler.
        let compiler = unsafe { (*compiler.cast::<Option<Compiler<'_>>>()).take() };
        libc::c_int::from(!compiler.is_some_and(Compiler::run))
    }
    let mut compiler = Some(compiler);
    let end = stack.0.as_mut_ptr_range().end;
    // SAFETY: `end` is within the stack's allocation, or one past it.
    let end = unsafe { end.sub(end.addr() % 16) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the new process has a separate stack, and this thread does nothing until it has
    // ended, so that nothing it uses of this thread's is used twice. A compiler does not unwind.
    let pid = unsafe { libc::clone(begin, end.cast(), flags, (&raw mut compiler).cast()) };
    let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)?;
    Ok(wait(pid))
}

/// Exits with `work`'s result; killed when the forking thread exits.
///
/// # Safety
/// `work` runs in a copy of this process with only this thread. It must not allocate, take a lock
/// or unwind.
unsafe fn fork(work: impl FnOnce() -> u8) -> io::Result<Pid> {
    let parent = getpid();
    // SAFETY: the new process only does what `work` does, which the caller vouches for, and leaves
    // by _exit, so that nothing of the parent is run or flushed twice.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let status = match set_parent_process_death_signal(Some(Signal::KILL)) {
            // The parent may have exited before the parent-death signal was set.
            Ok(()) if getppid() == Some(parent) => work(),
            _ => 1,
        };
        // SAFETY: it ends this process and does not return.
        unsafe { libc::_exit(status.into()) };
    }
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
}

/// 1 if unknown.
pub(crate) fn online_cpus() -> u32 {
    // SAFETY: the call takes a number and touches no memory.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).unwrap_or(1).max(1)
}

/// Whether it ended with status 0.
pub(crate) fn wait(pid: Pid) -> bool {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => {
                return ended.is_ok_and(|ended| {
                    ended.is_some_and(|(_, status)| status.exit_status() == Some(0))
                });
            }
        }
    }
}

/// Processes that are killed on drop.
#[derive(Debug, Default)]
pub(crate) struct Children(pub(crate) Vec<Pid>);

impl Children {
    /// Removes exited processes. False if one failed.
    pub(crate) fn reap(&mut self) -> bool {
        let mut well = true;
        self.0.retain(|pid| match waitpid(Some(*pid), WaitOptions::NOHANG) {
            Ok(None) => true,
            Ok(Some((_, status))) => {
                well &= status.exit_status() == Some(0);
                false
            }
            Err(_) => {
                well = false;
                false
            }
        });
        well
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in &self.0 {
            wait(*pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_forked_process_writes_is_seen_here() {
        let shared = Shared::new(3).unwrap();
        let write = || {
            shared.numbers()[2].store(17, Ordering::Release);
            0
        };
        // SAFETY: it writes a number.
        let child = unsafe { fork(write) };
        let mut children = Children(vec![child.unwrap()]);
        while !children.0.is_empty() {
            assert!(children.reap());
        }
        assert_eq!(shared.numbers()[2].load(Ordering::Acquire), 17);
    }

    #[test]
    fn one_that_fails_is_told_and_one_that_hangs_is_killed() {
        // SAFETY: it does nothing.
        let mut children = Children(vec![unsafe { fork(|| 3) }.unwrap()]);
        let mut well = true;
        while !children.0.is_empty() {
            well &= children.reap();
        }
        assert!(!well);
        let hang = || {
            loop {
                sleep(Duration::from_secs(1));
            }
        };
        // SAFETY: it makes system calls only.
        let hanging = unsafe { fork(hang) };
        let hanging = hanging.unwrap();
        drop(Children(vec![hanging]));
        assert!(
            waitpid(Some(hanging), WaitOptions::NOHANG).is_err(),
            "it was killed and waited for"
        );
    }
}
