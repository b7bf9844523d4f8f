//! Tests of kyber: depth sequences of its specification, tokens, batches and random runs.

use super::*;
use crate::algorithm::blk_mq_testing::{check_extremes, check_random_drives};
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

const MS: u64 = 1_000_000;

fn kyber(nr_tags: u32) -> Keeper<Kyber> {
    Keeper::new(Box::new(Kyber {
        clock: Clock::new(1000),
        domains: [Domain::new(256, 2 * MS), Domain::new(128, 10 * MS)],
        queues: vec![HwQueue::default()],
        next_queue: 0,
        states: vec![None; nr_tags as usize],
        numbers: [0, -1],
        timer: None,
        tags: nr_tags,
        async_depth: u64::from(nr_tags) * 3 / 4,
        topology: Topology::default(),
        linux: LINUX_VERSION,
        len: 0,
    }))
}

fn write(tag: u32) -> BlockRequest {
    BlockRequest { op: Op::Write, ..request(tag, u64::from(tag) * 8) }
}

/// Sends 500 requests one by one with these latencies, and lets the timer fire.
fn window(kyber: &mut Keeper<Kyber>, start: Time, op: Op, io_ns: u64, total_ns: u64) -> Time {
    let mut now = start;
    for _ in 0..500 {
        let bio = BlockRequest { op, allocated: now, ..request(0, 0) };
        kyber.insert(now, bio, InsertAt::Sorted);
        let issued = now + (total_ns - io_ns);
        let sent = kyber.dispatch(issued, &NoDisk).expect("one request has a token");
        kyber.complete(issued + io_ns, &Finished { request: sent, issued });
        now = now + 1000;
    }
    // One window: the timer is due 100 ms after the first completion.
    let due = kyber.next_timer().expect("a completion arms the timer").max(now);
    kyber.on_timer(due);
    assert_eq!(kyber.next_timer(), None);
    due + 1
}

#[test]
fn reads_shrink_to_a_quarter_in_each_bad_window_while_they_wait_little() {
    let mut kyber = kyber(512);
    let mut now = Time::from_ns(1);
    let mut seen = Vec::new();
    for _ in 0..5 {
        // Writes miss their target; reads stay in the first bucket.
        let writes = Domain::new(128, 10 * MS);
        kyber.domains[1].histograms = writes.histograms;
        (0..500).for_each(|_| kyber.domains[1].sample(Kind::Io, 11 * MS));
        now = window(&mut kyber, now, Op::Read, 1000, 1000);
        seen.push(kyber.domains[0].depth);
    }
    assert_eq!(seen, [64, 16, 4, 1, 1]);
    assert_eq!(
        kyber.domains[1].depth, 128,
        "without total latencies of its own a domain keeps its depth"
    );
}

#[test]
fn reads_that_wait_too_long_double_their_depth_up_to_the_maximum() {
    let mut kyber = kyber(512);
    kyber.domains[0].depth = 3;
    let mut now = Time::from_ns(1);
    let mut seen = Vec::new();
    for _ in 0..8 {
        now = window(&mut kyber, now, Op::Read, 1000, 40 * MS);
        seen.push(kyber.domains[0].depth);
    }
    assert_eq!(seen, [6, 12, 24, 48, 96, 192, 256, 256]);
}

#[test]
fn a_depth_of_three_in_the_second_bucket_becomes_one() {
    let mut kyber = kyber(8);
    kyber.domains[0].depth = 3;
    kyber.resize(0, 1);
    assert_eq!(kyber.domains[0].depth, 1);
    kyber.resize(0, 0);
    assert_eq!(kyber.domains[0].depth, 1, "one token is left");
}

#[test]
fn a_latency_at_the_edge_of_a_bucket_belongs_to_the_lower_one() {
    let mut domain = Domain::new(1, 4000);
    for ns in [0, 1, 1000, 1001, 4000, 4001, 7000, 7001, u64::MAX] {
        domain.sample(Kind::Io, ns);
    }
    assert_eq!(domain.histograms[Kind::Io as usize], [3, 1, 0, 1, 1, 0, 1, 2]);
}

#[test]
fn a_percentile_needs_500_samples_or_a_second_and_the_look_at_the_io_latency_ends_that_second_for_both()
 {
    let clock = Clock::new(1000);
    let mut domain = Domain::new(1, 4000);
    let look = |domain: &mut Domain, ms| {
        for kind in [Kind::Total, Kind::Io] {
            (0..10).for_each(|_| domain.sample(kind, 5000));
        }
        let io = domain.percentile(clock, ms, Kind::Io, 90);
        (io, domain.percentile(clock, ms, Kind::Total, 99))
    };
    let mut seen = Vec::new();
    for window in 0..25 {
        seen.push(look(&mut domain, 100 + window * 100));
    }
    let io: Vec<_> = (0..25).filter(|at| seen[*at].0.is_some()).collect();
    assert_eq!(io, [10, 20], "the I/O latency is assessed each second");
    assert!(
        seen.iter().all(|(_, total)| total.is_none()),
        "the total latency waits for 500 samples"
    );
    (0..250).for_each(|_| domain.sample(Kind::Total, 5000));
    assert_eq!(domain.percentile(clock, 2501, Kind::Total, 99), Some(4));
    assert_eq!(domain.percentile(clock, 2501, Kind::Total, 99), None, "samples are used once");
}

#[test]
fn the_percentile_is_the_bucket_that_holds_it() {
    let clock = Clock::new(1000);
    for (slow, expected) in [(50, 0), (51, 6)] {
        let mut domain = Domain::new(1, 4000);
        (0..500 - slow).for_each(|_| domain.sample(Kind::Io, 10));
        (0..slow).for_each(|_| domain.sample(Kind::Io, 6500));
        assert_eq!(domain.percentile(clock, 0, Kind::Io, 90), Some(expected), "{slow} of 500 slow");
    }
}

#[test]
fn reads_and_writes_take_turns_in_batches_of_16_and_8() {
    let mut kyber = kyber(100);
    for tag in 0..40 {
        kyber.insert(Time::ZERO, request(tag, 0), InsertAt::Sorted);
        kyber.insert(Time::ZERO, write(tag + 50), InsertAt::Sorted);
    }
    let ops: Vec<Op> = std::iter::from_fn(|| kyber.dispatch(Time::ZERO, &NoDisk))
        .map(|request| request.op)
        .collect();
    let runs: Vec<usize> = ops[..72].chunk_by(|a, b| a == b).map(<[Op]>::len).collect();
    assert_eq!(runs, [16, 8, 16, 8, 8, 16], "16 reads, 8 writes, then what is left");
}

#[test]
fn without_a_token_a_request_waits_for_a_completion_and_can_still_merge() {
    let mut kyber = kyber(8);
    kyber.domains[0].depth = 1;
    kyber.insert(Time::ZERO, request(0, 0), InsertAt::Sorted);
    kyber.insert(Time::ZERO, request(1, 100), InsertAt::Sorted);
    let first = kyber.dispatch(Time::ZERO, &NoDisk).unwrap();
    kyber.insert(Time::ZERO, request(2, 200), InsertAt::Sorted);
    assert_eq!((first.tag, kyber.dispatch(Time::ZERO, &NoDisk), kyber.len()), (0, None, 2));
    assert!(
        !kyber.allow_merge(&request(1, 100), &request(7, 108), Merge::Back),
        "it was flushed with the first"
    );
    assert!(
        kyber.allow_merge(&request(2, 200), &request(7, 208), Merge::Back),
        "it waits in its software queue"
    );
    let other = BlockRequest { process: 1, ..request(7, 208) };
    assert!(!kyber.allow_merge(&request(2, 200), &other, Merge::Back), "of another process");
    assert_eq!(kyber.next_timer(), None);
    kyber.complete(Time::from_ns(5), &Finished { request: first, issued: Time::ZERO });
    assert_eq!(kyber.dispatch(Time::from_ns(5), &NoDisk).map(|request| request.tag), Some(1));
    assert_eq!(kyber.next_timer(), Some(Time::from_ns(100 * MS)));
    kyber.complete(
        Time::from_ns(50 * MS),
        &Finished { request: request(1, 100), issued: Time::ZERO },
    );
    assert_eq!(
        kyber.next_timer(),
        Some(Time::from_ns(100 * MS)),
        "a later completion does not put the look off"
    );
}

#[test]
fn hardware_queues_take_turns_and_each_empties_the_software_queues_of_its_own_cpus() {
    let mut kyber = kyber(100);
    kyber.queues = (0..2).map(|_| HwQueue::default()).collect();
    kyber.topology = Topology::new(4, 2);
    let of = |process, tag| BlockRequest { process, ..request(tag, u64::from(tag) * 8) };
    // CPUs 0 and 2 belong to the first hardware queue, 1 and 3 to the second.
    for (tag, process) in [(0, 2), (1, 2), (2, 0), (3, 3), (4, 1), (5, 6)] {
        kyber.insert(Time::ZERO, of(process, tag), InsertAt::Sorted);
    }
    let tags: Vec<u32> = std::iter::from_fn(|| kyber.dispatch(Time::ZERO, &NoDisk))
        .map(|request| request.tag)
        .collect();
    assert_eq!(tags, [2, 4, 0, 3, 1, 5], "queue by queue in turn, and in each CPU by CPU");
    let kyber = build(&Build { nr_tags: 128, topology: Topology::new(4, 2), ..Build::default() });
    let write = BlockRequest { op: Op::Write, sync: false, ..request(0, 0) };
    assert_eq!(
        kyber.limit_depth(&write, 16),
        DepthLimit::OfKind(48),
        "of the 64 tags of a hardware queue"
    );
}

#[test]
fn asynchronous_requests_and_since_7_0_synchronous_writes_share_three_quarters_of_the_tags() {
    let mut kyber = build(&Build { nr_tags: 64, ..Build::default() });
    let mut limits = |linux, async_depth| {
        kyber.set("linux", linux);
        kyber.set("async_depth", async_depth);
        let of = |op, sync| kyber.limit_depth(&BlockRequest { op, sync, ..request(0, 0) }, 16);
        let all = [(Op::Read, true), (Op::Write, true), (Op::Write, false)];
        (all.map(|(op, sync)| of(op, sync)), kyber.min_shallow_depth(64))
    };
    let (free, set) = (DepthLimit::None, DepthLimit::OfKind);
    assert_eq!(limits(612, 48), ([free, free, set(48)], 48));
    assert_eq!(limits(612, 16), ([free, free, set(48)], 48), "not a tunable yet");
    assert_eq!(limits(703, 48), ([free, set(48), set(48)], 48));
    assert_eq!(limits(703, 16), ([free, set(16), set(16)], 16));
}

#[test]
fn every_request_comes_out_once_whatever_is_merged_and_at_every_depth() {
    check_random_drives(&ROW);
}

#[test]
fn tunables_read_back_and_their_extremes_break_nothing() {
    check_extremes(&ROW);
}
