//! none: no scheduler; order of arrival. Sorting costs CPU time and gains nothing without seek
//! times.
//!
//! The kernel keeps a list per CPU, so a bio merges only into requests of the same CPU; a process
//! has its own CPU unless `cpus` is lower. Requests do not merge with each other
//! (blk_bio_list_merge): a bio that fills a gap leaves two contiguous requests.
//!
//! Source: Linux 6.12 block/blk-mq.c and blk-mq-sched.c; confirmed. Parameters: `linux` (612), for
//! waking clients that wait for a tag (`queue/wait_queues.rs`). Departures: lists of several CPUs
//! are dispatched in order of arrival, not by CPU; a bio is compared with all requests of its list,
//! not the last eight.

use std::collections::VecDeque;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, Features, InsertAt, Merge};
use crate::topology::Topology;
use crate::vocabulary::{LINUX_VERSION, Time};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "none",
    origin: Origin::BlkMq,
    help: "no scheduler: order of arrival, ordering is left to the drive",
    source: "Linux 6.12 block/blk-mq.c",
    evidence: Evidence::Confirmed,
    guarantees: &[
        Guarantee::WorkConserving,
        Guarantee::ArrivalOrder,
        Guarantee::PassedAtMost { requests: 0 },
    ],
    tunables: &[Tunable::linux_version(
        "601, 612, 703: as that Linux; 601: freed tags wake one wait queue's clients",
    )],
    build,
};

#[derive(Debug)]
struct NoElevator {
    list: VecDeque<u32>,
    topology: Topology,
    linux: u64,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(NoElevator { list: VecDeque::new(), topology: build.topology, linux: LINUX_VERSION })
}

impl NoElevator {
    fn position(&self, request: &BlockRequest) -> usize {
        self.list.iter().position(|tag| *tag == request.tag).expect("the request is held")
    }
}

impl Elevator for NoElevator {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        match at {
            InsertAt::Sorted => self.list.push_back(request.tag),
            InsertAt::Head => self.list.push_front(request.tag),
        }
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        self.list.pop_front()
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        self.topology.cpu(request.process) == self.topology.cpu(bio.process)
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (old, young) = (self.position(survivor), self.position(gone));
        self.list.swap(old, old.min(young));
        self.list.remove(old.max(young));
    }

    fn features(&self) -> Features {
        Features { coalesces: false, ..Features::default() }
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.linux
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.linux = value;
    }
}
