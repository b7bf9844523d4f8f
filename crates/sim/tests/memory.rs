//! Memory is constant: a trial of ten times as many requests needs not a byte more for each of them.
//!
//! An allocator that counts what is held stands under the whole test program, so everything is in it: engine, queue, scheduler,
//! disk, clients and measures. It is a program of its own for that, with one test. `cargo bench -p sim -- --memory` shows the
//! same for 100 million requests by what the kernel says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use elevator::{ELEVATORS, ElevatorKind};
use sim::{Trial, Unobserved, device, run};

/// The system's allocator, and what it has given out.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters hold no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps the rules for this layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the pointer came from `alloc` above with this layout, so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What may come and go with the random choices of a longer trial: nodes of trees, a table that doubles. Far less than a byte for
/// each of the requests that the longer trial has more.
const SLACK: usize = 4096;

/// Requests of a trial of so many simulated seconds, and the most that it held at once, in bytes.
fn peak(elevator: &'static ElevatorKind, workload: &str, seconds: u64) -> (u64, usize) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let workload = workload::find(workload).expect("the workload is in the table");
    let trial = Trial {
        elevator,
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: None,
        device: device::device("hp97560", 1).expect("the device is in the table"),
        workload,
        params: workload.params([("clients", "40"), ("block_size", "4k")]).expect("40 clients are possible"),
        seed: 1,
        warmup_ns: 0,
        duration_ns: seconds * 1_000_000_000,
        turnaround_ns: 100_000,
        turnaround_spread_ns: 0,
    };
    let outcome = run(trial, &mut Unobserved, &|| false).expect("the trial runs to its end");
    (outcome.queue.completed, PEAK.load(Relaxed) - before)
}

#[test]
fn ten_times_as_many_requests_need_no_more_memory() {
    // The simulated disk does some tens of random requests a second, and some hundreds of sequential ones.
    let all = ELEVATORS.iter().map(|row| (row, "randread", 200));
    let long = ELEVATORS.iter().filter(|row| row.name == "none").map(|row| (row, "randread", 2000));
    let sequential =
        ELEVATORS.iter().filter(|row| ["wpcas", "cfq"].contains(&row.name)).map(|row| (row, "seqread", 200));
    for (row, workload, seconds) in all.chain(long).chain(sequential) {
        let (few, small) = peak(row, workload, seconds);
        let (many, large) = peak(row, workload, 10 * seconds);
        println!("{} {workload}: {small} bytes for {few} requests, {large} for {many}", row.name);
        assert!(few >= 2000 && many > 7 * few, "{} {workload}: {few} and {many} requests", row.name);
        assert!(
            large <= small + SLACK,
            "{} {workload}: {small} bytes for {few} requests, {large} for {many}",
            row.name
        );
        assert!(large < 16 << 20, "{} {workload}: {large} bytes", row.name);
    }
}
