//! Processes, by record in a kernel and by number in the laboratory, with equal decisions.

use elevator::testing::request;
use elevator::{BlockRequest, Build, DepthLimit, Elevator, Finished, InsertAt, NoDisk, Time, find};
use kernel_model::{CElevator, anticipatory};

const FAR: u64 = 2_000_000;

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn read(tag: u32, process: u32, sector: u64) -> BlockRequest {
    BlockRequest { process, ..request(tag, sector) }
}

/// Serves process 0 once and waits for it, although process 1 has a far request.
fn waiting(elevator: &mut dyn Elevator) {
    let first = read(0, 0, 0);
    elevator.insert(ms(1), &first, InsertAt::Sorted);
    assert_eq!(elevator.dispatch(ms(1), &NoDisk), Some(first.tag));
    elevator.insert(ms(2), &read(1, 1, FAR), InsertAt::Sorted);
    elevator.complete(ms(3), &Finished { request: first, issued: ms(1) });
    assert_eq!(elevator.dispatch(ms(3), &NoDisk), None);
    assert_eq!(elevator.next_timer(), Some(ms(9)));
}

#[test]
fn a_new_process_of_an_old_number_is_not_the_one_that_is_waited_for() {
    let build = Build::default();
    let rust = (find("anticipatory").expect("a row of the table").build)(&build);
    let c: Box<dyn Elevator> = Box::new(CElevator::new(anticipatory(), &build));
    for mut elevator in [rust, c] {
        waiting(elevator.as_mut());
        assert_eq!(elevator.limit_depth(&read(2, 0, 0), 16), DepthLimit::Exceed);
        elevator.exited(ms(4), 0);
        elevator.insert(ms(5), &read(2, 0, FAR / 2), InsertAt::Sorted);
        let successes = elevator.anticipation().expect("it anticipates").successes;
        assert_eq!(successes, 0, "{elevator:?}");
        assert!(elevator.next_timer().is_some());
    }
}

#[test]
fn requests_outlive_the_record_of_their_process() {
    let mut elevator = CElevator::new(anticipatory(), &Build::default());
    waiting(&mut elevator);
    let mut requests = vec![read(0, 0, 0), read(1, 1, FAR)];
    // One request is held, one in the device, and the previous process is awaited; all exit and are
    // replaced.
    for (tag, process) in [(2, 2), (3, 1), (4, 0)] {
        elevator.exited(ms(4), process);
        let request = read(tag, process, FAR + u64::from(tag) * 5000);
        requests.push(request);
        elevator.insert(ms(4), &request, InsertAt::Sorted);
        let limit = elevator.limit_depth(&request, 16);
        assert_eq!(limit, DepthLimit::None, "the new process {process} is not waited for");
    }
    elevator.on_timer(ms(9));
    let mut served = Vec::new();
    for at in 0..40 {
        let now = ms(10 + 10 * at);
        elevator.on_timer(now);
        if let Some(tag) = elevator.dispatch(now, &NoDisk) {
            let request = requests[tag as usize];
            elevator.exited(now, request.process);
            served.push(request.tag);
            elevator.complete(now, &Finished { request, issued: now });
        }
    }
    served.sort_unstable();
    assert_eq!((served, elevator.len()), (vec![1, 2, 3, 4], 0));
}
