//! Tests of the 2.4 elevator: order, counts, and how often requests may be passed.

use super::*;
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

const MAX_SECTORS: u32 = 1024;

fn write(tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { op: Op::Write, sync: false, ..request(tag, sector) }
}

/// Submits a bio as the queue does; returns whether it merged.
fn hand(linus: &mut Keeper<Linus>, bio: BlockRequest) -> bool {
    let Search::Own(found) = linus.bio_merge(&bio, MAX_SECTORS) else {
        panic!("linus-2.4 searches itself")
    };
    let Some((tag, how)) = found else {
        linus.insert(Time::ZERO, bio, InsertAt::Sorted);
        return false;
    };
    let before = linus.request(tag);
    let sector = if how == Merge::Back { before.sector } else { bio.sector };
    let after = BlockRequest { sector, nr_sectors: before.nr_sectors + bio.nr_sectors, ..before };
    linus.merged(Time::ZERO, &before, &after);
    true
}

fn empty() -> Keeper<Linus> {
    Keeper::new(Box::new(Linus::new()))
}

fn filled(bios: &[BlockRequest]) -> Keeper<Linus> {
    let mut linus = empty();
    for bio in bios {
        assert!(!hand(&mut linus, *bio), "{bio:?} is a request of its own");
    }
    linus
}

fn sectors(linus: &Linus) -> Vec<u64> {
    linus.list.iter().map(|held| held.sector).collect()
}

fn passes(linus: &Linus) -> Vec<i64> {
    linus.list.iter().map(|held| held.passes).collect()
}

#[test]
fn requests_are_sorted_behind_the_head_and_wrap_once() {
    let reads: Vec<_> = [500, 100, 300, 700, 200, 900, 50]
        .iter()
        .zip(0..)
        .map(|(at, tag)| request(tag, *at))
        .collect();
    let linus = filled(&reads);
    assert_eq!(sectors(&linus), [500, 700, 900, 50, 100, 200, 300]);
    assert_eq!(
        passes(&filled(&[request(0, 100), request(1, 300), request(2, 200)])),
        [128, 128, 127]
    );
}

#[test]
fn nothing_goes_behind_the_last_one_but_at_the_tail() {
    let linus = filled(&[request(0, 500), request(1, 400)]);
    assert_eq!(sectors(&linus), [500, 400]);
    assert_eq!(passes(&linus), [128, 128], "going to the tail passes no request");
}

#[test]
fn merges_are_found_at_both_ends_and_cost_a_passing() {
    let mut linus = filled(&[request(0, 100), request(1, 500), request(2, 900)]);
    assert!(hand(&mut linus, request(3, 508)), "back");
    assert_eq!(passes(&linus), [128, 128, 127], "who stands behind it is passed");
    assert!(hand(&mut linus, request(4, 92)), "front");
    assert_eq!(passes(&linus), [127, 127, 126], "a front merge costs the request itself one too");
    assert_eq!(sectors(&linus), [92, 500, 900]);
    assert!(!hand(&mut linus, write(5, 516)), "the other direction does not join");
    let large = BlockRequest { nr_sectors: MAX_SECTORS - 15, ..request(6, 516) };
    assert!(!hand(&mut linus, large), "together they would be too large");
}

#[test]
fn a_used_up_request_takes_a_back_merge_and_lets_nothing_by() {
    let mut linus = filled(&[request(0, 100), request(1, 500), request(2, 900)]);
    linus.list[2].passes = 0;
    assert!(!hand(&mut linus, request(3, 300)), "its sorted place is ahead");
    assert_eq!(sectors(&linus), [100, 500, 900, 300], "but it goes to the tail");
    let mut linus = filled(&[request(0, 100), request(1, 500)]);
    linus.list[1].passes = 0;
    assert!(!hand(&mut linus, request(3, 108)), "the one ahead is not looked at");
    assert!(!hand(&mut linus, request(4, 492)), "no front merge with it");
    linus.list.truncate(2);
    assert!(hand(&mut linus, request(5, 508)), "a back merge with it");
}

#[test]
fn a_new_read_has_four_small_writes_ahead_of_it_at_most() {
    let writes: Vec<_> = (0..10).map(|tag| write(tag, 100 * u64::from(tag + 1))).collect();
    let mut linus = filled(&writes);
    hand(&mut linus, request(20, 50));
    assert_eq!(
        sectors(&linus)[..6],
        [100, 200, 300, 400, 50, 500],
        "no sorted place: behind the fourth write"
    );
    let mut linus = filled(&writes[..4]);
    linus.list.push_back(Held::new(&request(20, 450), 128));
    hand(&mut linus, request(21, 50));
    assert_eq!(
        sectors(&linus),
        [100, 200, 300, 400, 450, 50],
        "a read that passes a read stays at the tail"
    );
    let mut linus = filled(&writes);
    hand(&mut linus, request(20, 250));
    assert_eq!(sectors(&linus)[..4], [100, 200, 250, 300], "its sorted place comes first");
    let mut linus = filled(&[
        BlockRequest { nr_sectors: 192, ..write(0, 1000) },
        write(1, 2000),
        write(2, 3000),
    ]);
    hand(&mut linus, request(20, 50));
    assert_eq!(sectors(&linus), [1000, 50, 2000, 3000], "192 sectors weigh as much as four writes");
    let mut linus = filled(&writes);
    linus.set("max_bomb_segments", 0);
    hand(&mut linus, request(20, 50));
    assert_eq!(linus.list.back().unwrap().sector, 50, "0: the rule is off");
}

/// For reads and writes, the maximum number of later arrivals dispatched before a request.
fn most_passed(linus: &mut Keeper<Linus>, write_percent: u64) -> [u64; 2] {
    let (mut seed, mut most) = (7_u64, [0, 0]);
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut passed = std::collections::BTreeMap::new();
    for seq in 0..40_000 {
        let op = if draw(100) < write_percent { Op::Write } else { Op::Read };
        // Arrivals closely follow the sweep, so they are sorted ahead of waiting ones.
        let sector = 8 * (seq % 5_000) + 80_000 * draw(2);
        let new = BlockRequest { seq, op, ..request(0, sector) };
        if !hand(linus, BlockRequest { tag: seq as u32, ..new }) {
            passed.insert(seq, 0);
        }
        if linus.len() > 100 {
            let sent = linus.dispatch(Time::ZERO, &NoDisk).unwrap();
            let count = passed.remove(&sent.seq).unwrap();
            let kind = usize::from(sent.op == Op::Write);
            most[kind] = count.max(most[kind]);
            passed.range_mut(..sent.seq).for_each(|(_, count)| *count += 1);
        }
    }
    most
}

#[test]
fn a_read_is_passed_by_as_many_later_ones_as_its_latency_says_and_no_more() {
    let limit = |read_latency| {
        let mut linus = empty();
        linus.set("read_latency", read_latency);
        most_passed(&mut linus, 0)[0]
    };
    assert_eq!([0, 1, 10].map(limit), [0, 1, 10]);
    assert!(limit(128) <= 128);
}

#[test]
fn with_writes_too_no_request_is_passed_more_often_than_the_row_guarantees() {
    let most = most_passed(&mut empty(), 50);
    assert!(most[0] > 0 && most[1] > 0 && most.iter().all(|count| *count <= 512), "{most:?}");
}

#[test]
fn a_passing_beyond_the_count_is_refused_one_by_one() {
    let mut linus = empty();
    linus.set("read_latency", 3);
    [request(0, 100), request(1, 5000)].into_iter().for_each(|bio| assert!(!hand(&mut linus, bio)));
    [200, 300, 400, 500]
        .iter()
        .zip(2..)
        .for_each(|(at, tag)| assert!(!hand(&mut linus, request(tag, *at))));
    assert_eq!(sectors(&linus), [100, 200, 300, 400, 5000, 500]);
}

#[test]
fn the_rules_of_2_4_18_count_every_request_that_is_looked_at() {
    let mut linus = empty();
    linus.set("variant_2_4_18", 1);
    [request(0, 100), request(1, 500)].into_iter().for_each(|bio| assert!(!hand(&mut linus, bio)));
    assert_eq!(passes(&linus), [127, 128], "the second looked at the first");
    hand(&mut linus, request(2, 300));
    assert_eq!(passes(&linus), [126, 128, 127]);
    linus.list[2].passes = 0;
    assert!(
        hand(&mut linus, request(3, 92)),
        "behind a used-up request merges go on, at the front too"
    );
    assert!(!hand(&mut linus, request(4, 200)));
    assert_eq!(sectors(&linus), [92, 300, 500, 200], "but nothing is sorted in");
    let mut linus = empty();
    linus.set("variant_2_4_18", 1);
    linus.set("read_latency", 8);
    [request(0, 100), request(1, 500)].into_iter().for_each(|bio| assert!(!hand(&mut linus, bio)));
    hand(&mut linus, BlockRequest { nr_sectors: 4, ..request(2, 300) });
    assert_eq!(sectors(&linus), [100, 300, 500], "7 and 6 passes left are enough for 4 sectors");
    hand(&mut linus, request(3, 200));
    assert_eq!(
        sectors(&linus),
        [100, 300, 500, 200],
        "6 passes left of 500 are fewer than 8 sectors"
    );
}

#[test]
fn a_new_read_of_2_4_18_goes_ahead_of_writes_even_past_reads() {
    let mut linus = filled(&[
        write(0, 100),
        write(1, 200),
        write(2, 300),
        write(3, 400),
        write(4, 500),
        request(5, 600),
    ]);
    linus.set("variant_2_4_18", 1);
    hand(&mut linus, request(6, 50));
    assert_eq!(
        sectors(&linus),
        [100, 200, 300, 400, 50, 600, 500],
        "2.4.32 would put it between 600 and 500"
    );
}

#[test]
fn a_joined_request_leaves_its_smaller_count_to_the_survivor() {
    let mut linus = filled(&[request(0, 100), request(1, 116), request(2, 900)]);
    linus.list[1].passes = 5;
    let (survivor, gone) = (request(0, 100), request(1, 116));
    linus.coalesced(Time::ZERO, &survivor, &gone);
    assert_eq!((sectors(&linus), passes(&linus)), (vec![100, 900], vec![5, 128]));
}

#[test]
fn without_a_search_the_place_is_found_at_insertion_and_nothing_is_joined() {
    let mut linus = empty();
    for (tag, sector) in [(0, 100), (1, 500), (2, 300), (3, 308)] {
        linus.insert(Time::ZERO, request(tag, sector), InsertAt::Sorted);
    }
    linus.insert(Time::ZERO, request(4, 700), InsertAt::Head);
    assert_eq!(sectors(&linus), [700, 100, 300, 308, 500]);
    assert_eq!(passes(&linus), [128, 128, 128, 128, 126]);
}

#[test]
fn tunables_are_read_back_and_their_extremes_break_nothing() {
    let defaults = ROW.tunables.iter().map(|row| Linus::new().get(row.name)).collect::<Vec<_>>();
    assert_eq!(defaults, [128, 256, 4, 0]);
    for pick in [|row: &Tunable| row.min, |row: &Tunable| row.max] {
        let mut linus = empty();
        for row in ROW.tunables {
            linus.set(row.name, pick(row));
            assert_eq!(linus.get(row.name), pick(row), "{}", row.name);
        }
        for tag in 0..40 {
            let sector = u64::from(tag * 37 % 11) * 800;
            hand(&mut linus, if tag % 2 == 0 { request(tag, sector) } else { write(tag, sector) });
        }
        let drained = std::iter::from_fn(|| linus.dispatch(Time::ZERO, &NoDisk)).count();
        assert_eq!(drained, 40);
    }
}
