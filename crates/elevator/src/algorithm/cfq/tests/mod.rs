//! Tests of cfq's single rules; `shares.rs` runs processes on a small disk, `random.rs` random
//! input.

mod random;
mod shares;

use super::*;
use crate::kind::Tunable;
use crate::request::PrioClass;
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

pub(super) fn made(hz: u32) -> Keeper<Cfq> {
    Keeper::new(Box::new(Cfq::new(&Build { hz, ..Build::default() })))
}

pub(super) fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn read(tag: u32, process: u32, sector: u64) -> BlockRequest {
    BlockRequest { process, ..request(tag, sector) }
}

fn write(tag: u32, process: u32, sector: u64) -> BlockRequest {
    BlockRequest { op: Op::Write, sync: false, ..read(tag, process, sector) }
}

pub(super) fn at_level(request: BlockRequest, class: PrioClass, level: u8) -> BlockRequest {
    BlockRequest { priority: Priority { class, level }, ..request }
}

fn insert(cfq: &mut Keeper<Cfq>, now: Time, request: BlockRequest) {
    cfq.insert(now, BlockRequest { allocated: now, ..request }, InsertAt::Sorted);
}

fn dispatch(cfq: &mut Keeper<Cfq>, now: Time) -> Option<u32> {
    cfq.dispatch(now, &NoDisk).map(|request| request.tag)
}

fn complete(cfq: &mut Keeper<Cfq>, now: Time, request: BlockRequest) {
    cfq.complete(now, &Finished { request, issued: Time::ZERO });
}

/// Inserts, dispatches and completes at one time.
fn serve(cfq: &mut Keeper<Cfq>, now: Time, request: BlockRequest) {
    insert(cfq, now, request);
    assert_eq!(dispatch(cfq, now), Some(request.tag));
    complete(cfq, now, request);
}

fn defaults(hz: u32) -> Vec<u64> {
    let cfq = made(hz);
    ROW.tunables.iter().map(|row| cfq.get(row.name)).collect()
}

#[test]
fn defaults_are_fractions_of_hz() {
    assert_eq!(defaults(1000), [4, 125, 250, 16384, 2, 100, 40, 2, 8, 1, 1]);
    assert_eq!(defaults(250), [4, 124, 248, 16384, 2, 100, 40, 2, 8, 1, 1]);
    assert_eq!(defaults(300), [4, 123, 250, 16384, 2, 100, 40, 2, 6, 1, 1]);
    assert_eq!(defaults(100), [4, 120, 250, 16384, 2, 100, 40, 2, 10, 1, 1]);
}

#[test]
fn tunables_are_read_back() {
    for pick in [|row: &Tunable| row.min, |row: &Tunable| row.max] {
        let mut cfq = made(1000);
        for row in ROW.tunables {
            cfq.set(row.name, pick(row));
            assert_eq!(cfq.get(row.name), pick(row), "{}", row.name);
        }
    }
}

#[test]
fn the_process_that_is_served_is_waited_for_eight_milliseconds_and_no_longer() {
    let mut cfq = made(1000);
    cfq.set("new_queue_slip", 0);
    serve(&mut cfq, ms(10), read(0, 0, 100));
    insert(&mut cfq, ms(12), read(1, 1, 90_000));
    assert_eq!(dispatch(&mut cfq, ms(12)), None);
    // Each dispatch attempt restarts the timer. The queue dispatches on a request to an empty
    // scheduler, but not on the next one.
    assert_eq!(cfq.next_timer(), Some(ms(20)));
    insert(&mut cfq, ms(15), read(2, 2, 95_000));
    assert!(!cfq.take_run());
    let limits = [0, 1].map(|process| cfq.limit_depth(&read(3, process, 0), 16));
    assert_eq!(limits, [DepthLimit::Exceed, DepthLimit::None]);
    cfq.on_timer(ms(20));
    assert_eq!(dispatch(&mut cfq, ms(20)), Some(1));
    let expected = Anticipation {
        started: 1,
        failures: 1,
        failure_wait_ns: 10_000_000,
        ..Anticipation::default()
    };
    assert_eq!(cfq.anticipation, expected);
}

#[test]
fn an_arrival_of_the_awaited_process_ends_the_wait_with_success() {
    let mut cfq = made(1000);
    serve(&mut cfq, ms(10), read(0, 0, 100));
    insert(&mut cfq, ms(11), read(1, 1, 90_000));
    assert_eq!(dispatch(&mut cfq, ms(11)), None);
    insert(&mut cfq, ms(13), read(2, 0, 108));
    assert_eq!((dispatch(&mut cfq, ms(13)), cfq.next_timer()), (Some(2), None));
    let expected = Anticipation {
        started: 1,
        successes: 1,
        success_wait_ns: 3_000_000,
        ..Anticipation::default()
    };
    assert_eq!(cfq.anticipation, expected);
}

#[test]
fn waits_end_on_ticks_at_every_hz() {
    for (hz, end_ms) in [(1000, 18), (250, 16), (100, 20)] {
        let mut cfq = made(hz);
        serve(&mut cfq, ms(10), read(0, 0, 100));
        assert_eq!(cfq.next_timer(), Some(ms(end_ms)), "HZ {hz}: from the tick before 10 ms on");
    }
}

#[test]
fn when_no_other_process_has_requests_the_wait_goes_on_without_a_timer_and_starts_again_for_the_next_one()
 {
    let mut cfq = made(1000);
    serve(&mut cfq, ms(10), read(0, 0, 100));
    cfq.on_timer(ms(18));
    assert_eq!((cfq.next_timer(), cfq.anticipation.failures), (None, 1));
    insert(&mut cfq, ms(500), read(1, 1, 90_000));
    assert_eq!((dispatch(&mut cfq, ms(500)), cfq.next_timer()), (None, Some(ms(508))));
    cfq.on_timer(ms(508));
    assert_eq!(dispatch(&mut cfq, ms(508)), Some(1));
}

#[test]
fn no_wait_for_a_process_that_has_ended_or_with_slice_idle_0_or_that_thinks_long() {
    let mut ended = made(1000);
    serve(&mut ended, ms(10), read(0, 0, 100));
    insert(&mut ended, ms(10), read(1, 1, 90_000));
    assert_eq!(dispatch(&mut ended, ms(10)), None);
    ended.exited(ms(11), 0);
    assert_eq!(dispatch(&mut ended, ms(11)), Some(1));
    let mut off = made(1000);
    off.set("slice_idle", 0);
    serve(&mut off, ms(10), read(0, 0, 100));
    insert(&mut off, ms(10), read(1, 1, 90_000));
    assert_eq!(dispatch(&mut off, ms(10)), Some(1));
    let mut long = made(1000);
    for at in 0..6 {
        serve(&mut long, ms(10 + 30 * at), read(0, 0, 100 + 8 * at));
    }
    insert(&mut long, ms(161), read(1, 1, 90_000));
    assert_eq!(dispatch(&mut long, ms(161)), Some(1), "it thinks 16 ms and more");
}

#[test]
fn a_seeking_process_is_waited_for_two_milliseconds_and_not_at_all_on_a_device_that_queues() {
    let mut cfq = made(1000);
    for at in 0..4 {
        serve(&mut cfq, ms(10), read(0, 0, 50_000_000 * (at % 2)));
    }
    assert_eq!(cfq.next_timer(), Some(ms(12)));
    cfq.device_queues = true;
    serve(&mut cfq, ms(11), read(0, 0, 25_000_000));
    assert_eq!(cfq.next_timer(), None);
}

#[test]
fn a_device_queues_once_more_than_four_requests_were_in_the_driver() {
    let mut cfq = made(1000);
    (0..5).for_each(|tag| insert(&mut cfq, ms(0), read(tag, 0, 100 * u64::from(tag))));
    for (tag, queues) in [false, false, false, false, true].into_iter().enumerate() {
        assert_eq!(dispatch(&mut cfq, ms(0)), Some(tag as u32));
        assert_eq!(cfq.device_queues, queues, "{tag}");
    }
}

/// Moves one request at a time, so that the dispatch list does not reorder choices.
fn one_by_one() -> Keeper<Cfq> {
    let mut cfq = made(1000);
    cfq.set("quantum", 1);
    cfq
}

#[test]
fn within_a_queue_metadata_goes_first_and_then_what_is_near_in_front_or_nearer_behind() {
    let mut cfq = one_by_one();
    serve(&mut cfq, ms(0), read(9, 0, 49_992));
    for (tag, sector) in [(0, 100), (1, 60_000), (2, 49_000), (3, 52_000)] {
        insert(&mut cfq, ms(0), read(tag, 0, sector));
    }
    insert(&mut cfq, ms(0), BlockRequest { meta: true, ..read(4, 0, 70_000) });
    let order = [0; 5].map(|_| dispatch(&mut cfq, ms(0)).unwrap());
    // The neighbours of the dispatched request are compared from the actuator's position before it:
    // 60000 is ahead of 50000; 52000 is 18008 behind 70008, and 100 is out of reach.
    assert_eq!(order, [4, 1, 3, 2, 0]);
}

#[test]
fn a_round_is_sorted_from_where_the_arm_is() {
    let order = |quantum| {
        let mut cfq = made(1000);
        cfq.set("quantum", quantum);
        serve(&mut cfq, ms(0), read(9, 0, 500));
        for (tag, sector) in [(0, 100), (1, 900), (2, 400), (3, 700)] {
            insert(&mut cfq, ms(0), read(tag, 0, sector));
        }
        [0; 4].map(|_| dispatch(&mut cfq, ms(0)).unwrap())
    };
    assert_eq!(order(4), [3, 1, 0, 2], "up from 508, then from the lowest");
    assert_eq!(
        order(1),
        [3, 2, 1, 0],
        "400 is the nearer neighbour of 700 from where the arm was before, at 508"
    );
}

#[test]
fn one_expired_request_is_taken_out_of_order_in_a_slice() {
    let filled = || {
        let mut cfq = one_by_one();
        for (tag, sector) in [(0, 9_000), (1, 8_000), (2, 1_000), (3, 8_500)] {
            insert(&mut cfq, ms(0), read(tag, 0, sector));
        }
        cfq
    };
    let order = |cfq: &mut Keeper<Cfq>, at| [0; 4].map(|_| dispatch(cfq, ms(at)).unwrap());
    assert_eq!(order(&mut filled(), 125), [2, 1, 3, 0], "125 ms old is not expired: upwards");
    // The oldest first; the others are equally old, but go by position.
    assert_eq!(order(&mut filled(), 126), [0, 2, 1, 3]);
}

#[test]
fn a_request_joins_its_own_process_queue_only_and_never_shares_a_queue_with_asynchronous_ones() {
    let mut cfq = made(1000);
    insert(&mut cfq, ms(0), read(0, 0, 100));
    insert(&mut cfq, ms(0), write(1, 0, 500));
    insert(&mut cfq, ms(0), read(2, 1, 900));
    let allowed =
        |request: BlockRequest, bio: BlockRequest| cfq.allow_merge(&request, &bio, Merge::Back);
    assert!(allowed(read(0, 0, 100), read(9, 0, 108)));
    assert!(!allowed(read(0, 0, 100), read(9, 1, 108)), "another process");
    assert!(!allowed(read(0, 0, 100), read(9, 7, 108)), "a process without a queue");
    assert!(allowed(write(1, 0, 500), write(9, 1, 508)), "the queue is shared");
    assert!(
        !allowed(write(1, 0, 500), at_level(write(9, 0, 508), PrioClass::BestEffort, 5)),
        "another level's queue"
    );
    let sync_write = BlockRequest { sync: true, ..write(9, 0, 508) };
    assert!(!allowed(write(1, 0, 500), sync_write), "somebody waits for the bio");
    let sent = cfq.dispatch(ms(0), &NoDisk).unwrap();
    assert!(
        !cfq.allow_merge(&sent, &read(9, sent.process, sent.end()), Merge::Back),
        "it is with the driver"
    );
}

#[test]
fn an_alias_goes_to_the_dispatch_list_at_once() {
    let mut cfq = made(1000);
    insert(&mut cfq, ms(0), read(0, 0, 100));
    insert(&mut cfq, ms(0), read(1, 0, 100));
    assert_eq!((cfq.len(), cfq.list.len()), (2, 1));
    assert!(!cfq.allow_merge(&read(0, 0, 100), &read(9, 0, 108), Merge::Back));
    assert_eq!([0, 0].map(|_| dispatch(&mut cfq, ms(0))), [Some(0), Some(1)]);
}

#[test]
fn a_front_merge_that_meets_an_alias_leaves_the_queue_with_a_next_request() {
    let mut cfq = made(1000);
    insert(&mut cfq, ms(0), read(0, 0, 100));
    insert(&mut cfq, ms(0), read(1, 0, 108));
    let (before, after) =
        (read(1, 0, 108), BlockRequest { sector: 100, nr_sectors: 16, ..read(1, 0, 108) });
    cfq.merged(ms(0), &BlockRequest { allocated: ms(0), ..before }, &after);
    assert_eq!([0, 0].map(|_| dispatch(&mut cfq, ms(0))), [Some(0), Some(1)]);
}

#[test]
fn a_joined_request_leaves_its_age_to_the_survivor_and_not_its_place() {
    let mut cfq = one_by_one();
    for (tag, sector) in [(0, 9_000), (1, 100), (2, 9_008)] {
        insert(&mut cfq, ms(60 * u64::from(tag)), read(tag, 0, sector));
    }
    cfq.coalesced(ms(120), &read(2, 0, 9_008), &read(0, 0, 9_000));
    assert_eq!(cfq.len(), 2);
    assert_eq!(
        dispatch(&mut cfq, ms(126)),
        Some(1),
        "the oldest in the FIFO is 66 ms old: nothing is expired"
    );
    assert_eq!(dispatch(&mut cfq, ms(126)), Some(2), "it is as old as tag 0 was, and expired");
}

#[test]
fn a_best_effort_request_preempts_a_slice_that_has_become_the_idle_classs() {
    let mut cfq = made(1000);
    insert(&mut cfq, ms(100), read(0, 0, 100));
    assert_eq!(dispatch(&mut cfq, ms(100)), Some(0));
    insert(&mut cfq, ms(100), at_level(read(1, 0, 900), PrioClass::Idle, 0));
    assert!(cfq.active.is_some());
    insert(&mut cfq, ms(100), read(2, 1, 5_000));
    assert_eq!(cfq.active, None);
    assert_eq!(dispatch(&mut cfq, ms(100)), Some(2));
}

#[test]
fn sync_preempts_async_only_without_the_slip_of_the_source() {
    for (slip, next) in [(1, 4), (0, 9)] {
        let mut cfq = made(1000);
        cfq.set("preempt_slip", slip);
        (0..8).for_each(|tag| insert(&mut cfq, ms(0), write(tag, 0, 100 * u64::from(tag))));
        assert_eq!(dispatch(&mut cfq, ms(0)), Some(0));
        insert(&mut cfq, ms(0), read(9, 1, 50));
        // The round of four is already dispatched; what follows differs.
        let order = [0; 4].map(|_| dispatch(&mut cfq, ms(0)).unwrap());
        assert_eq!(order, [1, 2, 3, next], "slip {slip}");
    }
}

#[test]
fn the_idle_class_waits_for_a_grace_period_after_the_last_completion_of_others() {
    let mut cfq = made(1000);
    cfq.set("slice_idle", 0);
    serve(&mut cfq, ms(50), read(0, 0, 100));
    insert(&mut cfq, ms(51), at_level(read(1, 1, 900), PrioClass::Idle, 3));
    assert_eq!((dispatch(&mut cfq, ms(51)), cfq.next_timer()), (None, Some(ms(150))));
    serve(&mut cfq, ms(80), read(0, 0, 108));
    cfq.on_timer(ms(150));
    assert_eq!((dispatch(&mut cfq, ms(150)), cfq.next_timer()), (None, Some(ms(180))));
    cfq.on_timer(ms(180));
    assert_eq!(dispatch(&mut cfq, ms(180)), Some(1));
}

#[test]
fn a_queue_with_requests_in_flight_lets_others_go_first_whatever_its_level() {
    let mut cfq = made(1000);
    cfq.set("slice_idle", 0);
    for tag in 0..8 {
        insert(
            &mut cfq,
            ms(1),
            at_level(read(tag, 0, 100 * u64::from(tag)), PrioClass::BestEffort, 0),
        );
    }
    assert_eq!([0; 4].map(|_| dispatch(&mut cfq, ms(1))), [Some(0), Some(1), Some(2), Some(3)]);
    let other = at_level(read(9, 1, 50_000), PrioClass::BestEffort, 7);
    insert(&mut cfq, ms(1), other);
    cfq.expire(Now { time: ms(1), jiffies: 1 }, false);
    assert_eq!(cfq.lists.next(), cfq.known_queue(&other));
}

#[test]
fn a_requeued_request_goes_first_and_completes_once() {
    let mut cfq = made(1000);
    insert(&mut cfq, ms(0), read(0, 0, 100));
    insert(&mut cfq, ms(0), read(1, 0, 200));
    let sent = cfq.dispatch(ms(0), &NoDisk).unwrap();
    cfq.insert(ms(1), sent, InsertAt::Head);
    cfq.insert(ms(1), read(5, 3, 700), InsertAt::Head);
    assert_eq!((cfq.len(), cfq.in_driver), (3, 0));
    assert_eq!([0; 3].map(|_| dispatch(&mut cfq, ms(1))), [Some(5), Some(0), Some(1)]);
    [read(5, 3, 700), sent, read(1, 0, 200)]
        .into_iter()
        .for_each(|request| complete(&mut cfq, ms(2), request));
    assert_eq!(
        (cfq.in_driver, cfq.queues.iter().map(|queue| queue.in_flight).sum::<u32>()),
        (0, 0)
    );
}
