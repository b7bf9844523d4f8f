//! Readers as processes or as the kernel's threads: what bench and guest test compare.
//!
//!     clients fork DISK CLIENTS READS THINK_NS      40 forked processes: pread O_DIRECT and nanosleep
//!     clients kernel DISK CLIENTS READS THINK_NS    the same by /dev/modelload
//!
//! Prints the virtual time that it took, and a sum over everything that was seen.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use elevator::Time;
use guest::load::{Load, drive};
use workload::{Params, Step, WorkloadKind, find};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [how, disk, clients, reads, think_ns] = &words[..] else { panic!("fork|kernel DISK CLIENTS READS THINK_NS") };
    let (reads, think_ns): (u64, u64) = (reads.parse().unwrap(), think_ns.parse().unwrap());
    let kind = find("randread").unwrap();
    let amount = (reads * 4096).to_string();
    let params = kind.params([("clients", clients.as_str()), ("amount", amount.as_str())]).unwrap();
    let params = Params { think_time_ns: think_ns, ..params };
    let mut disk =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(disk).expect("the disk opens");
    let disk_bytes = disk.seek(SeekFrom::End(0)).expect("the disk has a length");
    match how.as_str() {
        "fork" => forked(kind, &params, &disk, disk_bytes),
        "kernel" => in_kernel(kind, &params, &disk, disk_bytes),
        how => panic!("{how}: fork or kernel"),
    }
}

fn in_kernel(kind: &'static WorkloadKind, params: &Params, disk: &File, disk_bytes: u64) {
    let load = Load {
        kind,
        params,
        seed: 1,
        disk,
        disk_bytes,
        logical_block: 512,
        warmup_ns: 0,
        duration_ns: 3_600_000_000_000,
        turnaround_ns: 0,
        turnaround_spread_ns: 0,
        at_start: None,
    };
    let outcome = drive(&load).expect("the load can be driven");
    let measured = outcome.measured;
    println!(
        "kernel: {} ns, {} reads, {} errors, latencies {} ns, longest {} ns",
        outcome.elapsed_ns,
        measured.reads.count,
        measured.errors,
        measured.reads.latency_sum_ns,
        outcome.longest_wait_ns
    );
}

fn forked(kind: &'static WorkloadKind, params: &Params, disk: &File, disk_bytes: u64) {
    let extents = kind.extents(params, disk_bytes, 512).unwrap();
    let members = kind.members(params, &extents, 1);
    let mut gate = [0; 2];
    // SAFETY: an array of two, as pipe wants it.
    assert_eq!(unsafe { libc::pipe(gate.as_mut_ptr()) }, 0, "{}", Error::last_os_error());
    let count = members.len();
    for mut member in members {
        // SAFETY: this program has one thread.
        if unsafe { libc::fork() } == 0 {
            // SAFETY: the end that others wait for; a process that keeps it open would keep them waiting.
            unsafe { libc::close(gate[1]) };
            let mut waits = File::open(format!("/proc/self/fd/{}", gate[0])).expect("the gate opens");
            let _ = waits.read(&mut [0]);
            client(&mut *member.program, disk);
            std::process::exit(0);
        }
    }
    let start = Instant::now();
    // SAFETY: nobody else closes it in this process.
    unsafe { libc::close(gate[1]) };
    for _ in 0..count {
        let mut status = 0;
        // SAFETY: a pointer to a living integer.
        assert!(unsafe { libc::wait(&mut status) } > 0 && status == 0, "a client failed: {status}");
    }
    println!("fork: {} ns, {count} clients", start.elapsed().as_nanos());
}

fn client(program: &mut dyn workload::Client, disk: &File) {
    let layout = std::alloc::Layout::from_size_align(4096, 4096).expect("a page");
    // SAFETY: the layout has a size; the memory is never given back.
    let buffer = unsafe { std::alloc::alloc(layout) };
    loop {
        match program.next(Time::ZERO, None) {
            Step::Io(request) => {
                // SAFETY: the buffer has 4096 bytes, which every request of this workload has too.
                let n = unsafe { libc::pread(disk.as_raw_fd(), buffer.cast(), 4096, request.offset as i64) };
                assert_eq!(n, 4096, "{}", Error::last_os_error());
            }
            Step::Think(ns) => sleep(Duration::from_nanos(ns)),
            Step::End => return,
            Step::Sync => unreachable!("readers never sync"),
        }
    }
}
