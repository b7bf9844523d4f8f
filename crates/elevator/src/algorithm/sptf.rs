//! sptf: shortest positioning time first (SATF), including rotation.
//!
//! The request whose first sector is under the head soonest is next: seek and settle or head
//! switch, then rotation, computed by the disk at the decision. Ties: the older. It has the best
//! mean service time, and starves requests that are always farther away.
//!
//! Source: literature on rotation-aware scheduling (Seltzer, Chen and Ousterhout 1990; Jacobson and
//! Wilkes 1991), recalled; DiskSim (disksim_ioqueue.c, SPTF_OPT), confirmed. Parameters: none.
//! Departures: none.
//!
//! Rates the requests whose seek alone is shorter than the chosen positioning time (`nearest.rs`).
//! Only a simulator (or the drive itself, as RPO) can run it. Without mechanics it is fcfs.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::nearest::{Nearest, Value};
use crate::scheduler::Elevator;
use crate::textbook::{Held, Rule, Textbook, View};
use crate::vocabulary::Time;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "sptf",
    origin: Origin::Literature,
    help: "shortest positioning time first: seek and rotation, computed by the disk",
    source: "DiskSim disksim_ioqueue.c; Jacobson and Wilkes, HPL-CSP-91-7 (recalled)",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving],
    tunables: &[],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(build, Sptf::default())
}

#[derive(Debug, Default)]
struct Sptf {
    held: Nearest,
}

struct Soonest;

impl Value for Soonest {
    fn value(&self, _now: Time, t_ns: u64, _since: Time) -> i128 {
        t_ns.into()
    }

    fn bound(&self, _now: Time, least_ns: u64, _most_ns: u64, _since: Time) -> i128 {
        least_ns.into()
    }

    fn prefers_age(&self, _now: Time, _since: Time) -> Option<bool> {
        None
    }
}

impl Rule for Sptf {
    fn insert(&mut self, held: &Held) {
        self.held.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.held.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        self.held.least(view, &Soonest)
    }
}

/// A small disk model and a load; also for asptf.
#[cfg(test)]
pub(crate) mod bench {
    use super::*;
    use crate::request::BlockRequest;
    use crate::scheduler::{Disk, InsertAt, Survey};
    use crate::testing::{Keeper, request};
    use crate::textbook::vectors::drive;

    /// 200 cylinders of one track of 10 sectors, 10 ms per revolution; seeks of 1 ms + 50 µs per
    /// cylinder.
    #[derive(Debug, Default)]
    pub(crate) struct Drive {
        pub(crate) cylinder: u64,
        /// First and last sector in the drive's cache; (0, 0): none.
        pub(crate) remembered: (u64, u64),
    }

    pub(crate) const SECTORS: u64 = 2000;
    const SECTOR_NS: u64 = 1_000_000;

    impl Disk for Drive {
        fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
            if (self.remembered.0..self.remembered.1).contains(&request.sector) {
                return 0;
            }
            let seek = self.seek_ns(request.sector);
            let angle = (now.as_ns() + seek) % (10 * SECTOR_NS);
            seek + (request.sector % 10 * SECTOR_NS + 10 * SECTOR_NS - angle) % (10 * SECTOR_NS)
        }

        fn survey(&self, now: Time, search: &mut dyn FnMut(&dyn Survey)) {
            search(&Moment(self, now));
        }
    }

    struct Moment<'a>(&'a Drive, Time);

    impl Survey for Moment<'_> {
        fn positioning_ns(&self, request: &BlockRequest) -> u64 {
            self.0.positioning_ns(self.1, request)
        }
        fn center(&self) -> u64 {
            self.0.cylinder * 10
        }
        fn at_least_ns(&self, sector: u64) -> u64 {
            self.0.seek_ns(sector)
        }
        fn at_most_ns(&self) -> u64 {
            11_000_000 + 10 * SECTOR_NS
        }
        fn exempt(&self, each: &mut dyn FnMut(u64, u64)) {
            each(self.0.remembered.0, self.0.remembered.1);
        }
    }

    impl Drive {
        fn seek_ns(&self, sector: u64) -> u64 {
            match (sector / 10).abs_diff(self.cylinder) {
                0 => 0,
                distance => 1_000_000 + 50_000 * distance,
            }
        }

        /// Serves a request; returns its completion.
        pub(crate) fn serve(&mut self, now: Time, request: &BlockRequest) -> Time {
            let done = now + self.positioning_ns(now, request) + SECTOR_NS;
            self.cylinder = request.sector / 10;
            done
        }
    }

    #[derive(Debug)]
    pub(crate) struct Measured {
        pub(crate) mean_service_ns: u64,
        pub(crate) longest_wait_ns: u64,
        /// Standard deviation from arrival to completion.
        pub(crate) response_sd_ns: u64,
    }

    /// 4000 requests, `held` waiting at any time.
    pub(crate) fn steady(row: &ElevatorKind, set: &[(&str, u64)], held: u32) -> Measured {
        let mut elevator = Keeper::new((row.build)(&drive(200)));
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        let mut seed = 3_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % 2000
        };
        let mut arrive = |elevator: &mut Keeper, now, tag| {
            let bio = BlockRequest { nr_sectors: 1, allocated: now, ..request(tag, random()) };
            elevator.insert(now, bio, InsertAt::Sorted);
        };
        let (mut disk, mut now) = (Drive::default(), Time::ZERO);
        let (mut longest_wait_ns, mut sum, mut squares) = (0, 0_u128, 0_u128);
        (0..held).for_each(|tag| arrive(&mut elevator, now, tag));
        for _ in 0..4000 {
            let next = elevator.dispatch(now, &disk).expect("the queue is full");
            longest_wait_ns = longest_wait_ns.max(now - next.allocated);
            now = disk.serve(now, &next);
            let response = u128::from(now - next.allocated);
            (sum, squares) = (sum + response, squares + response * response);
            arrive(&mut elevator, now, next.tag);
        }
        let variance = squares / 4000 - (sum / 4000) * (sum / 4000);
        Measured {
            mean_service_ns: now.as_ns() / 4000,
            longest_wait_ns,
            response_sd_ns: variance.isqrt() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bench::{Drive, steady};
    use super::*;
    use crate::algorithm::{asptf, c_look, c_scan, fcfs, fscan, look, scan, sstf, vscan_r};
    use crate::request::BlockRequest;
    use crate::scheduler::{Disk, InsertAt, NoDisk};
    use crate::testing::{Keeper, request};
    use crate::textbook::vectors::drive;

    const OTHERS: [ElevatorKind; 9] = [
        fcfs::ROW,
        sstf::ROW,
        scan::ROW,
        c_scan::ROW,
        look::ROW,
        c_look::ROW,
        fscan::ROW,
        vscan_r::ROW,
        asptf::ROW,
    ];

    #[test]
    fn the_soonest_under_the_head_goes_first_not_the_nearest() {
        let mut elevator = Keeper::new((ROW.build)(&drive(200)));
        // From cylinder 0 at angle 0: sector 9 of the same cylinder comes in 9 ms, sector 3 of
        // cylinder 20 after a seek of 2 ms.
        for (tag, sector) in [(0, 9), (1, 203), (2, 201)] {
            elevator.insert(
                Time::ZERO,
                BlockRequest { nr_sectors: 1, ..request(tag, sector) },
                InsertAt::Sorted,
            );
        }
        let mut disk = Drive::default();
        assert_eq!(
            [9, 203, 201].map(|sector| disk.positioning_ns(Time::ZERO, &request(0, sector))),
            [9_000_000, 3_000_000, 11_000_000]
        );
        let mut now = Time::ZERO;
        let mut tags = Vec::new();
        while let Some(next) = elevator.dispatch(now, &disk) {
            now = disk.serve(now, &next);
            tags.push(next.tag);
        }
        assert_eq!(tags, [1, 0, 2], "from cylinder 20 at 4 ms: 9 in 5 ms, 201 in 7 ms");
    }

    #[test]
    fn on_any_snapshot_there_is_no_request_that_takes_less() {
        let mut seed = 11_u64;
        for round in 0..300 {
            let mut elevators = [&ROW]
                .into_iter()
                .chain(&OTHERS)
                .map(|row| Keeper::new((row.build)(&drive(200))))
                .collect::<Vec<_>>();
            for tag in 0..20 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let bio = BlockRequest { nr_sectors: 1, ..request(tag, (seed >> 33) % 2000) };
                elevators
                    .iter_mut()
                    .for_each(|elevator| elevator.insert(Time::ZERO, bio, InsertAt::Sorted));
            }
            let now = Time::from_ns(round * 123_457);
            let times: Vec<u64> = elevators
                .iter_mut()
                .map(|elevator| {
                    let next = elevator.dispatch(now, &Drive::default()).expect("work is there");
                    Drive::default().positioning_ns(now, &next)
                })
                .collect();
            assert!(times.iter().all(|time| times[0] <= *time), "round {round}: {times:?}");
        }
    }

    #[test]
    fn mean_service_time_under_a_steady_load_is_the_best_of_all() {
        for held in [2, 8, 32] {
            let ours = steady(&ROW, &[], held).mean_service_ns;
            for row in &OTHERS {
                let theirs = steady(row, &[], held).mean_service_ns;
                // A short queue has no old requests: there asptf equals sptf.
                let better = ours < theirs || (row.name == "asptf" && ours == theirs);
                assert!(better, "{} with {held} waiting: {ours} against {theirs}", row.name);
            }
        }
    }

    #[test]
    fn without_mechanics_it_is_first_come_first_served() {
        let mut elevator = (ROW.build)(&drive(0));
        [(3, 5), (1, 9), (2, 1)].into_iter().for_each(|(tag, sector)| {
            elevator.insert(Time::ZERO, &request(tag, sector), InsertAt::Sorted)
        });
        let tags: Vec<u32> =
            (0..3).map(|_| elevator.dispatch(Time::ZERO, &NoDisk).unwrap()).collect();
        assert_eq!(tags, [3, 1, 2]);
    }
}
