//! Vectors of the proposal, and bad input: stalls, clock jumps, thousands of processes, extreme
//! weights.

use super::*;
use crate::algorithm::flow_testing::{Drive, MS, of};
use crate::request::Finished;
use crate::request::Priority;
use crate::scheduler::{DepthLimit, InsertAt, NoDisk};
use crate::testing::Keeper;

fn drive(weights: &[u32], set: &[(&str, u64)]) -> Drive {
    Drive::new(&ROW, weights, set)
}

fn bare() -> Keeper<Occupancy> {
    Keeper::new(Box::new(Occupancy::new(64)))
}

fn insert(occupancy: &mut Keeper<Occupancy>, now: u64, request: BlockRequest) {
    let request = BlockRequest { seq: occupancy.requests_seen(), ..request };
    occupancy.insert(Time::from_ns(now), request, InsertAt::Sorted);
}

fn next(occupancy: &mut Keeper<Occupancy>, now: u64) -> Option<BlockRequest> {
    occupancy.dispatch(Time::from_ns(now), &NoDisk)
}

fn complete(occupancy: &mut Occupancy, now: u64, request: BlockRequest) {
    occupancy.complete(Time::from_ns(now), &Finished { request, issued: Time::ZERO });
}

impl Occupancy {
    fn requests_seen(&self) -> u64 {
        self.requests.queued as u64 + self.shares.last
    }
}

/// Seeks to the far end of the disk and back, so that no position is near.
fn far(process: u32, tag: u32, nr: u64) -> BlockRequest {
    of(process, tag, (nr % 2) * 100_000_000 + nr * 1_000_000 + u64::from(process) * 1_000)
}

#[test]
fn a_weight_of_two_is_served_twice_as_often() {
    let mut drive = drive(&[200, 100], &[("slack_costs", 0), ("positions", 0)]);
    for nr in 0..20 {
        drive.insert(far(0, nr, nr.into()));
        drive.insert(far(1, 20 + nr, nr.into()));
    }
    let order = drive.processes(30);
    assert_eq!(order[12..30].iter().filter(|process| **process == 0).count(), 12, "{order:?}");
}

/// Process 0 has read sequentially, process 1 far away, at `far_ns` per far seek; process 0's last
/// request has completed.
fn taught(far_ns: u64) -> (Keeper<Occupancy>, u64) {
    let mut occupancy = bare();
    occupancy.set("anticipation", 0);
    let mut now = 0;
    for nr in 0..82u64 {
        let request = if nr % 4 == 3 {
            of(1, 1, 500_000_000 + nr * 3_000_000)
        } else {
            of(0, 0, 8 * (nr - nr / 4))
        };
        insert(&mut occupancy, now, request);
        let request = next(&mut occupancy, now).expect("it is alone");
        now += if nr % 4 == 1 || nr % 4 == 2 { 90_000 } else { far_ns };
        complete(&mut occupancy, now, request);
        now += 20_000;
    }
    occupancy.set("anticipation", 1);
    (occupancy, now - 20_000)
}

#[test]
fn a_sequential_reader_is_waited_for_on_a_disk_and_not_on_flash() {
    for (far_ns, expected) in [(9 * MS, true), (100_000, false)] {
        let (mut occupancy, now) = taught(far_ns);
        assert_eq!(occupancy.model.positions_matter(), Some(expected));
        insert(&mut occupancy, now, of(1, 1, 900_000_000));
        assert_eq!(next(&mut occupancy, now).is_none(), expected);
        assert_eq!(occupancy.next_timer().is_some(), expected);
        assert_eq!(occupancy.anticipation().unwrap().started, u64::from(expected));
        let mut end = now;
        while let Some(timer) = occupancy.next_timer() {
            end = timer.as_ns();
            if next(&mut occupancy, end).is_some() {
                break;
            }
        }
        assert!(end - now < 100 * MS && occupancy.is_empty(), "a wait ends");
    }
}

#[test]
fn a_real_time_request_goes_first_and_a_request_of_the_idle_class_counts_64_times() {
    let mut occupancy = bare();
    let class = |class, request| BlockRequest { priority: Priority { class, level: 4 }, ..request };
    insert(&mut occupancy, 0, class(PrioClass::Idle, of(0, 0, 0)));
    insert(&mut occupancy, 0, of(1, 1, 5000));
    insert(&mut occupancy, 0, class(PrioClass::RealTime, of(2, 2, 9000)));
    let order: Vec<u32> =
        (0..3).filter_map(|_| next(&mut occupancy, 0)).map(|request| request.process).collect();
    assert_eq!(order, [2, 1, 0]);
    let starts: Vec<u64> = (0..3).map(|flow| occupancy.requests.flows[flow].start).collect();
    assert_eq!((starts[0] / 64, starts[1]), (starts[2], starts[2]));
}

#[test]
fn a_stall_of_seconds_and_a_clock_that_jumps_teach_nothing() {
    let mut occupancy = bare();
    let mut now = 0;
    for nr in 0..200u64 {
        insert(&mut occupancy, now, far(0, 0, nr));
        let request = next(&mut occupancy, now).expect("it is alone");
        now += if nr == 150 { 5 * SECOND } else { MS };
        complete(&mut occupancy, now, request);
        now += if nr == 170 { u64::MAX / 4 } else { 10_000 };
    }
    let predicted = occupancy.predict(&far(0, 0, 2), bucket(0, 102_000_000));
    assert!((MS / 2..2 * MS).contains(&predicted), "{predicted} ns");
    assert!(occupancy.next_timer().is_none() && occupancy.is_empty());
}

#[test]
fn a_process_for_each_request_takes_no_memory_once_it_has_exited() {
    let mut occupancy = bare();
    for nr in 0..10_000u64 {
        insert(&mut occupancy, nr * MS, far(nr as u32 % 7, 0, nr));
        let request = next(&mut occupancy, nr * MS).expect("it is alone");
        occupancy.exited(Time::from_ns(nr * MS), request.process);
        complete(&mut occupancy, nr * MS + 1, request);
    }
    assert!(occupancy.requests.flows.len() <= 2, "{} flows", occupancy.requests.flows.len());
    assert!(occupancy.requests.processes.len() <= 7);
}

#[test]
fn processes_that_keep_starting_get_an_eighth_of_the_time_on_credit() {
    let mut occupancy = bare();
    let mut credited = 0;
    for nr in 0..4000u64 {
        let now = nr * 10 * MS;
        insert(&mut occupancy, now, far(1000, 0, nr));
        insert(&mut occupancy, now, far(nr as u32 % 500, 1, nr));
        for step in 0..2 {
            let request = next(&mut occupancy, now + step * 5 * MS).expect("two are held");
            let flow = occupancy.requests.slot(request.tag).flow as usize;
            credited += u64::from(occupancy.requests.flows[flow].credit > 0) * 5 * MS;
            complete(&mut occupancy, now + (step + 1) * 5 * MS, request);
            if request.process != 1000 {
                occupancy.exited(Time::from_ns(now), request.process);
            }
        }
    }
    let (bound, most) = (4000 * 10 * MS / 8, 1000 * 6 * MS);
    assert!(credited <= bound + most, "{} ms on credit", credited / MS);
}

#[test]
fn weights_at_the_extremes_neither_overflow_nor_starve() {
    let mut drive = drive(&[1, u32::MAX], &[]);
    drive.service_ns = 10 * SECOND;
    for nr in 0..32 {
        drive.insert(far(0, nr, nr.into()));
        drive.insert(far(1, 32 + nr, nr.into()));
    }
    let order = drive.processes(64);
    assert_eq!(order.len(), 64);
    assert_eq!(order.iter().filter(|process| **process == 0).count(), 32);
}

#[test]
fn tunables_that_are_written_while_it_waits_apply_to_the_next_decision() {
    let (mut occupancy, now) = taught(9 * MS);
    insert(&mut occupancy, now, of(1, 1, 900_000_000));
    assert!(next(&mut occupancy, now).is_none() && occupancy.next_timer().is_some(), "it waits");
    occupancy.set("anticipation", 0);
    occupancy.set("holds", 0);
    assert!(next(&mut occupancy, now + 10_000).is_some());
    assert!(occupancy.next_timer().is_none());
}

#[test]
fn a_throttled_flow_goes_on_when_fairness_is_switched_off() {
    let mut drive = drive(&[100, 1], &[("slack_costs", 0)]);
    (0..40).for_each(|nr| drive.insert(far(0, nr, nr.into())));
    (0..8).for_each(|nr| drive.insert(far(1, 40 + nr, nr.into())));
    drive.processes(4);
    drive.elevator.set("fairness", 0);
    assert_eq!(drive.processes(60).len(), 44);
}

/// Ten readers that always have a request, 10 ms each; after 100 s, with a full account, a program
/// starts with `nr` sequential reads. Returns its nanoseconds.
fn start_up(credit: u64, nr: u64) -> u64 {
    let mut occupancy = bare();
    occupancy.set("credit", credit);
    let (mut now, mut left) = (0, nr);
    (0..10).for_each(|process| insert(&mut occupancy, 0, far(process, process, process.into())));
    while left > 0 {
        if now == 100 * SECOND {
            insert(&mut occupancy, now, far(20, 20, 0));
        }
        let request = next(&mut occupancy, now).expect("nobody thinks, so nobody is waited for");
        now += 10 * MS;
        complete(&mut occupancy, now, request);
        left -= u64::from(request.process == 20);
        if request.process != 20 || left > 0 {
            insert(&mut occupancy, now, far(request.process, request.tag, now / MS));
        }
    }
    now - 100 * SECOND
}

#[test]
fn a_program_that_starts_beside_ten_readers_has_seven_eighths_of_the_device() {
    // Its 10 s, and an eighth of the total for the others.
    let (with, without) = (start_up(1, 1000), start_up(0, 1000));
    assert!((10 * SECOND..13 * SECOND).contains(&with), "{} ms on credit", with / MS);
    assert!(without >= 100 * SECOND, "{} ms by fair shares", without / MS);
    let twice = start_up(1, 2000);
    assert!(twice >= 90 * SECOND, "{} ms, as credit ends", twice / MS);
}

/// How many requests of an endless stream of reads precede one request of another process.
fn passed_by_stream(other: BlockRequest, set: &[(&str, u64)]) -> u32 {
    let (mut occupancy, mut now) = taught(9 * MS);
    set.iter().for_each(|(name, value)| occupancy.set(name, *value));
    let start = 400_000_000;
    insert(&mut occupancy, now, of(0, 0, start));
    let first = next(&mut occupancy, now).expect("it is alone");
    insert(&mut occupancy, now, other);
    let (mut current, mut passed) = (first, 0);
    for nr in 1..100_000u64 {
        insert(&mut occupancy, now, of(0, 2 + (nr % 2) as u32, start + 8 * nr));
        now += 90_000;
        complete(&mut occupancy, now, current);
        current = next(&mut occupancy, now).expect("the next of the stream is there");
        if current.process == other.process {
            return passed;
        }
        passed += 1;
    }
    passed
}

#[test]
fn a_request_behind_a_stream_is_served_once_it_is_overdue() {
    let behind = of(5, 10, 1_000);
    let passed = |ms| passed_by_stream(behind, &[("fairness", 0), ("overdue_ms", ms)]);
    let (with, without) = (passed(5_000), passed(60_000));
    assert!((55_000..65_000).contains(&with), "{with} went before it, in 5 s and two rounds");
    assert_eq!(without, 99_999, "the stream alone is served");
}

#[test]
fn asynchronous_writes_have_turns_beside_a_stream_of_reads() {
    let (mut occupancy, mut now) = taught(9 * MS);
    occupancy.set("fairness", 0);
    let write = |nr: u64| BlockRequest {
        op: Op::Write,
        sync: false,
        ..of(5, 10, 600_000_000 + 1_000_000 * nr)
    };
    insert(&mut occupancy, now, of(0, 0, 400_000_000));
    insert(&mut occupancy, now, write(0));
    let mut served = [0; 2];
    for nr in 1..8_000u64 {
        let request =
            next(&mut occupancy, now).expect("the stream has one, or its process is in the device");
        now += if request.op == Op::Read { 90_000 } else { 9 * MS };
        complete(&mut occupancy, now, request);
        served[usize::from(request.op == Op::Write)] += 1;
        let again =
            if request.op == Op::Write { write(nr) } else { of(0, 0, 400_000_000 + 8 * nr) };
        insert(&mut occupancy, now, again);
    }
    let [reads, writes] = served;
    assert!(writes > 10 && reads > 10 * writes, "{reads} reads and {writes} writes");
}

#[test]
fn a_flow_is_ahead_of_the_others_by_the_slack_at_most() {
    let passed = passed_by_stream(of(5, 10, 1_000), &[]);
    assert!(
        (200..5_000).contains(&passed),
        "{passed} reads of 0.1 ms went first, where the slack is 16 of 9 ms"
    );
}

#[test]
fn writes_leave_a_quarter_of_the_tags_to_reads_if_there_are_any() {
    let write = BlockRequest { op: Op::Write, ..of(0, 0, 0) };
    let limit =
        |occupancy: &Occupancy, op| occupancy.limit_depth(&BlockRequest { op, ..write }, 16);
    let (mut flash, now) = taught(100_000);
    assert_eq!(limit(&flash, Op::Write), DepthLimit::OfKind(48));
    assert_eq!(limit(&flash, Op::Read), DepthLimit::None);
    insert(&mut flash, now + 2 * SECOND, write);
    assert_eq!(limit(&flash, Op::Write), DepthLimit::None, "there are no reads any more");
}

#[test]
fn a_device_without_seeks_takes_what_it_can() {
    let (mut occupancy, now) = taught(100_000);
    (0..60).for_each(|tag| insert(&mut occupancy, now, far(2 + tag % 20, tag, tag.into())));
    assert_eq!(std::iter::from_fn(|| next(&mut occupancy, now)).count(), 60);
}

/// Whether it seeks, after `nr` reads of process 0, `step` sectors apart, that take `ns` each,
/// alone or while a write is in the device.
fn seeks_after(nr: u64, step: u64, ns: u64, with_write: bool) -> Option<bool> {
    let (mut occupancy, mut now) = (bare(), 0);
    for nr in 1..=nr {
        let write = BlockRequest { op: Op::Write, ..of(1, 1, 500_000_000 + 1_000_000 * nr) };
        let read = of(0, 0, step * nr);
        let given: Vec<BlockRequest> = [(write, with_write), (read, true)]
            .into_iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(request, _)| {
                insert(&mut occupancy, now, request);
                next(&mut occupancy, now).expect("both are served equally")
            })
            .collect();
        now += ns;
        given.into_iter().rev().for_each(|request| complete(&mut occupancy, now, request));
    }
    occupancy.model.seeks()
}

#[test]
fn random_reads_tell_whether_the_device_seeks() {
    assert_eq!(seeks_after(1, 1_000_000, 4 * MS, false), Some(true));
    assert_eq!(seeks_after(1, 1_000_000, 100_000, false), Some(false));
    assert_eq!(seeks_after(20, 8, 100_000, false), None, "a drive may have read ahead");
    assert_eq!(seeks_after(7, 1_000_000, 4 * MS, true), None, "the writes may take that long");
    assert_eq!(seeks_after(8, 1_000_000, 4 * MS, true), Some(true));
    assert_eq!(seeks_after(8, 1_000_000, 100_000, true), Some(false));
}

/// How many of 60 requests of process 3 go to the device next to a read of process 2 in it.
fn given_next_to_a_read(mut occupancy: Keeper<Occupancy>, now: u64, op: Op) -> usize {
    insert(&mut occupancy, now, far(2, 60, 1));
    next(&mut occupancy, now).expect("it is alone");
    (0..60).for_each(|tag| {
        let request = BlockRequest { op, ..far(3, tag, tag.into()) };
        insert(&mut occupancy, now, request);
    });
    std::iter::from_fn(|| next(&mut occupancy, now)).count()
}

#[test]
fn a_read_in_a_device_that_seeks_holds_the_other_flows_at_the_slack() {
    let given = |set: &[(&str, u64)], far_ns| {
        let (mut occupancy, now) = taught(far_ns);
        occupancy.set("anticipation", 0);
        set.iter().for_each(|(name, value)| occupancy.set(name, *value));
        given_next_to_a_read(occupancy, now, Op::Read)
    };
    let held = given(&[], 9 * MS);
    assert!((12..=24).contains(&held), "{held} of about 16");
    assert_eq!(given(&[("holds", 0)], 9 * MS), 60);
    assert_eq!(given(&[], 100_000), 60, "a device without seeks takes what it can");
}

#[test]
fn while_nobody_knows_whether_it_seeks_a_random_read_holds_writes() {
    let mut known = bare();
    insert(&mut known, 0, of(0, 0, 500_000_000));
    let first = next(&mut known, 0).expect("it is alone");
    complete(&mut known, 100_000, first);
    let given = |occupancy, op| given_next_to_a_read(occupancy, MS, op);
    let held = given(bare(), Op::Write);
    assert!((12..=24).contains(&held), "{held} of about 16");
    assert_eq!(given(bare(), Op::Read), 60, "nothing but reads: they tell by themselves");
    assert_eq!(given(known, Op::Write), 60, "it does not seek");
}

#[test]
fn a_flow_that_is_behind_is_waited_for() {
    // After `own` reads of process 4 and `others` of process 3, which asks for more.
    let waited = |set: &[(&str, u64)], own: u32, others: u32| {
        let (mut occupancy, now) = taught(9 * MS);
        occupancy.set("anticipation", 0);
        set.iter().for_each(|(name, value)| occupancy.set(name, *value));
        let processes = (0..own).map(|_| 4).chain((0..others).map(|_| 3));
        let given: Vec<BlockRequest> = processes
            .zip(0..)
            .map(|(process, tag)| {
                insert(&mut occupancy, now, far(process, tag, tag.into()));
                next(&mut occupancy, now).expect("both are within the slack")
            })
            .collect();
        insert(&mut occupancy, now, far(3, 60, 60));
        given.into_iter().for_each(|of| complete(&mut occupancy, now + MS, of));
        next(&mut occupancy, now + MS).is_none()
    };
    assert!(waited(&[], 1, 5));
    assert!(!waited(&[], 5, 1), "the other is behind");
    assert!(!waited(&[("holds", 0)], 1, 5));
}

#[test]
fn on_flash_reads_that_stall_with_writes_are_charged_to_the_writes() {
    let (mut occupancy, mut now) = taught(100_000);
    for nr in 0..400u64 {
        let write = BlockRequest { op: Op::Write, ..of(2, 2, 200_000_000 + 8 * nr) };
        let given: Vec<BlockRequest> = [write, far(1, 1, nr)]
            .into_iter()
            .filter_map(|request| {
                insert(&mut occupancy, now, request);
                next(&mut occupancy, now)
            })
            .collect();
        for request in given.into_iter().rev() {
            let stalls = request.op == Op::Read && nr % 2 == 0;
            now += if stalls { 2 * MS } else { 50_000 };
            complete(&mut occupancy, now, request);
        }
    }
    let cost = |op| occupancy.model.predict(&occupancy.settings, op, 8, 20);
    let (read, write) = (cost(Op::Read), cost(Op::Write));
    assert!(read < 300_000 && write > 10 * read, "{read} and {write} ns");
}

#[test]
fn requests_that_complete_together_share_the_time_since_the_completion_before() {
    let (mut occupancy, mut now, mut end) = (bare(), 0, 0);
    for nr in 0..100u64 {
        let others = (1..4).map(|tag| of(0, tag as u32, 200_000_000 * tag + 1_000_000 * nr));
        for request in [of(0, 0, end)].into_iter().chain(others) {
            insert(&mut occupancy, now, request);
        }
        let given: Vec<BlockRequest> = std::iter::from_fn(|| next(&mut occupancy, now)).collect();
        end = given.last().expect("the window takes four").end();
        now += 4 * MS;
        given.into_iter().for_each(|request| complete(&mut occupancy, now, request));
    }
    assert!(
        (MS / 2..2 * MS).contains(&occupancy.model.far_ns()),
        "{} ns, and each took 1 ms",
        occupancy.model.far_ns()
    );
}
