//! Tests of mq-deadline: vectors of its specification, and random runs.

use super::*;
use crate::algorithm::blk_mq_testing::{check_extremes, check_random_drives};
use crate::request::Priority;
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

const MS: u64 = 1_000_000;

fn at_ms(ms: u64) -> Time {
    Time::from_ns(ms * MS)
}

fn elevator() -> Keeper {
    Keeper::new(build(&Build { nr_tags: 256, ..Build::default() }))
}

fn write(tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { op: Op::Write, sync: false, ..request(tag, sector) }
}

fn of(class: PrioClass, request: BlockRequest) -> BlockRequest {
    BlockRequest { priority: Priority { class, level: 4 }, ..request }
}

fn insert(
    elevator: &mut Keeper<impl Elevator + ?Sized>,
    ms: u64,
    requests: impl IntoIterator<Item = BlockRequest>,
) {
    requests.into_iter().for_each(|request| elevator.insert(at_ms(ms), request, InsertAt::Sorted));
}

/// Dispatches and completes up to `count` requests.
fn serve(
    elevator: &mut Keeper<impl Elevator + ?Sized>,
    ms: u64,
    count: usize,
) -> Vec<BlockRequest> {
    let next = || {
        let request = elevator.dispatch(at_ms(ms), &NoDisk)?;
        elevator.complete(at_ms(ms), &Finished { request, issued: at_ms(ms) });
        Some(request)
    };
    std::iter::from_fn(next).take(count).collect()
}

fn tags(requests: &[BlockRequest]) -> Vec<u32> {
    requests.iter().map(|request| request.tag).collect()
}

#[test]
fn a_batch_is_sixteen_ascending_requests_over_gaps_and_reads_get_two_batches_for_one_of_writes() {
    let mut elevator = elevator();
    for at in 0..100u32 {
        // Descending arrival, wide gaps.
        insert(
            &mut elevator,
            0,
            [
                request(at, u64::from(1000 - at) * 5000),
                write(100 + at, u64::from(1000 - at) * 5000 + 64),
            ],
        );
    }
    let served = serve(&mut elevator, 0, 16 * 6);
    for (batch, op) in
        served.chunks(16).zip([Op::Write, Op::Read, Op::Read, Op::Write, Op::Read, Op::Read])
    {
        assert!(
            batch.iter().all(|request| request.op == op),
            "writes, as if a batch of them were on; reads, reads, writes"
        );
        assert!(batch.is_sorted_by_key(|request| request.sector), "a batch ascends");
    }
}

#[test]
fn after_the_highest_sector_it_goes_to_the_oldest_and_not_to_the_lowest() {
    let mut elevator = elevator();
    insert(&mut elevator, 0, [request(0, 9000)]);
    assert_eq!(tags(&serve(&mut elevator, 0, 1)), [0]);
    insert(&mut elevator, 0, [request(1, 500), request(2, 100), request(3, 700)]);
    assert_eq!(tags(&serve(&mut elevator, 0, 9)), [1, 3, 2]);
}

#[test]
fn an_expired_request_starts_the_next_batch_at_the_very_tick_of_its_deadline() {
    for (ms, expected) in [(499, [2, 1, 0]), (500, [1, 0, 2])] {
        let mut elevator = elevator();
        elevator.set("fifo_batch", 1);
        insert(&mut elevator, 0, [request(9, 5000)]);
        assert_eq!(tags(&serve(&mut elevator, 0, 1)), [9]);
        insert(&mut elevator, 0, [request(1, 100)]);
        insert(&mut elevator, 1, [request(0, 200), request(2, 6000)]);
        let mut served = tags(&serve(&mut elevator, ms, 1));
        elevator.set("fifo_batch", 16);
        served.extend(tags(&serve(&mut elevator, ms, 9)));
        assert_eq!(served[0], expected[0], "at {ms} ms: {served:?}");
    }
}

#[test]
fn a_lower_class_waits_while_a_higher_one_has_requests_in_flight_only() {
    let mut elevator = elevator();
    insert(&mut elevator, 0, [request(0, 100), of(PrioClass::RealTime, request(1, 900))]);
    let first = elevator.dispatch(at_ms(0), &NoDisk).unwrap();
    assert_eq!((first.tag, elevator.dispatch(at_ms(0), &NoDisk), elevator.len()), (1, None, 1));
    elevator.complete(at_ms(5), &Finished { request: first, issued: at_ms(0) });
    assert_eq!(elevator.dispatch(at_ms(5), &NoDisk).unwrap().tag, 0);
}

#[test]
fn asking_in_vain_does_not_end_the_batch() {
    let build = &Build { nr_tags: 256, ..Build::default() };
    let mut elevator = Keeper::new(Box::new(MqDeadline::new(build)));
    insert(&mut elevator, 0, [of(PrioClass::RealTime, request(0, 900)), write(1, 100)]);
    let sent = elevator.dispatch(at_ms(0), &NoDisk).unwrap();
    let batch = elevator.batch;
    // The aging check of the write begins a batch of writes.
    assert_eq!((sent.tag, elevator.dispatch(at_ms(1), &NoDisk)), (0, None));
    assert_eq!(elevator.batch, batch);
    assert_eq!((batch.last_dir, batch.batching), (READ, 1));
}

#[test]
fn a_request_of_a_lower_class_goes_first_when_it_has_aged_for_ten_seconds() {
    for (ms, first) in [(9_999, 1), (10_000, 0)] {
        let mut elevator = elevator();
        insert(&mut elevator, 0, [of(PrioClass::Idle, request(0, 100))]);
        insert(&mut elevator, 9_000, [of(PrioClass::RealTime, request(1, 900))]);
        assert_eq!(tags(&serve(&mut elevator, ms, 2))[0], first, "at {ms} ms");
    }
}

#[test]
fn head_insertions_go_before_all_classes_and_in_6_1_before_their_own() {
    for (linux, expected) in [(612, [2, 1, 0]), (601, [1, 2, 0])] {
        let mut elevator = elevator();
        elevator.set("linux", linux);
        insert(&mut elevator, 0, [request(0, 100), of(PrioClass::RealTime, request(1, 900))]);
        elevator.insert(at_ms(0), request(2, 500), InsertAt::Head);
        assert_eq!(tags(&serve(&mut elevator, 0, 3)), expected, "{linux}");
    }
}

#[test]
fn in_6_1_a_batch_does_not_see_what_was_inserted_before_its_next_request() {
    for (linux, expected) in [(612, [0, 2, 1]), (601, [0, 1, 2])] {
        let mut elevator = elevator();
        elevator.set("linux", linux);
        insert(&mut elevator, 0, [request(0, 100), request(1, 900)]);
        let mut served = tags(&serve(&mut elevator, 0, 1));
        insert(&mut elevator, 0, [request(2, 500)]);
        served.extend(tags(&serve(&mut elevator, 0, 2)));
        assert_eq!(served, expected, "{linux}");
    }
}

#[test]
fn a_request_takes_the_earlier_expiry_of_the_one_that_it_swallows() {
    let mut elevator = elevator();
    insert(&mut elevator, 0, [request(9, 5000)]);
    serve(&mut elevator, 0, 1);
    insert(&mut elevator, 0, [request(0, 108)]);
    insert(&mut elevator, 400, [request(1, 6000), request(2, 100)]);
    let (survivor, gone) = (request(2, 100), request(0, 108));
    elevator.coalesced(at_ms(400), &survivor, &gone);
    elevator.merged(at_ms(400), &survivor, &BlockRequest { nr_sectors: 16, ..survivor });
    elevator.set("fifo_batch", 0);
    let served = serve(&mut elevator, 500, 3);
    assert_eq!((tags(&served), served[0].nr_sectors, elevator.len()), (vec![2, 1], 16, 0));
}

#[test]
fn all_but_synchronous_reads_are_limited_in_depth_and_front_merges_can_be_switched_off() {
    let mut elevator = elevator();
    elevator.set("async_depth", 7);
    let limits = [(Op::Read, true), (Op::Write, true), (Op::Read, false)]
        .map(|(op, sync)| elevator.limit_depth(&BlockRequest { op, sync, ..request(0, 0) }, 16));
    assert_eq!(limits, [DepthLimit::None, DepthLimit::OfKind(7), DepthLimit::OfKind(7)]);
    let (held, bio) = (request(0, 100), request(1, 92));
    assert!(elevator.allow_merge(&held, &bio, Merge::Front));
    elevator.set("front_merges", 0);
    assert!(!elevator.allow_merge(&held, &bio, Merge::Front));
    assert!(elevator.allow_merge(&bio, &held, Merge::Back));
    assert!(!elevator.allow_merge(&bio, &of(PrioClass::Idle, held), Merge::Back));
}

#[test]
fn every_request_comes_out_once_whatever_is_merged_and_at_every_depth() {
    check_random_drives(&ROW);
}

#[test]
fn tunables_read_back_and_their_extremes_break_nothing() {
    check_extremes(&ROW);
}
