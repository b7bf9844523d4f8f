//! The queue with small elevators.

use super::*;
use crate::algorithm::{fcfs, mq_deadline, none};
use crate::scheduler::{DepthLimit, Merge, NoDisk, Search};
use crate::vocabulary::Op;
use crate::{Evidence, Priority};

fn bio(cookie: u64, op: Op, sector: u64, nr_sectors: u32) -> Bio {
    let sync = op == Op::Read;
    Bio {
        cookie,
        process: 0,
        op,
        sector,
        nr_sectors,
        sync,
        meta: false,
        priority: Priority::default(),
        release: None,
        deadline: None,
    }
}

fn limits(nr_requests: u32, queue_depth: u32) -> Limits {
    Limits { nr_requests, queue_depth, max_sectors: 64, merge: true }
}

/// A queue and the outcomes it reported.
struct Bed {
    queue: Queue,
    seen: Vec<Entry>,
    done: Vec<u64>,
}

impl Bed {
    fn new(kind: &ElevatorKind, limits: Limits) -> Bed {
        Bed {
            queue: Queue::new(kind, &Build::default(), limits),
            seen: Vec::new(),
            done: Vec::new(),
        }
    }

    fn submit(&mut self, bio: Bio) {
        self.queue.submit(Time::ZERO, bio, &mut |entry| self.seen.push(entry));
    }

    fn reads(&mut self, sectors: &[(u64, u32)]) {
        for (cookie, (sector, nr)) in sectors.iter().enumerate() {
            self.submit(bio(cookie as u64, Op::Read, *sector, *nr));
        }
    }

    fn dispatch(&mut self) -> Option<BlockRequest> {
        self.queue.dispatch(Time::ZERO, &NoDisk).copied()
    }

    fn complete(&mut self, tag: u32) -> Vec<u64> {
        self.queue.complete(Time::ZERO, tag, &mut self.done);
        self.queue.admit_waiting(Time::ZERO, &mut |entry| self.seen.push(entry));
        std::mem::take(&mut self.done)
    }

    /// Dispatches and completes everything, one at a time: (sector, sectors, cookies).
    fn drain(&mut self) -> Vec<(u64, u32, Vec<u64>)> {
        let mut all = Vec::new();
        while let Some(request) = self.dispatch() {
            let cookies = self.complete(request.tag);
            all.push((request.sector, request.nr_sectors, cookies));
        }
        assert!(self.queue.is_idle());
        all
    }

    fn waited(&self) -> usize {
        self.seen.iter().filter(|entry| **entry == Entry::Waiting).count()
    }
}

#[test]
fn a_bio_joins_behind_and_before_and_closes_the_gap_between_two() {
    let mut bed = Bed::new(&fcfs::ROW, limits(8, 1));
    bed.reads(&[(100, 8), (116, 8), (92, 8), (108, 8), (300, 8)]);
    let Counters { back_merges, front_merges, coalesced, inserted, .. } = *bed.queue.counters();
    assert_eq!((back_merges, front_merges, coalesced, inserted), (1, 1, 1, 3));
    assert_eq!(bed.drain(), [(92, 32, vec![0, 1, 2, 3]), (300, 8, vec![4])]);
}

#[test]
fn a_front_merge_that_reaches_the_former_neighbour_leaves_the_one_at_the_lower_sectors() {
    let mut bed = Bed::new(&fcfs::ROW, Limits { max_sectors: 20, ..limits(8, 1) });
    // 104 cannot back-merge into 92..104 (12 + 12 > 20), and front-merges into 116.
    bed.reads(&[(116, 2), (92, 12), (104, 12)]);
    assert_eq!(bed.queue.counters().front_merges, 1);
    assert_eq!(
        bed.drain().iter().map(|(sector, nr, _)| (*sector, *nr)).collect::<Vec<_>>(),
        [(104, 14), (92, 12)]
    );
    let mut bed = Bed::new(&fcfs::ROW, limits(8, 1));
    bed.reads(&[(116, 2), (92, 8), (0, 1), (100, 16)]);
    assert_eq!(bed.drain(), [(92, 26, vec![0, 1, 3]), (0, 1, vec![2])]);
}

#[test]
fn where_the_kernel_only_adds_bios_two_requests_that_touch_stay_two() {
    let mut bed = Bed::new(&none::ROW, limits(8, 1));
    bed.reads(&[(100, 8), (116, 8), (92, 8), (108, 8), (300, 8)]);
    let Counters { back_merges, front_merges, coalesced, inserted, .. } = *bed.queue.counters();
    assert_eq!((back_merges, front_merges, coalesced, inserted), (1, 1, 0, 3));
    assert_eq!(bed.drain(), [(92, 24, vec![0, 2, 3]), (116, 8, vec![1]), (300, 8, vec![4])]);
}

#[test]
fn the_other_direction_a_full_request_and_one_on_its_way_are_not_joined() {
    let mut bed = Bed::new(&none::ROW, limits(8, 4));
    bed.reads(&[(100, 60)]);
    bed.submit(bio(1, Op::Write, 160, 4));
    bed.submit(bio(2, Op::Read, 160, 5));
    assert_eq!(bed.queue.counters().inserted, 3);
    let first = bed.dispatch().unwrap();
    bed.submit(bio(3, Op::Read, 98, 2));
    assert_eq!((bed.queue.counters().inserted, first.end()), (4, 160));
    assert_eq!(bed.complete(first.tag), [0]);
    assert_eq!(bed.drain().len(), 3);
}

#[test]
fn nothing_is_merged_where_merging_is_off() {
    let mut bed = Bed::new(&none::ROW, Limits { merge: false, ..limits(8, 1) });
    bed.reads(&[(0, 8), (8, 8), (16, 8)]);
    assert_eq!(bed.drain().len(), 3);
}

#[test]
fn a_large_bio_is_done_when_all_its_parts_are() {
    let mut bed = Bed::new(&none::ROW, limits(8, 4));
    bed.submit(bio(9, Op::Write, 1000, 150));
    assert_eq!((bed.queue.counters().splits, bed.queue.held()), (2, 3));
    let parts: Vec<_> = std::iter::from_fn(|| bed.dispatch()).collect();
    assert_eq!(
        parts.iter().map(|part| (part.sector, part.nr_sectors)).collect::<Vec<_>>(),
        [(1000, 64), (1064, 64), (1128, 22)]
    );
    assert_eq!([2, 0, 1].map(|at: usize| bed.complete(parts[at].tag)), [vec![], vec![], vec![9]]);
    assert_eq!(bed.queue.counters().done, 1);
}

#[test]
fn bios_wait_for_a_tag_and_come_in_by_arrival_with_the_tag_that_is_free() {
    let mut bed = Bed::new(&none::ROW, limits(2, 2));
    bed.reads(&[(0, 1), (100, 1), (200, 1), (300, 1)]);
    bed.submit(bio(4, Op::Write, 400, 1));
    assert_eq!((bed.waited(), bed.queue.waiting(), bed.queue.counters().waited), (3, 3, 3));
    let tag = bed.dispatch().unwrap().tag;
    assert_eq!(bed.complete(tag), [0]);
    assert!(
        matches!(bed.seen.last(), Some(Entry::Inserted(request)) if request.sector == 200 && request.tag == tag)
    );
    assert_eq!(
        bed.drain().iter().map(|(sector, ..)| *sector).collect::<Vec<_>>(),
        [100, 200, 300, 400]
    );
}

#[test]
fn a_tag_that_coalescing_frees_goes_to_the_waiting_bio() {
    let mut bed = Bed::new(&fcfs::ROW, limits(2, 1));
    bed.reads(&[(0, 8), (16, 8), (100, 8), (8, 8)]);
    assert_eq!((bed.waited(), bed.queue.waiting(), bed.queue.held()), (1, 0, 2));
    assert!(
        matches!(bed.seen[..], [.., Entry::Merged(all), Entry::Inserted(last)] if all.nr_sectors == 24 && last.sector == 100)
    );
    bed.drain();
}

#[test]
fn legacy_schedulers_have_a_pool_for_each_direction() {
    let legacy = ElevatorKind { origin: Origin::LegacyLinux, ..none::ROW };
    let mut bed = Bed::new(&legacy, limits(1, 1));
    bed.reads(&[(0, 1), (100, 1)]);
    bed.submit(bio(2, Op::Write, 200, 1));
    assert_eq!((bed.queue.held(), bed.queue.waiting()), (2, 1));
    bed.drain();
}

#[test]
fn a_requeued_request_goes_first_and_is_done_once() {
    let mut bed = Bed::new(&none::ROW, limits(4, 2));
    bed.reads(&[(0, 8), (100, 8)]);
    let first = bed.dispatch().unwrap();
    bed.queue.requeue(Time::ZERO, first.tag);
    bed.submit(bio(2, Op::Read, 8, 8));
    assert_eq!(bed.queue.counters().inserted, 3, "nothing joins what the device has seen");
    assert_eq!(bed.drain(), [(0, 8, vec![0]), (100, 8, vec![1]), (8, 8, vec![2])]);
    let Counters { dispatched, requeued, completed, .. } = *bed.queue.counters();
    assert_eq!((dispatched, requeued, completed), (4, 1, 3));
}

/// `none` with a limit, an exception, or its own merge search.
#[derive(Debug)]
struct Special {
    inner: Box<dyn Elevator>,
    found: Option<(u32, Merge)>,
    searches: bool,
    limit: u32,
}

impl Elevator for Special {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        self.inner.insert(now, request, at);
    }
    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        self.inner.dispatch(now, disk)
    }
    fn complete(&mut self, now: Time, done: &Finished) {
        self.inner.complete(now, done);
    }
    fn len(&self) -> usize {
        self.inner.len()
    }
    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        match (request.op, request.process) {
            (Op::Write, _) => DepthLimit::OfKind(self.limit),
            (Op::Read, 7) => DepthLimit::Exceed,
            (Op::Read, _) => DepthLimit::None,
        }
    }
    fn bio_merge(&mut self, _bio: &BlockRequest, _max_sectors: u32) -> Search {
        if self.searches { Search::Own(self.found) } else { Search::Queue }
    }
    fn allow_merge(&self, request: &BlockRequest, _bio: &BlockRequest, _how: Merge) -> bool {
        request.sector != 16
    }
    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.inner.merged(now, before, after);
    }
    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.inner.coalesced(now, survivor, gone);
    }
    fn get(&self, tunable: &str) -> u64 {
        self.inner.get(tunable)
    }
    fn set(&mut self, tunable: &str, value: u64) {
        // No tunables: tests set the search result and the limit here.
        match tunable {
            "limit" => self.limit = value as u32,
            _ => {
                self.searches = tunable == "found";
                self.found = self.searches.then_some((value as u32, Merge::Back));
            }
        }
    }
}

const SPECIAL: ElevatorKind = ElevatorKind {
    name: "special",
    // In order of arrival; `wait_queues` tests blk-mq's wait queues.
    origin: Origin::Literature,
    evidence: Evidence::Proposed,
    build: |build| {
        Box::new(Special { inner: (none::ROW.build)(build), found: None, searches: true, limit: 1 })
    },
    ..none::ROW
};

#[test]
fn a_limited_kind_waits_while_others_pass_and_an_awaited_process_exceeds_the_pool() {
    let mut bed = Bed::new(&SPECIAL, limits(2, 1));
    bed.submit(bio(0, Op::Write, 0, 1));
    bed.submit(bio(1, Op::Write, 100, 1));
    bed.submit(bio(2, Op::Read, 200, 1));
    assert_eq!((bed.queue.held(), bed.queue.waiting()), (2, 1));
    for cookie in 3..5 {
        bed.submit(Bio { process: 7, ..bio(cookie, Op::Read, cookie * 100, 1) });
    }
    assert_eq!(
        (bed.queue.held(), bed.queue.waiting()),
        (3, 2),
        "half of two more, then it waits as well"
    );
    assert!(matches!(bed.seen[3], Entry::Inserted(request) if request.tag == 2));
    // While the excess lasts, the pool counts as full.
    let first = bed.dispatch().unwrap();
    bed.complete(first.tag);
    assert_eq!((bed.queue.held(), bed.queue.waiting()), (2, 2));
    assert_eq!(bed.drain().len(), 4);
}

#[test]
fn who_waits_comes_before_who_arrives_also_when_the_limit_was_raised() {
    let mut bed = Bed::new(&SPECIAL, limits(4, 1));
    (0..2).for_each(|at| bed.submit(bio(at, Op::Write, at * 100, 1)));
    bed.queue.elevator_mut().set("limit", 4);
    bed.submit(bio(2, Op::Write, 200, 1));
    assert_eq!(bed.drain().iter().map(|(sector, ..)| *sector).collect::<Vec<_>>(), [0, 100, 200]);
}

#[test]
fn wake_batch_follows_the_version_that_is_set_while_clients_wait() {
    // mq-deadline may limit a request to one bit: of each of 16 words in 6.1, of all in 6.12.
    let mut bed = Bed::new(&mq_deadline::ROW, limits(1024, 1));
    (0..1028).for_each(|at| bed.submit(bio(at, Op::Read, at * 100, 1)));
    let waiting = |bed: &mut Bed| {
        let request = bed.dispatch().expect("it holds 1,024 requests");
        bed.complete(request.tag);
        bed.queue.waiting()
    };
    assert_eq!(waiting(&mut bed), 3, "each free tag wakes a client");
    bed.queue.set_tunable("linux", 601);
    assert_eq!([(); 2].map(|()| waiting(&mut bed)), [3, 2], "two free tags wake one");
    bed.queue.elevator_mut().set("linux", 612);
    assert_eq!(waiting(&mut bed), 1);
}

#[test]
fn wake_batch_since_7_0_is_an_eighth_of_async_depth() {
    let mut bed = Bed::new(&mq_deadline::ROW, limits(64, 1));
    (0..84).for_each(|at| bed.submit(bio(at, Op::Read, at * 100, 1)));
    for (linux, async_depth, waiting) in
        [(612, 64, [20, 19]), (703, 64, [19, 11]), (703, 17, [11, 9])]
    {
        bed.queue.set_tunable("linux", linux);
        bed.queue.set_tunable("async_depth", async_depth);
        let batch = if linux == 612 { 1 } else { async_depth / 8 };
        let mut free = |tags| {
            for _ in 0..tags {
                let request = bed.dispatch().expect("it holds 64 requests");
                bed.complete(request.tag);
            }
            bed.queue.waiting()
        };
        assert_eq!([free(batch - 1), free(1)], waiting, "{linux}, {async_depth}");
    }
}

#[test]
fn the_one_hit_cache_is_asked_first_and_holds_what_came_after_a_dispatch() {
    let mut bed = Bed::new(&none::ROW, limits(4, 1));
    bed.reads(&[(0, 8)]);
    bed.dispatch();
    bed.reads(&[(100, 8), (100, 8), (108, 8)]);
    assert!(
        matches!(bed.seen[3], Entry::Merged(request) if request.tag == 1),
        "the hash would give the younger"
    );
}

#[test]
fn an_elevator_that_searches_itself_decides_alone() {
    let mut bed = Bed::new(&SPECIAL, limits(4, 1));
    bed.reads(&[(0, 8), (8, 8)]);
    assert_eq!(bed.queue.counters().inserted, 2, "it found nothing");
    bed.queue.elevator_mut().set("found", 1);
    bed.submit(bio(2, Op::Read, 16, 8));
    assert_eq!(bed.drain(), [(0, 8, vec![0]), (8, 16, vec![1, 2])]);
}

#[test]
fn two_requests_become_one_only_if_the_elevator_lets_go_of_both() {
    for (at, left) in [(16, 2), (24, 1)] {
        let mut bed = Bed::new(&SPECIAL, limits(4, 1));
        bed.queue.elevator_mut().set("searches", 0);
        bed.reads(&[(at - 16, 8), (at, 8), (at - 8, 8)]);
        assert_eq!(bed.drain().len(), left, "the request at 16 is out of reach");
    }
}

#[test]
#[should_panic(expected = "finds what fits")]
fn an_elevator_that_finds_what_does_not_touch_is_stopped() {
    let mut bed = Bed::new(&SPECIAL, limits(4, 1));
    bed.reads(&[(0, 8)]);
    bed.queue.elevator_mut().set("found", 0);
    bed.submit(bio(1, Op::Read, 9, 8));
}

#[test]
#[should_panic(expected = "the device has a request with this tag")]
fn a_tag_that_is_not_in_flight_cannot_complete() {
    let mut bed = Bed::new(&none::ROW, limits(4, 1));
    bed.reads(&[(0, 8)]);
    bed.complete(0);
}

#[test]
#[should_panic(expected = "time runs forward")]
fn time_does_not_run_backwards() {
    let mut bed = Bed::new(&none::ROW, limits(4, 1));
    bed.queue.on_timer(Time::from_ns(5), &mut |_| {});
    bed.reads(&[(0, 8)]);
}

#[test]
fn in_the_steady_state_slots_and_parts_are_used_again() {
    let mut bed = Bed::new(&none::ROW, limits(4, 1));
    for round in 0..1000 {
        bed.reads(&[(round * 1000, 8), (round * 1000 + 8, 8), (round * 1000 + 500, 100)]);
        assert_eq!(bed.drain().len(), 3);
    }
    assert_eq!(bed.queue.slots.len(), 6);
    assert_eq!(bed.queue.counters().done, 3000);
}

#[test]
fn the_usual_window_is_twice_the_tags_of_the_adapter_even_for_a_disk_that_takes_one_command() {
    let window = |name: &str, depth| Limits::usual(crate::find(name).unwrap(), depth).nr_requests;
    assert_eq!([1, 31, 32, 64, 1023].map(|depth| window("bfq", depth)), [64, 64, 64, 128, 256]);
    assert_eq!([1, 31, 32, 64, 1023].map(|depth| window("none", depth)), [32, 32, 32, 64, 1023]);
    assert_eq!((window("cfq", 1), window("sptf", 1)), (128, 256));
    assert_eq!(Limits::usual(crate::find("bfq").unwrap(), 1).queue_depth, 1);
}

#[test]
fn a_bio_is_inserted_at_its_release_and_joins_nothing() {
    let mut bed = Bed::new(&fcfs::ROW, limits(4, 1));
    bed.submit(Bio { release: Some(Time::from_ns(50)), ..bio(0, Op::Read, 100, 8) });
    bed.submit(bio(1, Op::Read, 108, 8));
    assert_eq!(bed.seen[0], Entry::Waiting);
    assert_eq!(
        (bed.queue.held(), bed.queue.waiting(), bed.queue.next_timer()),
        (1, 1, Some(Time::from_ns(50)))
    );
    let mut seen = Vec::new();
    bed.queue.on_timer(Time::from_ns(50), &mut |entry| seen.push(entry));
    assert!(
        matches!(seen[..], [Entry::Inserted(request)] if (request.sector, request.nr_sectors) == (100, 8)),
        "{seen:?}"
    );
    assert_eq!((bed.queue.held(), bed.queue.waiting(), bed.queue.next_timer()), (2, 0, None));
}
