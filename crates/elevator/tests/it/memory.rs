//! Memory of `occupancy` per held request and per process.

use elevator::testing::request;
use elevator::{BlockRequest, Build, Elevator, Finished, InsertAt, NoDisk, Time, find};
use testbed::allocator::{Counting, count_held};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Powers of two, so that doubling tables are full.
const FEW: u32 = 4096;
const MANY: u32 = 8192;

fn insert(elevator: &mut dyn Elevator, process: u32, tag: u32, nr: u64) -> BlockRequest {
    let request = BlockRequest { seq: nr, process, ..request(tag, nr * 7919 % (1 << 30) * 8) };
    elevator.insert(Time::from_ns(1_000_000 + nr), &request, InsertAt::Sorted);
    request
}

/// Bytes of an elevator that holds `nr` requests, 32 per process: the number that occupancy
/// exposes.
fn with_requests(name: &str, nr: u32) -> isize {
    let build = Build { nr_tags: nr, ..Build::default() };
    let (elevator, held) = count_held(|| {
        let mut elevator = (find(name).expect("it is a row").build)(&build);
        for tag in 0..nr {
            insert(elevator.as_mut(), tag / 32, tag, tag.into());
        }
        elevator
    });
    assert_eq!(elevator.len(), nr as usize);
    held.now
}

/// Bytes of an elevator that has served `nr` processes in turn, of which none or all have exited.
fn with_processes(name: &str, nr: u32, exits: bool) -> isize {
    let build = Build { nr_tags: 4, ..Build::default() };
    let serve = || {
        let mut elevator = (find(name).expect("it is a row").build)(&build);
        for process in 0..nr {
            let request = insert(elevator.as_mut(), process, 0, process.into());
            let now = Time::from_ns(1_000_000 + u64::from(process));
            assert_eq!(elevator.dispatch(now, &NoDisk), Some(0), "it holds one");
            elevator.complete(now, &Finished { request, issued: now });
            if exits {
                elevator.exited(now, process);
            }
        }
        elevator
    };
    count_held(serve).1.now
}

#[test]
fn occupancy_takes_200_bytes_for_a_held_request_and_400_for_a_process_at_most() {
    for name in ["none", "mq-deadline", "occupancy"] {
        let per = |count: &dyn Fn(u32) -> isize| {
            (count(MANY) - count(FEW)) as f64 / f64::from(MANY - FEW)
        };
        let request = per(&|nr| with_requests(name, nr));
        let [process, gone] = [false, true].map(|exits| per(&|nr| with_processes(name, nr, exits)));
        println!(
            "{name:<12} {request:>6.1} bytes for a request, {process:>6.1} for a process, {gone:>5.1} for one that has exited"
        );
        assert!(name != "occupancy" || request <= 200.0, "a request takes {request} bytes");
        assert!(name != "occupancy" || process <= 400.0, "a process takes {process} bytes");
    }
}
