//! Tests of bfq. Submodules: shares, raising, merging, injection; here: idling, classes, merges and
//! random runs.

mod injection;
mod merging;
mod raising;
mod shares;

use super::*;
use crate::algorithm::blk_mq_testing::{check_extremes, check_random_drives};
use crate::request::{Finished, PrioClass, Priority};
use crate::scheduler::{FlowSpec, InsertAt, NoDisk};
use crate::testing::{Keeper, request};
use crate::vocabulary::Op;

/// A process that reads 64 sectors, thinks, and continues; `stride` sectors from start to start.
#[derive(Clone, Copy)]
struct Reader {
    priority: Priority,
    think_ns: u64,
    stride: u64,
    /// Time of the next request; None while one is held or in flight.
    asks: Option<Time>,
    sector: u64,
    served: u64,
}

fn reader(level: u8, think_ns: u64) -> Reader {
    let priority = Priority { class: PrioClass::BestEffort, level };
    Reader { priority, think_ns, stride: 64, asks: Some(Time::ZERO), sector: 0, served: 0 }
}

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * MS)
}

fn bfq(depth: u32, rotational: bool) -> Keeper<Bfq> {
    let build = &Build { nr_tags: 256, queue_depth: depth, rotational, ..Build::default() };
    Keeper::new(Box::new(Bfq::new(build)))
}

/// Readers on a device of queue depth `depth`, 1 ms per request. Returns the dispatched processes.
fn simulate(bfq: &mut Keeper<Bfq>, readers: &mut [Reader], depth: usize, until: Time) -> Vec<u32> {
    let (mut flying, mut order, mut seq, mut now) =
        (Vec::<(Time, Finished)>::new(), Vec::new(), 0, Time::ZERO);
    for (at, reader) in readers.iter_mut().enumerate() {
        reader.sector = (at as u64 + 1) << 32;
    }
    while now < until {
        for (process, reader) in readers.iter_mut().enumerate() {
            if reader.asks.take_if(|asks| *asks <= now).is_some() {
                let (priority, sector) = (reader.priority, reader.sector);
                let tag = process as u32;
                let read = BlockRequest {
                    seq,
                    process: tag,
                    sector,
                    nr_sectors: 64,
                    priority,
                    ..request(tag, 0)
                };
                bfq.insert(now, BlockRequest { allocated: now, ..read }, InsertAt::Sorted);
                reader.sector += reader.stride;
                seq += 1;
            }
        }
        while flying.len() < depth
            && let Some(request) = bfq.dispatch(now, &NoDisk)
        {
            order.push(request.process);
            flying.push((now + MS, Finished { request, issued: now }));
        }
        let arrivals = readers.iter().filter_map(|reader| reader.asks);
        let completions = flying.iter().map(|(at, _)| *at);
        now = arrivals
            .chain(completions)
            .chain(bfq.next_timer())
            .min()
            .expect("something happens next");
        for (_, done) in flying.extract_if(.., |(at, _)| *at <= now) {
            bfq.complete(now, &done);
            let reader = &mut readers[done.request.process as usize];
            reader.served += 64;
            reader.asks = Some(now + reader.think_ns);
        }
        if bfq.next_timer().is_some_and(|timer| timer <= now) {
            bfq.on_timer(now);
        }
    }
    order
}

fn insert(bfq: &mut Keeper<Bfq>, now: Time, request: BlockRequest) {
    bfq.insert(now, request, InsertAt::Sorted);
}

fn send(bfq: &mut Keeper<Bfq>, now: Time) -> BlockRequest {
    bfq.dispatch(now, &NoDisk).expect("a request is to be sent")
}

fn finish(bfq: &mut Bfq, now: Time, request: BlockRequest) {
    bfq.complete(now, &Finished { request, issued: now });
}

fn of(bfq: &Bfq, process: u32) -> u32 {
    bfq.processes[process as usize].sync.expect("the process has a queue")
}

fn is_raised(bfq: &Bfq, id: u32) -> bool {
    bfq.tree.get(id).coefficient > 1
}

fn by(process: u32, tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { process, nr_sectors: 64, ..request(tag, sector) }
}

fn async_write(tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { op: Op::Write, sync: false, nr_sectors: 64, ..request(tag, sector) }
}

#[test]
fn only_the_right_queues_are_waited_for() {
    let idle_ns = |rotational: bool, change: fn(&mut Bfq), first: BlockRequest| {
        let mut bfq = bfq(1, rotational);
        bfq.set("low_latency", 0);
        change(&mut bfq);
        insert(&mut bfq, ms(1), first);
        // Late enough not to share a queue on a queueing device.
        insert(&mut bfq, ms(301), by(1, 1, 900_000));
        let sent = send(&mut bfq, ms(301));
        assert_eq!(sent.tag, first.tag);
        finish(&mut bfq, ms(302), sent);
        bfq.next_timer().map(|timer| timer - ms(302))
    };
    let class = |class| BlockRequest { priority: Priority { class, level: 4 }, ..by(0, 0, 100) };
    let one_at_a_time = |bfq: &mut Bfq| bfq.queueing.detected = false;
    assert_eq!(
        idle_ns(true, |_| (), by(0, 0, 100)),
        Some(8 * MS),
        "a new synchronous queue on a disk"
    );
    assert_eq!(
        idle_ns(false, |_| (), by(0, 0, 100)),
        None,
        "not on a device that queues and has no arm"
    );
    assert_eq!(
        idle_ns(false, one_at_a_time, by(0, 0, 100)),
        Some(8 * MS),
        "but on one that does not queue"
    );
    assert_eq!(
        idle_ns(true, |bfq| bfq.set("slice_idle_us", 0), by(0, 0, 100)),
        None,
        "not if it is switched off"
    );
    assert_eq!(
        idle_ns(false, |bfq| bfq.set("strict_guarantees", 1), by(0, 0, 100)),
        Some(8 * MS),
        "always if strict"
    );
    assert_eq!(idle_ns(true, |_| (), async_write(0, 100)), None, "not for asynchronous requests");
    assert_eq!(
        idle_ns(false, |_| (), class(PrioClass::RealTime)),
        Some(8 * MS),
        "for shares: two classes are busy"
    );
}

#[test]
fn asynchronous_requests_are_not_waited_for_even_alone() {
    let mut bfq = bfq(1, true);
    insert(&mut bfq, ms(1), async_write(0, 100));
    let sent = send(&mut bfq, ms(1));
    finish(&mut bfq, ms(2), sent);
    assert_eq!((bfq.next_timer(), bfq.in_service), (None, None));
}

#[test]
fn the_idle_class_is_never_waited_for_and_gives_way_after_each_request() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    let idle = |tag| BlockRequest {
        priority: Priority { class: PrioClass::Idle, level: 4 },
        ..by(0, tag, 100 + u64::from(tag) * 64)
    };
    insert(&mut bfq, ms(1), idle(0));
    insert(&mut bfq, ms(1), idle(1));
    let sent = send(&mut bfq, ms(1));
    insert(&mut bfq, ms(1), by(1, 9, 5000));
    finish(&mut bfq, ms(2), sent);
    let sent = send(&mut bfq, ms(2));
    assert_eq!(sent.tag, 9, "the other class goes first");
    finish(&mut bfq, ms(3), sent);
    assert_eq!(bfq.dispatch(ms(3), &NoDisk), None, "and is waited for");
    let timer = bfq.next_timer().unwrap();
    bfq.on_timer(timer);
    let sent = send(&mut bfq, ms(20));
    finish(&mut bfq, ms(21), sent);
    assert_eq!((sent.tag, bfq.next_timer()), (1, None));
}

#[test]
fn the_idle_class_has_a_turn_every_two_hundred_milliseconds() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    bfq.set("slice_idle", 0);
    let mut readers = [reader(4, 0), reader(4, 0), reader(4, 0)];
    readers[2].priority.class = PrioClass::Idle;
    let order = simulate(&mut bfq, &mut readers, 1, ms(10_000));
    let idle = order.iter().filter(|process| **process == 2).count();
    assert!((40..=51).contains(&idle), "{idle} turns in ten seconds");
}

#[test]
fn a_higher_class_ends_the_turn_of_a_lower_one() {
    let mut bfq = bfq(1, true);
    for tag in 0..4 {
        insert(&mut bfq, ms(1), by(0, tag, 100 + u64::from(tag) * 64));
    }
    let sent = send(&mut bfq, ms(1));
    let urgent = BlockRequest {
        priority: Priority { class: PrioClass::RealTime, level: 4 },
        ..by(1, 9, 9000)
    };
    insert(&mut bfq, ms(1), urgent);
    finish(&mut bfq, ms(2), sent);
    assert_eq!(send(&mut bfq, ms(2)).tag, 9);
}

#[test]
fn strict_guarantees_send_one_request_at_a_time_and_lift_the_idle_slice() {
    let mut bfq = bfq(32, false);
    bfq.set("slice_idle_us", 100);
    bfq.set("strict_guarantees", 1);
    assert_eq!((bfq.get("slice_idle"), bfq.get("slice_idle_us")), (8, 8000));
    insert(&mut bfq, ms(1), by(0, 0, 100));
    insert(&mut bfq, ms(1), by(0, 1, 164));
    let sent = send(&mut bfq, ms(1));
    assert_eq!(bfq.dispatch(ms(1), &NoDisk), None);
    finish(&mut bfq, ms(2), sent);
    assert_eq!(send(&mut bfq, ms(2)).tag, 1);
}

#[test]
fn writes_are_limited_in_depth_and_more_so_while_somebody_is_raised_and_in_6_1_by_words() {
    let kinds = [(Op::Read, true), (Op::Write, true), (Op::Write, false)];
    let rows = [
        (601, 192, [48, 32], [24, 12]),
        (612, 100, [192, 128], [96, 48]),
        (703, 192, [192, 128], [96, 48]),
        (703, 100, [100, 66], [50, 25]),
        (703, 1000, [256, 170], [128, 64]),
        (703, 1, [1, 1], [1, 1]),
    ];
    for (linux, async_depth, plain, raised) in rows {
        let mut bfq = bfq(32, true);
        assert_eq!(bfq.get("async_depth"), 192);
        bfq.set("linux", linux);
        bfq.set("async_depth", async_depth);
        let limits = |bfq: &Bfq| {
            kinds.map(|(op, sync)| bfq.depth_of(&BlockRequest { op, sync, ..by(9, 0, 0) }, 64))
        };
        assert_eq!(limits(&bfq), [None, Some(plain[0]), Some(plain[1])]);
        insert(&mut bfq, ms(1), by(0, 0, 100));
        assert_eq!(limits(&bfq), [None, Some(raised[0]), Some(raised[1])]);
    }
}

#[test]
fn a_process_with_its_share_of_the_tags_has_one_of_each_word_left() {
    let mut bfq = bfq(32, true);
    bfq.set("low_latency", 0);
    for process in 0..2 {
        let base = u64::from(process) << 40;
        (0..127).for_each(|at| {
            insert(&mut bfq, ms(1), by(process, 127 * process + at, base + u64::from(at) * 64))
        });
    }
    assert_eq!(bfq.depth_of(&by(0, 0, 0), 64), None);
    insert(&mut bfq, ms(1), by(0, 254, 1 << 20));
    assert_eq!(
        [0, 1, 2].map(|process| bfq.depth_of(&by(process, 0, 0), 64)),
        [Some(1), None, None]
    );
}

#[test]
fn a_request_that_waited_too_long_goes_first_once_in_a_turn() {
    let order = |at: Time| {
        let mut bfq = bfq(1, true);
        bfq.set("low_latency", 0);
        for (tag, sector) in [(0, 90_000), (1, 100), (2, 164), (3, 228)] {
            insert(&mut bfq, ms(1), by(0, tag, sector));
        }
        [(); 4].map(|()| {
            let sent = send(&mut bfq, at);
            finish(&mut bfq, at, sent);
            sent.tag
        })
    };
    assert_eq!(order(ms(2)), [1, 2, 3, 0]);
    assert_eq!(order(ms(125)), [1, 2, 3, 0]);
    assert_eq!(order(ms(126)), [1, 0, 2, 3]);
}

#[test]
fn a_request_that_swallows_the_next_one_is_the_next_one() {
    let mut bfq = bfq(1, true);
    insert(&mut bfq, ms(1), by(0, 0, 36));
    let sent = send(&mut bfq, ms(1));
    finish(&mut bfq, ms(1), sent);
    for (tag, sector) in [(1, 100), (2, 36), (3, 180)] {
        insert(&mut bfq, ms(1), by(0, tag, sector));
    }
    let id = bfq.slot(1).queue;
    assert_eq!(bfq.queue(id).next, Some(1), "it is in front of the head");
    let (survivor, gone) = (bfq.slot(2).request, bfq.slot(1).request);
    bfq.coalesced(ms(1), &survivor, &gone);
    bfq.merged(ms(1), &survivor, &BlockRequest { nr_sectors: 128, ..survivor });
    assert_eq!(
        (bfq.queue(id).next, bfq.len(), send(&mut bfq, ms(1)).nr_sectors),
        (Some(2), 2, 128)
    );
}

#[test]
fn metadata_goes_before_data_that_is_nearer() {
    let mut bfq = bfq(1, true);
    insert(&mut bfq, ms(1), by(0, 0, 100));
    insert(&mut bfq, ms(1), BlockRequest { meta: true, ..by(0, 1, 50_000) });
    insert(&mut bfq, ms(1), by(0, 2, 50_064));
    insert(&mut bfq, ms(1), BlockRequest { meta: true, ..by(0, 3, 90_000) });
    let order = [(); 4].map(|()| {
        let sent = send(&mut bfq, ms(1));
        finish(&mut bfq, ms(1), sent);
        sent.tag
    });
    // After a request, only its neighbours are compared.
    assert_eq!(order, [1, 2, 3, 0]);
}

#[test]
fn a_device_that_never_gets_more_than_one_request_is_known_not_to_queue_and_one_that_did_once_is_known_for_ever()
 {
    // Synchronous readers with one request each prove nothing: idling may be what keeps the device
    // from getting more.
    for (requests, detected) in [(1, true), (40, false)] {
        let mut bfq = bfq(1, true);
        for process in 0..4 {
            (0..requests).for_each(|at| {
                insert(&mut bfq, ms(1), by(process, process * 40 + at, u64::from(at) * 64))
            });
        }
        for _ in 0..36 {
            if let Some(sent) = bfq.dispatch(ms(1), &NoDisk) {
                finish(&mut bfq, ms(1), sent);
            }
        }
        assert_eq!(bfq.queueing.detected, detected, "{requests} requests of each process");
    }
    let mut bfq = bfq(32, true);
    (0..80).for_each(|at| insert(&mut bfq, ms(1), by(0, at, u64::from(at) * 64)));
    let sent: Vec<BlockRequest> =
        std::iter::from_fn(|| bfq.dispatch(ms(1), &NoDisk)).take(76).collect();
    sent.into_iter().for_each(|request| finish(&mut bfq, ms(1), request));
    assert!(bfq.queueing.detected);
    bfq.queueing.most_in_driver = 0;
    bfq.in_driver = 1;
    bfq.held = 40;
    bfq.in_service = None;
    (0..100).for_each(|_| bfq.observe_queueing());
    assert!(bfq.queueing.detected);
}

#[test]
fn the_queue_of_the_smallest_weight_is_not_idled_for_because_weights_differ() {
    let mut bfq = bfq(32, false);
    bfq.set("low_latency", 0);
    let heavy = BlockRequest {
        priority: Priority { class: PrioClass::BestEffort, level: 0 },
        ..by(1, 1, 9000)
    };
    insert(&mut bfq, ms(1), by(0, 0, 100));
    insert(&mut bfq, ms(1), heavy);
    let [light, heavy] = [0, 1].map(|tag| bfq.slot(tag).queue);
    assert_eq!([light, heavy].map(|id| bfq.is_asymmetric(Some(id))), [false, true]);
    assert_eq!([light, heavy].map(|id| bfq.better_to_idle(id)), [false, true]);
}

#[test]
fn a_queue_that_is_preempted_while_its_share_needs_waiting_keeps_its_place_until_its_process_ends()
{
    let mut bfq = bfq(4, true);
    bfq.set("low_latency", 0);
    let level = |level, read| BlockRequest {
        priority: Priority { class: PrioClass::BestEffort, level },
        ..read
    };
    let (light, heavy) = (level(4, by(0, 0, 1 << 32)), level(0, by(1, 1, 2 << 32)));
    insert(&mut bfq, ms(0), light);
    assert_eq!(send(&mut bfq, ms(0)).process, 0);
    insert(&mut bfq, ms(1), heavy);
    assert_eq!(
        (bfq.in_service, bfq.busy),
        (None, [0, 1, 0]),
        "the lightest is not waited for because weights differ"
    );
    assert_eq!(send(&mut bfq, ms(1)).process, 1);
    finish(&mut bfq, ms(2), light);
    insert(&mut bfq, ms(3), level(4, by(0, 2, (1 << 32) + 64)));
    assert_eq!(
        (bfq.in_service, bfq.busy),
        (None, [0, 2, 0]),
        "the heavy one has no request and stays"
    );
    let id = of(&bfq, 1);
    assert!(bfq.queue(id).busy && bfq.queue(id).sorted.is_empty());
    finish(&mut bfq, ms(4), heavy);
    bfq.exited(ms(4), 1);
    assert_eq!((bfq.busy, bfq.spare.as_slice()), ([0, 1, 0], [id].as_slice()));
    assert_eq!(send(&mut bfq, ms(5)).tag, 2);
}

#[test]
fn the_end_of_a_process_ends_the_wait_for_it_and_its_queue_is_used_again_when_virtual_time_has_passed_it()
 {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    insert(&mut bfq, ms(1), by(0, 0, 100));
    // Late enough to stay unmerged.
    insert(&mut bfq, ms(301), by(1, 1, 90_000));
    let sent = send(&mut bfq, ms(301));
    finish(&mut bfq, ms(302), sent);
    assert_eq!((bfq.dispatch(ms(302), &NoDisk), bfq.next_timer().is_some()), (None, true));
    let gone = of(&bfq, 0);
    bfq.exited(ms(303), 0);
    assert_eq!((bfq.next_timer(), bfq.spare.len()), (None, 0));
    for tag in 2..40 {
        insert(&mut bfq, ms(303), by(1, tag, 90_000 + u64::from(tag) * 64));
    }
    for _ in 1..40 {
        let sent = send(&mut bfq, ms(303));
        finish(&mut bfq, ms(303), sent);
    }
    assert_eq!(bfq.spare, [gone]);
    insert(&mut bfq, ms(303), by(2, 40, 100));
    assert_eq!(bfq.queues.len(), 2);
}

#[test]
fn every_request_comes_out_once_whatever_is_merged_and_at_every_depth() {
    check_random_drives(&ROW);
}

#[test]
fn tunables_read_back_and_their_extremes_break_nothing() {
    check_extremes(&ROW);
}
