//! Merging as in Linux 2.6.20, for schedulers with [`Legacy`](crate::Legacy) hooks:
//! block/elevator.c and block/ll_rw_blk.c; confirmed. Departure: segment limits are ignored.
//!
//! A bio is offered to one request: the one-hit cache in either direction, else the youngest hashed
//! one ending at its start, else the scheduler's front-merge candidate. If the result would be too
//! large, that request takes no more bios. A grown request merges with its neighbour in the
//! scheduler's order, checking only the size. The hash ignores direction, so a read can hide a
//! write with the same end.

use super::merge::grown;
use super::{Queue, State};
use crate::request::BlockRequest;
use crate::scheduler::{Legacy, Merge};
use crate::vocabulary::Time;

impl Queue {
    /// __make_request's merge attempt. Returns the request's tag.
    pub(super) fn join(&mut self, now: Time, bio: &BlockRequest, part: u32) -> Option<u32> {
        let (tag, how) = self.candidate(bio)?;
        if !self.is_within(self.slot(tag).of.request.nr_sectors, bio) {
            self.slot_mut(tag).is_full = true;
            self.last_merge = self.last_merge.filter(|last| *last != tag);
            return None;
        }
        self.add_part(tag, part, how);
        let tag = match self.neighbour(tag, bio, how) {
            Some(next) => self.join_three(now, tag, bio, next, how),
            None => {
                self.grow(now, tag, bio);
                tag
            }
        };
        self.last_merge = Some(tag);
        self.runs |= self.take_run();
        Some(tag)
    }

    /// While its request accepts bios.
    pub(super) fn cached(&self) -> Option<u32> {
        self.last_merge.filter(|tag| !self.runs_on_demand || self.is_sorted(*tag))
    }

    /// elv_merge.
    fn candidate(&self, bio: &BlockRequest) -> Option<(u32, Merge)> {
        if let Some(tag) = self.cached().filter(|tag| self.accepts(*tag, bio)) {
            let request = &self.slot(tag).of.request;
            if request.end() == bio.sector {
                return Some((tag, Merge::Back));
            }
            if bio.end() == request.sector {
                return Some((tag, Merge::Front));
            }
        }
        let hashed =
            self.ends.tags_at(self.end_key(bio.op), bio.sector).find(|tag| self.is_mergeable(*tag));
        if let Some(tag) = hashed.filter(|tag| self.accepts(*tag, bio)) {
            return Some((tag, Merge::Back));
        }
        let front = self.legacy().front(bio).filter(|tag| self.accepts(*tag, bio))?;
        let start = self.slot(front).of.request.sector;
        assert_eq!(start, bio.end(), "a tree finds by the first sector");
        Some((front, Merge::Front))
    }

    /// The neighbour touched after growing by `bio`.
    fn neighbour(&self, tag: u32, bio: &BlockRequest, how: Merge) -> Option<u32> {
        let request = grown(&self.slot(tag).of.request, bio);
        let next = match how {
            Merge::Back => self.legacy().latter(tag)?,
            Merge::Front => self.legacy().former(tag)?,
        };
        let other = self.slot(next).of.request;
        let touches = match how {
            Merge::Back => request.end() == other.sector,
            Merge::Front => other.end() == request.sector,
        };
        let joins = touches && other.op == request.op && self.is_mergeable(next);
        (joins && self.is_within(request.nr_sectors, &other)).then_some(next)
    }

    /// Merges two neighbours into the lower one. The scheduler is called only for the result.
    fn join_three(
        &mut self,
        now: Time,
        tag: u32,
        bio: &BlockRequest,
        next: u32,
        how: Merge,
    ) -> u32 {
        let (survivor, gone) = match how {
            Merge::Back => (tag, next),
            Merge::Front => (next, tag),
        };
        self.unite(now, survivor, gone, Some(bio));
        survivor
    }

    /// elv_rq_merge_ok, apart from position and size.
    fn accepts(&self, tag: u32, bio: &BlockRequest) -> bool {
        self.is_mergeable(tag)
            && self.slot(tag).of.request.op == bio.op
            && self.legacy().allows(tag, bio)
    }

    /// rq_mergeable.
    fn is_mergeable(&self, tag: u32) -> bool {
        self.is_sorted(tag) && !self.slot(tag).is_full
    }

    fn is_sorted(&self, tag: u32) -> bool {
        self.slots.get(tag as usize).is_some_and(|slot| slot.state == State::Held)
            && self.legacy().is_sorted(tag)
    }

    fn legacy(&self) -> &dyn Legacy {
        self.elevator.legacy().expect("this is the queue of a scheduler of Linux 2.6")
    }

    fn is_within(&self, nr_sectors: u32, bio: &BlockRequest) -> bool {
        nr_sectors + bio.nr_sectors <= self.limits.max_sectors
    }
}
