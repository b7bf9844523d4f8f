//! The monotonic clock in nanoseconds, which threads and processes can share, and computing for a
//! time.
//!
//! In a guest with virtual time, computing takes none. A thread asks the guest's kernel for the time
//! instead (`kernel/modelcpu-main.c`), and can be interrupted and preempted as if it computed.

use std::fs::File;
use std::hint::black_box;
use std::sync::OnceLock;

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

use super::periodic::Moments;

/// Between checks of `stop`.
pub(crate) const SLICE_NS: u64 = 20_000_000;

pub(crate) fn now_ns() -> u64 {
    machine::now_ns(ClockId::Monotonic)
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Signals do not interrupt it.
pub(crate) fn sleep_until(ns: u64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ns))
        == Err(rustix::io::Errno::INTR)
    {}
}

/// The guest's device, if this process computes in virtual time.
static DEVICE: OnceLock<File> = OnceLock::new();

/// From now on, computing takes virtual time: in a guest with the module `modelcpu`.
pub fn compute_in_virtual_time() -> std::io::Result<()> {
    let device = File::open("/dev/modelcpu")?;
    DEVICE.get_or_init(|| device);
    Ok(())
}

pub(crate) fn is_virtual() -> bool {
    DEVICE.get().is_some()
}

/// Least that a step takes in virtual time, where system calls and switches take none: work that
/// never computes would stop the clock.
pub(crate) const MIN_STEP_NS: u64 = 1_000;

/// Charges a step that consists of system calls, in virtual time only.
pub(crate) fn charge_step() {
    if let Some(device) = DEVICE.get() {
        compute_in(device, MIN_STEP_NS);
    }
}

/// Computes for `ns` of CPU time, however often the thread is preempted.
pub(crate) fn compute(ns: u64) {
    if let Some(device) = DEVICE.get() {
        return compute_in(device, ns.max(MIN_STEP_NS));
    }
    // The clock of CPU time costs a system call, and stands while the thread is preempted.
    let used_ns = || machine::now_ns(ClockId::ThreadCPUTime);
    let end = used_ns() + ns;
    let mut left = ns;
    while left > 0 {
        spin_until(now_ns() + left);
        left = end.saturating_sub(used_ns());
    }
}

fn spin_until(moment: u64) {
    let mut x = 1u64;
    while now_ns() < moment {
        for _ in 0..100 {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

/// Words of a `struct modelcpu_periodic` (`kernel/modelcpu.h`), and latencies of a call.
const HEAD: usize = 7;
const BATCH: usize = 256;

/// Works at moments in the guest's kernel, without a system call at each, until signals or other
/// threads call for user mode or `end`. Returns how late it was each time; `None` on a machine.
pub(super) fn run_periodic(
    moments: &mut Moments,
    work_ns: u64,
    end: u64,
) -> Option<impl Iterator<Item = u64>> {
    let device = DEVICE.get()?;
    let work_ns = if work_ns > 0 { work_ns.max(MIN_STEP_NS) } else { 0 };
    let Moments { next, interval, missed, left } = *moments;
    let mut bytes = [next, end, interval, work_ns, left, missed, 0].map(u64::to_ne_bytes).concat();
    bytes.resize((HEAD + BATCH) * 8, 0);
    let read = rustix::io::read(device, &mut bytes[..]);
    assert!(read == Ok(bytes.len()), "/dev/modelcpu does periodic work: {read:?}");
    let word = move |i: usize| u64::from_ne_bytes(bytes[i * 8..][..8].try_into().expect("8 bytes"));
    *moments = Moments { next: word(0), interval, missed: word(5), left: word(4) };
    Some((0..usize::try_from(word(6)).unwrap_or(0).min(BATCH)).map(move |i| word(HEAD + i)))
}

/// Signals are handled and do not shorten it.
fn compute_in(device: &File, ns: u64) {
    let mut left = ns;
    while left > 0 {
        let mut bytes = left.to_ne_bytes();
        match rustix::io::read(device, &mut bytes) {
            Ok(8) => left = u64::from_ne_bytes(bytes),
            Err(rustix::io::Errno::INTR) => {}
            other => panic!("/dev/modelcpu takes and returns 8 bytes: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    #[test]
    fn a_thread_that_shares_its_cpu_computes_for_as_long() {
        const NS: u64 = 30_000_000;
        let stop = AtomicBool::new(false);
        let on_one_cpu = || {
            let all = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap();
            let mut one = CpuSet::new();
            one.set(first);
            sched_setaffinity(None, &one).unwrap();
        };
        let used = thread::scope(|scope| {
            scope.spawn(|| {
                on_one_cpu();
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let computing = scope.spawn(|| {
                on_one_cpu();
                let before = machine::now_ns(ClockId::ThreadCPUTime);
                compute(NS);
                machine::now_ns(ClockId::ThreadCPUTime) - before
            });
            let used = computing.join().unwrap();
            stop.store(true, Ordering::Relaxed);
            used
        });
        assert!(used >= NS, "{used} ns of CPU time");
    }
}
