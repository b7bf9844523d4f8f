//! A workload's clients as processes, for comparison with the kernel's ([`crate::load`]).
//!
//! `fork`, then `pread` and `nanosleep` in each child, which cost several context switches of the
//! host each. Supports only direct reads with one request in flight per client.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::Duration;

use elevator::{Op, Time};
use rustix::process::{WaitOptions, waitpid};
use sim::workload::{Client, Member, Params, Step, WorkloadKind};

use crate::inside::now_ns;
use crate::sys::fork;

const PAGE: usize = 4096;

/// A buffer aligned for direct I/O.
#[repr(align(4096))]
struct Page([u8; PAGE]);

/// `disk` must be open for direct I/O. Returns nanoseconds.
///
/// # Errors
/// Fails also if this process has several threads, and for steps that are not reads of at most 4
/// KiB.
pub fn run(
    kind: &WorkloadKind,
    params: &Params,
    disk: &File,
    disk_bytes: u64,
    seed: u64,
) -> io::Result<u64> {
    let extents = kind.extents(params, disk_bytes, 512).map_err(io::Error::other)?;
    let (mut gate, opener) = io::pipe()?;
    let mut children = Vec::new();
    let mut opener = Some(opener);
    for mut member in kind.members(params, &extents, seed) {
        children.push(fork(|| child(&mut member, disk, &mut gate, &mut opener).is_ok())?);
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

/// Waits until all children exist, then runs a client.
fn child(
    member: &mut Member,
    disk: &File,
    gate: &mut PipeReader,
    opener: &mut Option<PipeWriter>,
) -> io::Result<()> {
    // An open end would keep all children waiting.
    drop(opener.take());
    gate.read_exact(&mut [0])
        .or_else(|e| if e.kind() == io::ErrorKind::UnexpectedEof { Ok(()) } else { Err(e) })?;
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
            Step::Io(_) | Step::Await(_) | Step::Sync => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        }
    }
}
