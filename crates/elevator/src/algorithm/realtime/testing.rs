//! A disk and a bench for tests of real-time schedulers.

use super::jobs::Job;
use crate::geometry::{Geometry, SeekCurve};
use crate::kind::{Build, ElevatorKind};
use crate::realtime::ServiceModel;
use crate::request::BlockRequest;
use crate::scheduler::{InsertAt, Merge, NoDisk};
use crate::testing::{Keeper, request};
use crate::vocabulary::Time;

pub(crate) const MS: u64 = 1_000_000;

/// 200 cylinders of 10 sectors; 100 µs per cylinder plus 5 ms.
pub(crate) fn geometry() -> Geometry {
    let seek = SeekCurve { e_ps: 100_000_000, ..SeekCurve::default() };
    Geometry {
        cylinders: 200,
        sectors_per_cylinder: 10,
        seek,
        revolution_ns: 8 * MS,
        sector_ns: MS,
    }
}

pub(crate) fn model() -> ServiceModel {
    ServiceModel::from_geometry(&geometry())
}

/// Times in milliseconds.
pub(crate) fn job(rank: u64, release: u64, deadline: u64, at: u64) -> Job {
    Job {
        tag: rank as u32,
        nr_sectors: 1,
        rank,
        release: release * MS,
        deadline: deadline * MS,
        start: at,
        end: at,
    }
}

/// Tags count from 0 in order of insertion.
pub(crate) struct Bench {
    pub(crate) elevator: Keeper,
    model: ServiceModel,
    pub(crate) now: u64,
    head: u64,
    next: u32,
    /// Tags that missed their deadlines.
    pub(crate) late: Vec<u32>,
}

impl Bench {
    pub(crate) fn new(row: &ElevatorKind, head: u64, set: &[(&str, u64)]) -> Bench {
        let mut elevator =
            Keeper::new((row.build)(&Build { geometry: geometry(), ..Build::default() }));
        elevator.insert(
            Time::ZERO,
            BlockRequest { nr_sectors: 1, ..request(99, head * 10) },
            InsertAt::Sorted,
        );
        elevator.dispatch(Time::ZERO, &NoDisk).expect("the only request");
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        Bench { elevator, model: model(), now: 0, head, next: 0, late: Vec::new() }
    }

    pub(crate) fn set(&mut self, tunable: &str, value: u64) {
        self.elevator.set(tunable, value);
    }

    fn insert(&mut self, bio: BlockRequest) {
        self.elevator.insert(Time::from_ns(self.now), bio, InsertAt::Sorted);
        self.next += 1;
    }

    pub(crate) fn plain(&mut self, at: u64) {
        self.insert(BlockRequest { nr_sectors: 1, ..request(self.next, at * 10) });
    }

    /// Times in milliseconds.
    pub(crate) fn task(&mut self, release: u64, deadline: u64, at: u64) {
        let [release, deadline] = [release, deadline].map(|ms| Some(Time::from_ns(ms * MS)));
        self.insert(BlockRequest {
            nr_sectors: 1,
            release,
            deadline,
            ..request(self.next, at * 10)
        });
    }

    /// Waits for timers.
    pub(crate) fn step(&mut self) -> Option<u32> {
        loop {
            let now = Time::from_ns(self.now);
            if let Some(next) = self.elevator.dispatch(now, &NoDisk) {
                assert!(next.is_released(now), "{next:?} at {now:?}");
                let at = next.sector / 10;
                self.now += self.model.seek_ns(self.head.abs_diff(at))
                    + self.model.least_ns(next.nr_sectors);
                self.head = at;
                if next.deadline.is_some_and(|deadline| Time::from_ns(self.now) > deadline) {
                    self.late.push(next.tag);
                }
                return Some(next.tag);
            }
            if self.elevator.is_empty() {
                return None;
            }
            let timer = self.elevator.next_timer().expect("what waits has a timer");
            assert!(timer > now, "a timer lies in the future");
            self.now = timer.as_ns();
            self.elevator.on_timer(timer);
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.step()).collect()
    }

    /// In milliseconds.
    pub(crate) fn merges(&self, one: Option<u64>, two: Option<u64>) -> bool {
        let due = |ms: Option<u64>| BlockRequest {
            deadline: ms.map(|ms| Time::from_ns(ms * MS)),
            ..request(0, 0)
        };
        self.elevator.allow_merge(&due(one), &due(two), Merge::Back)
    }
}

/// (release, deadline, cylinder) in ms, known from the start.
pub(crate) fn order(row: &ElevatorKind, head: u64, tasks: &[(u64, u64, u64)]) -> Vec<u32> {
    let mut bench = Bench::new(row, head, &[]);
    tasks.iter().for_each(|(release, deadline, at)| bench.task(*release, *deadline, *at));
    bench.drain()
}
