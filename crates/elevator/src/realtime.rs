//! Real-time task sets: tasks, service times from the geometry, and whether an order meets the
//! deadlines.
//!
//! Terms of the DM-SCAN and RG-SCAN papers: task i has release time r, deadline d, position and
//! size; c(i, j) is the service time of j after i; s = max(r, previous f), f = s + c; an order is
//! feasible if f ≤ d for all. `algorithm/realtime/` plans with the same functions, so both agree on
//! feasibility.
//!
//! Service times are estimates (proposed): seek by the curve, constant rotational latency (default
//! half a revolution), transfer at the mean rate. The host does not know the angle.

use std::fmt;

use crate::geometry::{Geometry, SeekCurve};
use crate::vocabulary::Time;

const TABULATED: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Earliest start.
    pub release: Time,
    /// Latest completion.
    pub deadline: Time,
    pub sector: u64,
    /// Never 0.
    pub nr_sectors: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceModel {
    geometry: Geometry,
    /// By distance, from 0; longer ones are computed.
    seeks: Vec<u64>,
    rotation_ns: u64,
    sector_ns: u64,
}

impl ServiceModel {
    /// Assumes half a revolution per request, and the mean rate. Without an actuator, service takes
    /// no time unless rotation or transfer are set.
    pub fn from_geometry(geometry: &Geometry) -> ServiceModel {
        let has_arm = geometry.cylinders > 0 && geometry.sectors_per_cylinder > 0;
        let seek = if has_arm { geometry.seek.clone() } else { SeekCurve::default() };
        let geometry = Geometry { seek, ..geometry.clone() };
        let distances = geometry.cylinders.min(TABULATED);
        ServiceModel {
            seeks: (0..distances).map(|distance| geometry.seek.seek_ns(distance)).collect(),
            rotation_ns: geometry.revolution_ns / 2,
            sector_ns: geometry.sector_ns,
            geometry,
        }
    }

    /// The same disk with this rotational latency per request.
    #[must_use]
    pub fn with_rotation_ns(self, rotation_ns: u64) -> ServiceModel {
        ServiceModel { rotation_ns, ..self }
    }

    /// The same disk with this transfer time per sector.
    #[must_use]
    pub fn with_sector_ns(self, sector_ns: u64) -> ServiceModel {
        ServiceModel { sector_ns, ..self }
    }

    pub(crate) fn set_rotation_ns(&mut self, rotation_ns: u64) {
        self.rotation_ns = rotation_ns;
    }

    pub(crate) fn set_sector_ns(&mut self, sector_ns: u64) {
        self.sector_ns = sector_ns;
    }

    pub fn rotation_ns(&self) -> u64 {
        self.rotation_ns
    }

    pub fn sector_ns(&self) -> u64 {
        self.sector_ns
    }

    /// c(i, j): from the start of the seek to the end of the transfer.
    pub fn service_ns(&self, from: u64, sector: u64, nr_sectors: u32) -> u64 {
        let distance = self.cylinder(from).abs_diff(self.cylinder(sector));
        self.seek_ns(distance) + self.least_ns(nr_sectors)
    }

    /// Service time without a seek, the minimum in any order.
    pub fn least_ns(&self, nr_sectors: u32) -> u64 {
        self.rotation_ns + self.sector_ns * u64::from(nr_sectors)
    }

    /// 0 without an actuator.
    pub(crate) fn cylinder(&self, sector: u64) -> u64 {
        self.geometry.cylinder(sector)
    }

    #[inline]
    pub(crate) fn seek_ns(&self, distance: u64) -> u64 {
        match self.seeks.get(distance as usize) {
            Some(ns) => *ns,
            None => self.geometry.seek.seek_ns(distance),
        }
    }
}

/// Why a task cannot meet its deadline under any scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impossible {
    DueBeforeRelease {
        /// Index in the task set.
        task: usize,
        release: Time,
        deadline: Time,
    },
    /// Service without a seek takes longer than from release to deadline.
    TooLong {
        task: usize,
        least_ns: u64,
        /// From release to deadline.
        available_ns: u64,
    },
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Impossible::DueBeforeRelease { task, release, deadline } => write!(
                f,
                "task {task}: it is due at {} µs and released at {} µs; give it a deadline after its release",
                deadline.as_ns() / 1000,
                release.as_ns() / 1000
            ),
            Impossible::TooLong { task, least_ns, available_ns } => write!(
                f,
                "task {task}: even alone it takes {} µs without a seek (found {} µs from release to deadline); give it a \
                 later deadline or fewer sectors",
                least_ns.div_ceil(1000),
                available_ns / 1000
            ),
        }
    }
}

/// Tasks that cannot meet their deadlines even alone, by index.
pub fn impossible_alone(model: &ServiceModel, tasks: &[Task]) -> Vec<Impossible> {
    let assess = |(task, of): (usize, &Task)| {
        let Task { release, deadline, nr_sectors, .. } = *of;
        if deadline <= release {
            return Some(Impossible::DueBeforeRelease { task, release, deadline });
        }
        let (least_ns, available_ns) = (model.least_ns(nr_sectors), deadline - release);
        (least_ns > available_ns).then_some(Impossible::TooLong { task, least_ns, available_ns })
    };
    tasks.iter().enumerate().filter_map(assess).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// In order of service.
    pub finishes: Vec<Time>,
    pub misses: usize,
    /// From a deadline to completion.
    pub tardiness_max_ns: u64,
}

impl Schedule {
    pub fn is_feasible(&self) -> bool {
        self.misses == 0
    }
}

/// Serves tasks in this order (indices of `tasks`), with the actuator at sector `head`. Each task
/// starts at its release or the end of the previous one, whichever is later.
pub fn schedule(
    model: &ServiceModel,
    start: Time,
    head: u64,
    tasks: &[Task],
    order: &[usize],
) -> Schedule {
    let (mut now, mut head) = (start, head);
    let mut done =
        Schedule { finishes: Vec::with_capacity(order.len()), misses: 0, tardiness_max_ns: 0 };
    for task in order.iter().map(|nr| &tasks[*nr]) {
        now = now.max(task.release) + model.service_ns(head, task.sector, task.nr_sectors);
        head = task.sector + u64::from(task.nr_sectors) - 1;
        done.finishes.push(now);
        done.misses += usize::from(now > task.deadline);
        done.tardiness_max_ns =
            done.tardiness_max_ns.max(now.as_ns().saturating_sub(task.deadline.as_ns()));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seek of 1 ms plus 100 µs per cylinder of 10 sectors; 4 ms of rotation, 100 µs per sector.
    fn model() -> ServiceModel {
        let seek = SeekCurve { c_ns: 1_000_000, e_ps: 100_000_000, ..SeekCurve::default() };
        let geometry = Geometry {
            cylinders: 10_000,
            sectors_per_cylinder: 10,
            seek,
            revolution_ns: 8_000_000,
            sector_ns: 100_000,
        };
        ServiceModel::from_geometry(&geometry)
    }

    fn task(release_us: u64, deadline_us: u64, sector: u64) -> Task {
        let [release, deadline] = [release_us, deadline_us].map(|us| Time::from_ns(us * 1000));
        Task { release, deadline, sector, nr_sectors: 10 }
    }

    #[test]
    fn a_service_is_seek_half_a_revolution_and_transfer() {
        assert_eq!(model().service_ns(5, 9, 10), 5_000_000, "no seek on one cylinder");
        assert_eq!(model().service_ns(0, 100, 10), 1_000_000 + 1_000_000 + 5_000_000);
        assert_eq!(
            model().service_ns(0, 50_000, 10),
            1_000_000 + 500_000_000 + 5_000_000,
            "beyond the table"
        );
        assert_eq!(model().with_rotation_ns(0).with_sector_ns(1).least_ns(7), 7);
        assert_eq!(ServiceModel::from_geometry(&Geometry::default()).service_ns(0, 1 << 40, 8), 0);
    }

    #[test]
    fn tasks_wait_for_their_release_and_late_ones_are_counted() {
        let tasks = [task(0, 7000, 100), task(20_000, 26_000, 100), task(0, 31_999, 0)];
        let served = schedule(&model(), Time::ZERO, 0, &tasks, &[0, 1, 2]);
        assert_eq!(
            served.finishes.iter().map(|at| at.as_ns() / 1000).collect::<Vec<_>>(),
            [7000, 25_000, 32_000]
        );
        assert_eq!((served.misses, served.tardiness_max_ns), (1, 1000));
        assert!(schedule(&model(), Time::ZERO, 0, &tasks[..2], &[0, 1]).is_feasible());
    }

    #[test]
    fn a_task_that_fails_alone_is_named_with_what_to_do() {
        let tasks = [task(0, 5000, 70), task(5, 5, 0), task(1000, 5999, 0), task(9, 3, 0)];
        let found = impossible_alone(&model(), &tasks);
        let numbers = found.iter().map(|one| match one {
            Impossible::DueBeforeRelease { task, .. } | Impossible::TooLong { task, .. } => *task,
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(
            found[0].to_string(),
            "task 1: it is due at 5 µs and released at 5 µs; give it a deadline after its release"
        );
        assert_eq!(
            found[1].to_string(),
            "task 2: even alone it takes 5000 µs without a seek (found 4999 µs from release to deadline); give it a later \
             deadline or fewer sectors"
        );
    }
}
