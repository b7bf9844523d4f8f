//! The common part of the literature's schedulers, so that each file holds only its rule.
//!
//! Textbooks define a queue, an actuator and the choice of the next request. [`Textbook`] adds
//! merges, requeues and the actuator's position around a [`Rule`].
//!
//! Distances are in cylinders, or in sectors without a geometry. Tie-breaks and merges are
//! proposed. The actuator is assumed at the end of the last dispatched request: the host cannot see
//! the drive's reordering.

use std::fmt;

use crate::geometry::Geometry;
use crate::kind::Build;
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, InsertAt};
use crate::vocabulary::Time;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) request: BlockRequest,
    /// Position of the first sector.
    pub(crate) position: u64,
    /// Order of arrival; the earlier one after a merge.
    pub(crate) rank: u64,
    /// Submission of the oldest part.
    pub(crate) since: Time,
    /// Dispatched first.
    pub(crate) requeued: bool,
}

/// The actuator as known to the host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Actuator {
    /// The last sector dispatched; the origin of distances.
    pub(crate) head: u64,
    /// The first sector of that request: how far a sweep has got. Comparing starts keeps a sweep
    /// ascending even if requests overlap or cross a cylinder border.
    pub(crate) start: u64,
    /// Cylinders, or the highest request end seen.
    pub(crate) positions: u64,
}

pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) arm: Actuator,
    table: &'a [Option<Held>],
}

impl View<'_> {
    pub(crate) fn held(&self, tag: u32) -> &Held {
        self.table[tag as usize].as_ref().expect("a rule keeps tags of held requests only")
    }
}

/// A scheduler's rule, which keeps tags in a suitable order.
pub(crate) trait Rule: fmt::Debug + Send {
    fn insert(&mut self, held: &Held);

    /// Removes an entry inserted with the same position and rank.
    fn remove(&mut self, held: &Held);

    /// Called only if there is one; [`Rule::remove`] follows.
    fn choose(&mut self, view: &View<'_>) -> u32;

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("this scheduler has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("this scheduler has no tunable {tunable}")
    }
}

#[derive(Debug)]
pub(crate) struct Textbook<R> {
    rule: R,
    geometry: Geometry,
    arm: Actuator,
    table: Vec<Option<Held>>,
    /// The next one last; almost always empty.
    requeued: Vec<u32>,
    len: usize,
    arrived: u64,
}

impl<R: Rule + 'static> Textbook<R> {
    pub(crate) fn boxed(build: &Build, rule: R) -> Box<dyn Elevator> {
        let geometry = build.geometry.clone();
        let arm = Actuator { positions: geometry.cylinders, ..Actuator::default() };
        let table = vec![None; build.nr_tags as usize];
        Box::new(Textbook { rule, geometry, arm, table, requeued: Vec::new(), len: 0, arrived: 0 })
    }
}

impl<R: Rule> Textbook<R> {
    fn position(&self, sector: u64) -> u64 {
        if self.has_arm() { self.geometry.cylinder(sector) } else { sector }
    }

    fn has_arm(&self) -> bool {
        self.geometry.cylinders > 0 && self.geometry.sectors_per_cylinder > 0
    }

    fn put(&mut self, held: Held) {
        if !self.has_arm() {
            self.arm.positions = self.arm.positions.max(held.request.end());
        }
        let tag = held.request.tag as usize;
        if self.table.len() <= tag {
            self.table.resize(tag + 1, None);
        }
        assert!(self.table[tag].is_none(), "a tag is held once: {:?}", held.request);
        if !held.requeued {
            self.rule.insert(&held);
        }
        self.table[tag] = Some(held);
        self.len += 1;
    }

    /// The caller updates `requeued`.
    fn take(&mut self, tag: u32) -> Held {
        let held = self.table[tag as usize].take().expect("the request is held");
        if !held.requeued {
            self.rule.remove(&held);
        }
        self.len -= 1;
        held
    }
}

impl<R: Rule> Elevator for Textbook<R> {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        let requeued = at == InsertAt::Head;
        if requeued {
            self.requeued.push(request.tag);
        }
        let position = self.position(request.sector);
        let (rank, since) = (self.arrived, request.allocated);
        self.put(Held { request: *request, position, rank, since, requeued });
        self.arrived += 1;
    }

    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let tag = match self.requeued.pop() {
            Some(tag) => tag,
            None => self.rule.choose(&View { now, disk, arm: self.arm, table: &self.table }),
        };
        let held = self.take(tag);
        self.arm.start = held.position;
        self.arm.head = self.position(held.request.end() - 1);
        Some(tag)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let held = self.take(before.tag);
        let since = held.since.min(after.allocated);
        self.put(Held { request: *after, position: self.position(after.sector), since, ..held });
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (kept, gone) = (self.take(survivor.tag), self.take(gone.tag));
        match (kept.requeued, gone.requeued) {
            (_, false) => {}
            (false, true) => {
                let at = self.requeued.iter().position(|tag| *tag == gone.request.tag);
                self.requeued[at.expect("a requeued request is in the list")] = kept.request.tag;
            }
            (true, true) => {
                // The one nearer the end of the list is earlier; both tags now mean the survivor.
                let pair = [kept.request.tag, gone.request.tag];
                let later = self.requeued.iter().position(|tag| pair.contains(tag));
                self.requeued.remove(later.expect("both requests are in the list"));
                let left = self.requeued.iter_mut().find(|tag| pair.contains(tag));
                *left.expect("one of both is left") = kept.request.tag;
            }
        }
        let (rank, since) = (kept.rank.min(gone.rank), kept.since.min(gone.since));
        self.put(Held { rank, since, requeued: kept.requeued || gone.requeued, ..kept });
    }

    fn get(&self, tunable: &str) -> u64 {
        self.rule.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.rule.set(tunable, value);
    }
}

#[cfg(test)]
pub(crate) mod vectors {
    use super::*;
    use crate::kind::ElevatorKind;
    use crate::scheduler::NoDisk;
    use crate::testing::{Keeper, request};

    /// Not 1, to detect sectors taken for cylinders.
    pub(crate) const PER_CYLINDER: u64 = 10;

    /// In order of arrival; cylinders 0 to 199, head at 53.
    pub(crate) const QUEUE: [u64; 8] = [98, 183, 37, 122, 14, 124, 65, 67];

    pub(crate) fn drive(cylinders: u64) -> Build {
        let sectors_per_cylinder = if cylinders == 0 { 0 } else { PER_CYLINDER };
        let geometry = Geometry { cylinders, sectors_per_cylinder, ..Geometry::default() };
        Build { geometry, ..Build::default() }
    }

    /// A scheduler after a request at `head` (a cylinder, or a sector without geometry).
    pub(crate) fn scheduler_at(
        row: &ElevatorKind,
        cylinders: u64,
        head: u64,
        set: &[(&str, u64)],
    ) -> Keeper {
        let mut elevator = Keeper::new((row.build)(&drive(cylinders)));
        elevator.insert(Time::ZERO, cylinder(99, head, cylinders), InsertAt::Sorted);
        elevator.dispatch(Time::ZERO, &NoDisk).expect("the only request");
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        elevator
    }

    pub(crate) fn cylinder(tag: u32, at: u64, cylinders: u64) -> BlockRequest {
        let sector =
            if cylinders == 0 { at } else { at * PER_CYLINDER + u64::from(tag) % PER_CYLINDER };
        BlockRequest { nr_sectors: 1, ..request(tag, sector) }
    }

    /// The remaining requests in dispatch order.
    pub(crate) fn drain(elevator: &mut Keeper) -> Vec<BlockRequest> {
        std::iter::from_fn(|| elevator.dispatch(Time::ZERO, &NoDisk)).collect()
    }

    /// The order from `head`, on 200 cylinders and without a geometry, where it must be the same.
    pub(crate) fn order(
        row: &ElevatorKind,
        head: u64,
        set: &[(&str, u64)],
        queue: &[u64],
    ) -> Vec<u64> {
        let orders = [200, 0].map(|cylinders| {
            let mut elevator = scheduler_at(row, cylinders, head, set);
            for (tag, place) in queue.iter().enumerate() {
                elevator.insert(
                    Time::ZERO,
                    cylinder(tag as u32, *place, cylinders),
                    InsertAt::Sorted,
                );
            }
            let all = drain(&mut elevator);
            all.iter().map(|request| queue[request.tag as usize]).collect::<Vec<u64>>()
        });
        assert_eq!(
            orders[0], orders[1],
            "cylinders and, without them, sectors are the same positions here"
        );
        orders[0].clone()
    }

    /// Total movement of the actuator.
    pub(crate) fn movement(head: u64, order: &[u64]) -> u64 {
        std::iter::once(&head).chain(order).zip(order).map(|(from, to)| from.abs_diff(*to)).sum()
    }

    /// The same order with a stop at `edge` (then at `back`, for a return stroke) before the first
    /// step against `up`.
    pub(crate) fn with_edge(head: u64, order: &[u64], up: bool, stops: &[u64]) -> Vec<u64> {
        let turn = (0..order.len())
            .find(|at| {
                let from = if *at == 0 { head } else { order[*at - 1] };
                if up { order[*at] < from } else { order[*at] > from }
            })
            .expect("the order turns");
        [&order[..turn], stops, &order[turn..]].concat()
    }
}

#[cfg(test)]
mod tests;
