//! noop: order of arrival with merges; Linux 2.6's choice for devices that later use `none`.
//!
//! Requests enter the dispatch list singly, when it is empty, so its sorting has no effect. Back
//! merges use the queue's hash, front merges its one-hit cache; a bio may merge into a request of
//! any process. Two requests merge if adjacent in the list.
//!
//! Source: Linux 2.6.20 block/noop-iosched.c; confirmed. Parameters: none. Departures: none known.

use crate::fifo::Fifo;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, InsertAt, Legacy, Merge};
use crate::vocabulary::Time;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "noop",
    origin: Origin::LegacyLinux,
    help: "order of arrival with merges; for devices that sort requests",
    source: "Linux 2.6.20 block/noop-iosched.c",
    evidence: Evidence::Confirmed,
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::ArrivalOrder,
        Guarantee::PassedAtMost { requests: 0 },
    ],
    tunables: &[],
    build,
};

#[derive(Debug)]
struct Noop {
    order: Fifo,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Noop { order: Fifo::new(build.nr_tags) })
}

impl Legacy for Noop {
    fn is_sorted(&self, tag: u32) -> bool {
        self.order.contains(tag)
    }

    fn front(&self, _bio: &BlockRequest) -> Option<u32> {
        None
    }

    fn former(&self, tag: u32) -> Option<u32> {
        self.order.before(tag)
    }

    fn latter(&self, tag: u32) -> Option<u32> {
        self.order.after(tag)
    }
}

impl Elevator for Noop {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        match at {
            InsertAt::Sorted => self.order.push_back(request.tag),
            InsertAt::Head => self.order.push_front(request.tag),
        }
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        self.order.pop_front()
    }

    fn legacy(&self) -> Option<&dyn Legacy> {
        Some(self)
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn allow_merge(&self, _request: &BlockRequest, _bio: &BlockRequest, how: Merge) -> bool {
        how == Merge::Back
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, _after: &BlockRequest) {
        assert!(self.order.contains(before.tag), "the request that grows is held");
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        if gone.seq < survivor.seq {
            self.order.remove(survivor.tag);
            self.order.insert_before(survivor.tag, gone.tag);
        }
        self.order.remove(gone.tag);
    }

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("noop has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("noop has no tunable {tunable}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::NoDisk;
    use crate::testing::request;

    fn drain(noop: &mut dyn Elevator) -> Vec<u32> {
        std::iter::from_fn(|| noop.dispatch(Time::ZERO, &NoDisk)).collect()
    }

    fn filled(sectors: &[u64]) -> Box<dyn Elevator> {
        let mut noop = build(&Build::default());
        for (tag, sector) in sectors.iter().enumerate() {
            noop.insert(Time::ZERO, &request(tag as u32, *sector), InsertAt::Sorted);
        }
        noop
    }

    #[test]
    fn requests_leave_in_order_of_arrival_whatever_their_sectors() {
        let mut noop = filled(&[900, 100, 500, 300]);
        noop.insert(Time::ZERO, &request(200, 700), InsertAt::Head);
        assert_eq!(noop.len(), 5);
        assert_eq!(drain(&mut *noop), [200, 0, 1, 2, 3]);
        assert!(noop.is_empty());
    }

    #[test]
    fn only_contiguous_bios_are_merged_from_any_process() {
        let noop = filled(&[100]);
        let other = BlockRequest { process: 7, ..request(1, 108) };
        assert!(noop.allow_merge(&request(0, 100), &other, Merge::Back));
        assert!(!noop.allow_merge(&request(0, 100), &request(1, 92), Merge::Front));
    }

    #[test]
    fn a_grown_request_keeps_its_place_and_a_joined_one_takes_the_older_place() {
        let mut noop = filled(&[900, 100, 500, 108]);
        let grown = BlockRequest { nr_sectors: 16, ..request(2, 500) };
        noop.merged(Time::ZERO, &request(2, 500), &grown);
        // Tag 3 survives tag 1 and takes its place.
        noop.coalesced(Time::ZERO, &request(3, 108), &request(1, 100));
        assert_eq!(drain(&mut *noop), [0, 3, 2]);
    }
}
