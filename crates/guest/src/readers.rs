//! The clients of a workload as one process each, by plain system calls: what the kernel's own clients (`load`) are measured against.
//!
//! This is how everybody would do it: `fork`, and in each child `pread` and `nanosleep`. In User-mode Linux each of these calls costs
//! several context switches of the host. For one thing at a time only: direct reads, one open request a client.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::Duration;

use elevator::{Op, Time};
use rustix::process::{Pid, WaitOptions, waitpid};
use workload::{Client, Member, Params, Step, WorkloadKind};

use crate::inside::now_ns;

/// The longest read.
const PAGE: usize = 4096;

/// A buffer as direct I/O wants it.
#[repr(align(4096))]
struct Page([u8; PAGE]);

/// Runs the clients of a workload as processes on `disk`, which is open for direct I/O, and waits for them. Returns how many
/// nanoseconds that took from the moment at which they were let go.
///
/// To be called by a process with one thread: children go on with a copy of it.
///
/// # Errors
/// Parameters and disk do not go together, the system makes no process, or a client failed: a read of the disk, or a step that is no
/// read of at most 4 KiB.
pub fn run(kind: &WorkloadKind, params: &Params, disk: &File, disk_bytes: u64, seed: u64) -> io::Result<u64> {
    let extents = kind.extents(params, disk_bytes, 512).map_err(io::Error::other)?;
    let (mut gate, opener) = io::pipe()?;
    let mut children = Vec::new();
    let mut opener = Some(opener);
    for mut member in kind.members(params, &extents, seed) {
        // SAFETY: this process has one thread, as this function demands, so nothing that the child uses is held by another.
        match unsafe { libc::fork() } {
            0 => {
                let done = child(&mut member, disk, &mut gate, &mut opener);
                // SAFETY: the child ends here, without running what its parent left to be run at its end.
                unsafe { libc::_exit(i32::from(done.is_err())) }
            }
            pid => children.push(Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)?),
        }
    }
    let start = now_ns();
    drop(opener.take());
    for child in children {
        let ended = waitpid(Some(child), WaitOptions::empty())?;
        if ended.is_none_or(|(_, status)| status.exit_status() != Some(0)) {
            return Err(io::Error::other("a client failed"));
        }
    }
    Ok(now_ns() - start)
}

/// What a child does: it waits until all are there, and then works.
fn child(member: &mut Member, disk: &File, gate: &mut PipeReader, opener: &mut Option<PipeWriter>) -> io::Result<()> {
    // Whoever keeps it open keeps all waiting.
    drop(opener.take());
    gate.read_exact(&mut [0]).or_else(|e| if e.kind() == io::ErrorKind::UnexpectedEof { Ok(()) } else { Err(e) })?;
    work(&mut *member.program, member.base, disk)
}

fn work(program: &mut dyn Client, base: u64, disk: &File) -> io::Result<()> {
    let mut page = Box::new(Page([0; PAGE]));
    loop {
        match program.next(Time::ZERO, None) {
            Step::Io(request) if request.op == Op::Read && request.len as usize <= PAGE => {
                disk.read_exact_at(&mut page.0[..request.len as usize], base + request.offset)?;
            }
            Step::Think(ns) => sleep(Duration::from_nanos(ns)),
            Step::End => return Ok(()),
            Step::Io(_) | Step::Sync => return Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
