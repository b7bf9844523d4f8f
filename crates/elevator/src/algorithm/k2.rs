//! k2: few requests in the device, and real-time requests first.
//!
//! At most `max_inflight` requests are in the device. There is a FIFO per real-time level and one
//! for all others, by I/O priority; the first non-empty one is served.
//!
//! Source: Miemietz, Weisbach, Roitzsch, Härtig, "K2: Work-Constraining Scheduling of NVMe-Attached
//! Storage", RTSS 2019 (abstract); rules from TUD-OS/k2-scheduler, k2.c (confirmed). Parameters:
//! max_inflight 32 requests.
//!
//! Derived: nothing ages; a head insertion goes to the end of its queue; bios merge into requests
//! of any class. A completion runs the hardware queue only if exactly max_inflight - 1 are left, so
//! raising a used-up max_inflight has no effect until the next insertion.
//!
//! Departures: a requeue decrements the count in flight (the source never does); with nothing in
//! flight the queue always runs; no variant bounded by estimated latencies
//! (grassnick/k2-scheduler).

use crate::chain::{Chain, Links};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::{BlockRequest, Finished, PrioClass};
use crate::scheduler::{Disk, Elevator, InsertAt};
use crate::vocabulary::Time;

/// It waits only for completions, so it never refuses with nothing in flight.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "k2",
    origin: Origin::BlkMq,
    help: "bounds the requests in the device, real-time levels first; for NVMe (out of tree)",
    source: "Miemietz et al., RTSS 2019; TUD-OS/k2-scheduler k2.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::RealTimeBehind { tunable: "max_inflight" }],
    tunables: &[Tunable {
        name: "max_inflight",
        unit: "requests",
        min: 1,
        max: i32::MAX as u64,
        evidence: Evidence::Confirmed,
        help: "maximum requests in the device",
        role: Role::Window,
    }],
    build,
};

/// Real-time levels; the next queue is for all other requests.
const LEVELS: usize = 8;
/// For a level that does not exist.
const USUAL_LEVEL: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The earlier one after a merge.
    rank: u64,
    in_flight: bool,
}

#[derive(Debug)]
struct K2 {
    queues: [Chain; LEVELS + 1],
    links: Links,
    slots: Vec<Option<Slot>>,
    arrived: u64,
    len: usize,
    in_flight: u64,
    max_inflight: u64,
    /// Since a dispatch found it full or empty.
    kicked: bool,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(K2 {
        queues: Default::default(),
        links: Links::new(build.nr_tags),
        slots: vec![None; build.nr_tags as usize],
        arrived: 0,
        len: 0,
        in_flight: 0,
        max_inflight: 32,
        kicked: true,
    })
}

fn queue(request: &BlockRequest) -> usize {
    match (request.priority.class, usize::from(request.priority.level)) {
        (PrioClass::RealTime, level @ 0..LEVELS) => level,
        (PrioClass::RealTime, _) => USUAL_LEVEL,
        (PrioClass::BestEffort | PrioClass::Idle, _) => LEVELS,
    }
}

impl K2 {
    fn slot(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }
}

impl Elevator for K2 {
    fn insert(&mut self, _now: Time, request: &BlockRequest, _at: InsertAt) {
        let tag = request.tag as usize;
        if self.slots.len() <= tag {
            self.slots.resize(tag + 1, None);
        }
        if self.slots[tag].is_some() {
            self.in_flight -= 1;
        }
        self.slots[tag] = Some(Slot { rank: self.arrived, in_flight: false });
        self.arrived += 1;
        self.links.push_back(&mut self.queues[queue(request)], request.tag);
        self.len += 1;
        self.kicked = true;
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        let next = self.queues.iter().position(|queue| queue.oldest().is_some());
        let may = self.kicked && self.in_flight < self.max_inflight || self.in_flight == 0;
        let Some(queue) = next.filter(|_| may) else {
            self.kicked = false;
            return None;
        };
        let tag =
            self.queues[queue].oldest().expect("the queue was found because it has a request");
        self.links.remove(&mut self.queues[queue], tag);
        self.kicked = true;
        self.len -= 1;
        self.in_flight += 1;
        self.slot(tag).in_flight = true;
        Some(tag)
    }

    fn complete(&mut self, _now: Time, done: &Finished) {
        let slot = self.slots[done.request.tag as usize]
            .take()
            .expect("a completed request was dispatched");
        debug_assert!(slot.in_flight, "a completed request was dispatched");
        self.in_flight -= 1;
        self.kicked |= self.in_flight + 1 == self.max_inflight;
    }

    fn len(&self) -> usize {
        self.len
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (kept, lost) = (queue(survivor), queue(gone));
        let ranks = [survivor, gone].map(|request| self.slot(request.tag).rank);
        if kept == lost && ranks[1] < ranks[0] {
            self.slot(survivor.tag).rank = ranks[1];
            self.links.remove(&mut self.queues[kept], survivor.tag);
            self.links.insert_before(&mut self.queues[kept], survivor.tag, gone.tag);
        }
        self.links.remove(&mut self.queues[lost], gone.tag);
        self.slots[gone.tag as usize] = None;
        self.len -= 1;
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.max_inflight
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.max_inflight = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::blk_mq_testing::check_extremes;
    use crate::request::Priority;
    use crate::scheduler::NoDisk;
    use crate::testing::{Keeper, request};

    fn k2(max_inflight: u64) -> Keeper {
        let build = Build { nr_tags: 64, queue_depth: 64, ..Build::default() };
        let mut k2 = Keeper::new(super::build(&build));
        k2.set("max_inflight", max_inflight);
        k2
    }

    fn real_time(tag: u32, level: u8) -> BlockRequest {
        BlockRequest {
            priority: Priority { class: PrioClass::RealTime, level },
            ..request(tag, u64::from(tag) * 64)
        }
    }

    fn usual(tag: u32) -> BlockRequest {
        request(tag, u64::from(tag) * 64)
    }

    fn next(k2: &mut Keeper) -> Option<u32> {
        k2.dispatch(Time::ZERO, &NoDisk).map(|request| request.tag)
    }

    fn done(k2: &mut Keeper, request: BlockRequest) {
        k2.complete(Time::ZERO, &Finished { request, issued: Time::ZERO });
    }

    #[test]
    fn a_real_time_request_waits_for_those_in_the_device_only() {
        let mut k2 = k2(2);
        (1..=3).for_each(|tag| k2.insert(Time::ZERO, usual(tag), InsertAt::Sorted));
        assert_eq!([(); 3].map(|()| next(&mut k2)), [Some(1), Some(2), None]);
        k2.insert(Time::ZERO, real_time(9, 4), InsertAt::Sorted);
        assert_eq!(next(&mut k2), None, "two are in flight");
        done(&mut k2, usual(1));
        assert_eq!([(); 2].map(|()| next(&mut k2)), [Some(9), None]);
        done(&mut k2, usual(2));
        assert_eq!(next(&mut k2), Some(3));
    }

    #[test]
    fn raising_the_bound_while_it_is_used_up_takes_effect_with_the_next_insertion() {
        let mut k2 = k2(4);
        (0..8).for_each(|tag| k2.insert(Time::ZERO, usual(tag), InsertAt::Sorted));
        (0..4).for_each(|tag| assert_eq!(next(&mut k2), Some(tag)));
        assert_eq!(next(&mut k2), None);
        k2.set("max_inflight", 32);
        (0..3).for_each(|tag| {
            done(&mut k2, usual(tag));
            assert_eq!(next(&mut k2), None, "3, 2 and 1 in flight are not 31");
        });
        k2.insert(Time::ZERO, usual(8), InsertAt::Sorted);
        assert_eq!(next(&mut k2), Some(4));
    }

    #[test]
    fn a_real_time_response_is_at_most_one_service_more_than_the_bound() {
        const SERVICE: u64 = 100_000;
        for (max, bound) in [(1, 200_000), (32, 3_300_000)] {
            for arrival in [0, 1, 7_777, 50_000, 99_999] {
                let mut k2 = k2(max);
                (0..60).for_each(|tag| k2.insert(Time::ZERO, usual(tag), InsertAt::Sorted));
                let mut device = std::collections::VecDeque::new();
                let (mut now, mut response) = (0, None);
                let at = 1_000_000 + arrival;
                while response.is_none() {
                    while let Some(request) = k2.dispatch(Time::from_ns(now), &NoDisk) {
                        device.push_back(request);
                    }
                    let served = device.pop_front().expect("others saturate the device");
                    let end = now + SERVICE;
                    if (now..end).contains(&at) {
                        k2.insert(Time::from_ns(at), real_time(63, 0), InsertAt::Sorted);
                        device.extend(k2.dispatch(Time::from_ns(at), &NoDisk));
                    }
                    now = end;
                    done(&mut k2, served);
                    response = (served.tag == 63).then(|| now - at);
                    if served.tag != 63 {
                        k2.insert(Time::from_ns(now), served, InsertAt::Sorted);
                    }
                }
                assert!(
                    response.is_some_and(|response| response <= bound),
                    "max {max}: {response:?}, bound {bound}"
                );
            }
        }
    }

    #[test]
    fn levels_go_in_order_and_one_that_does_not_exist_is_the_usual_one() {
        let mut k2 = k2(32);
        for (tag, level) in [(0, 7), (1, 9), (2, 5), (3, 3)] {
            k2.insert(Time::ZERO, real_time(tag, level), InsertAt::Sorted);
        }
        assert_eq!([(); 4].map(|()| next(&mut k2).unwrap()), [3, 1, 2, 0]);
    }

    #[test]
    fn random_drives_at_the_ends_of_the_range_lose_nothing() {
        check_extremes(&ROW);
    }
}
