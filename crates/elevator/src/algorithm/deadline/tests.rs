//! Tests of deadline: order, expiry, and consequences derived from the source.

use super::*;
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

const SERVICE_NS: u64 = 8_000_000;

fn made(hz: u32) -> Keeper<Deadline> {
    Keeper::new(Box::new(Deadline::new(&Build { hz, ..Build::default() })))
}

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn insert(deadline: &mut Keeper<Deadline>, now: Time, tag: u32, op: Op, sector: u64) {
    let new = BlockRequest { op, allocated: now, ..request(tag, sector) };
    deadline.insert(now, new, InsertAt::Sorted);
}

fn dispatch(deadline: &mut Keeper<Deadline>, now: Time) -> Option<BlockRequest> {
    deadline.dispatch(now, &NoDisk)
}

fn order(deadline: &mut Keeper<Deadline>, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| dispatch(deadline, now)).map(|request| request.tag).collect()
}

#[test]
fn defaults_are_those_of_the_source_at_every_hz() {
    for hz in [100, 250, 300, 1000] {
        let deadline = made(hz);
        let values = ROW.tunables.iter().map(|row| deadline.get(row.name)).collect::<Vec<_>>();
        assert_eq!(values, [500, 5000, 2, 16, 1], "HZ {hz}");
    }
}

#[test]
fn tunables_are_read_back_and_their_extremes_break_nothing() {
    for pick in [|row: &Tunable| row.min, |row: &Tunable| row.max] {
        let mut deadline = made(1000);
        for row in ROW.tunables {
            deadline.set(row.name, pick(row));
            assert_eq!(deadline.get(row.name), pick(row), "{}", row.name);
        }
        for tag in 0..40 {
            let op = if tag % 2 == 0 { Op::Read } else { Op::Write };
            insert(&mut deadline, ms(u64::from(tag)), tag, op, u64::from(tag * 37 % 11) * 800);
        }
        assert_eq!(deadline.len(), 40);
        assert_eq!(order(&mut deadline, ms(1_000_000)).len(), 40);
    }
    let mut slow = made(250);
    slow.set("read_expire", 5);
    assert_eq!(slow.get("read_expire"), 8, "5 ms are stored as 2 jiffies of 4 ms");
}

#[test]
fn under_random_reads_and_writes_the_pattern_is_read_read_write() {
    let mut deadline = made(1000);
    let (mut tag, mut sector) = (0, 12_345);
    let mut add = |deadline: &mut Keeper<Deadline>, op| {
        sector = (sector * 1_103_515_245 + 12_345) % 1_000_003;
        insert(deadline, Time::ZERO, tag, op, sector * 16);
        tag += 1;
    };
    for _ in 0..8 {
        add(&mut deadline, Op::Read);
        add(&mut deadline, Op::Write);
    }
    let mut pattern = String::new();
    for _ in 0..30 {
        let sent = dispatch(&mut deadline, Time::ZERO).unwrap();
        pattern.push(if sent.op == Op::Read { 'R' } else { 'W' });
        add(&mut deadline, sent.op);
    }
    assert_eq!(pattern, "RRW".repeat(10));
}

#[test]
fn each_switch_of_direction_starts_again_at_the_lowest_sector() {
    let mut deadline = made(1000);
    for (tag, sector) in [(0, 100), (1, 500), (2, 900), (3, 1300)] {
        insert(&mut deadline, Time::ZERO, tag, Op::Read, sector);
        insert(&mut deadline, Time::ZERO, tag + 10, Op::Write, sector + 50);
    }
    let first: Vec<_> = (0..3).map(|_| dispatch(&mut deadline, Time::ZERO).unwrap().tag).collect();
    assert_eq!(first, [0, 1, 10], "two reads upwards, then a write");
    insert(&mut deadline, Time::ZERO, 4, Op::Read, 20);
    assert_eq!(
        dispatch(&mut deadline, Time::ZERO).unwrap().tag,
        4,
        "the read at 900 was next before the switch"
    );
}

#[test]
fn reads_alone_go_up_and_start_again_at_the_lowest() {
    let mut deadline = made(1000);
    for (tag, sector) in [(0, 900), (1, 100), (2, 500)] {
        insert(&mut deadline, Time::ZERO, tag, Op::Read, sector);
    }
    assert_eq!(dispatch(&mut deadline, Time::ZERO).unwrap().tag, 1);
    insert(&mut deadline, Time::ZERO, 3, Op::Read, 50);
    assert_eq!(order(&mut deadline, Time::ZERO), [2, 0, 3]);
}

#[test]
fn a_request_is_expired_only_after_its_deadline_and_then_goes_first() {
    for (hz, last_in_order) in [(1000, 500), (100, 500), (250, 500)] {
        let mut deadline = made(hz);
        for (tag, sector) in [(0, 9000), (1, 100), (2, 200)] {
            insert(&mut deadline, Time::ZERO, tag, Op::Read, sector);
        }
        assert_eq!(
            dispatch(&mut deadline, ms(last_in_order)).unwrap().tag,
            1,
            "equal is not expired"
        );
        let tick = u64::from(1000 / hz);
        assert_eq!(dispatch(&mut deadline, ms(last_in_order + tick)).unwrap().tag, 0, "HZ {hz}");
    }
}

#[test]
fn writes_expire_too_but_wait_for_their_turn() {
    let mut deadline = made(1000);
    insert(&mut deadline, Time::ZERO, 0, Op::Write, 9000);
    insert(&mut deadline, Time::ZERO, 1, Op::Write, 100);
    for tag in 2..6 {
        insert(&mut deadline, ms(5000), tag, Op::Read, u64::from(tag) * 1000);
    }
    assert_eq!(order(&mut deadline, ms(5001)), [2, 3, 0, 4, 5, 1]);
}

#[test]
fn a_contiguous_batch_goes_on_for_fifo_batch_requests_although_writes_wait() {
    let mut deadline = made(1000);
    for tag in 0..40 {
        insert(&mut deadline, Time::ZERO, tag, Op::Read, 8 * u64::from(tag));
    }
    insert(&mut deadline, Time::ZERO, 50, Op::Write, 70_000);
    let order = order(&mut deadline, Time::ZERO);
    // Two decisions for reads; the second keeps counting, so its batch is one request.
    let write = order.iter().position(|tag| *tag == 50).unwrap();
    assert_eq!(write, 17, "16 of the first decision and 1 of the second: {order:?}");
}

#[test]
fn an_alias_goes_to_the_device_at_once() {
    let mut deadline = made(1000);
    for (tag, sector) in [(0, 100), (1, 5000), (2, 5000)] {
        insert(&mut deadline, Time::ZERO, tag, Op::Read, sector);
    }
    assert_eq!((deadline.len(), deadline.list.len()), (3, 1));
    assert!(
        !deadline.allow_merge(&request(1, 5000), &request(9, 5008), Merge::Back),
        "it is on its way"
    );
    assert_eq!(order(&mut deadline, Time::ZERO), [1, 0, 2]);
}

#[test]
fn a_front_merge_moves_the_request_and_a_joined_one_takes_the_earlier_expiry() {
    let mut deadline = made(1000);
    insert(&mut deadline, ms(0), 0, Op::Read, 9000);
    insert(&mut deadline, ms(100), 1, Op::Read, 100);
    insert(&mut deadline, ms(400), 2, Op::Read, 9008);
    let held = |deadline: &Deadline, tag: usize| deadline.held[tag].unwrap().0;
    // Tag 2 absorbs the older tag 0 and grows to the front.
    let (survivor, gone) = (held(&deadline, 2), held(&deadline, 0));
    deadline.coalesced(ms(400), &survivor, &gone);
    let grown = BlockRequest { sector: 9000, nr_sectors: 16, ..survivor };
    deadline.merged(ms(400), &survivor, &grown);
    assert_eq!(deadline.len(), 2);
    assert_eq!(dispatch(&mut deadline, ms(501)), Some(grown), "expired with the age of tag 0");
    assert_eq!(order(&mut deadline, ms(501)), [1]);
    deadline.set("front_merges", 0);
    insert(&mut deadline, ms(600), 5, Op::Read, 100);
    assert!(!deadline.allow_merge(&request(5, 100), &request(6, 92), Merge::Front));
}

/// Dispatches of expired requests out of order, in per mille, with `outstanding` random reads and
/// as many writes, from an empty start as in the derivation. (In the steady state: 756 and 69.)
fn expired_per_mille(outstanding: u32) -> u64 {
    let mut deadline = made(1000);
    let mut seed = 1_u64;
    let mut random_sector = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % 200_000_000
    };
    for tag in 0..2 * outstanding {
        let op = if tag % 2 == 0 { Op::Read } else { Op::Write };
        insert(&mut deadline, Time::ZERO, tag, op, random_sector());
    }
    let rounds = 4_000;
    let mut expired = 0;
    for round in 0..rounds {
        let now = Time::from_ns(round * SERVICE_NS);
        let heads = [deadline.reads.fifo.head(), deadline.writes.fifo.head()];
        let sent = dispatch(&mut deadline, now).unwrap();
        let bound = if sent.op == Op::Read { ms(500) } else { ms(5000) };
        let out_of_order = heads.contains(&Some(sent.tag)) && now - sent.allocated > bound.as_ns();
        expired += u64::from(out_of_order);
        insert(&mut deadline, now + SERVICE_NS, sent.tag, sent.op, random_sector());
    }
    expired * 1000 / rounds
}

#[test]
fn with_a_deep_random_backlog_most_dispatches_are_expired_ones_and_with_a_shallow_one_few() {
    let (deep, shallow) = (expired_per_mille(64), expired_per_mille(8));
    assert!((680..=760).contains(&deep), "64 + 64 outstanding: {deep} per mille, derived: 720");
    assert!((40..=80).contains(&shallow), "8 + 8 outstanding: {shallow} per mille, derived: 60");
}
