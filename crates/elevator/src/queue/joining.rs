//! Merging as in Linux 2.6.20, for schedulers with [`Legacy`](crate::Legacy) hooks.
//!
//! Source: block/elevator.c (elv_merge, elv_try_merge, elv_rqhash_find, elv_merged_request,
//! elv_merge_requests) and block/ll_rw_blk.c (__make_request, ll_back_merge_fn, ll_front_merge_fn,
//! attempt_merge); confirmed, and held against them in use.
//!
//! A bio is offered to one request: to the one-hit cache in either direction; else to the request
//! that was hashed last of those that end where it starts; else to the one that the scheduler's
//! tree has where the bio ends. If that request is too large for it, the search is over and the
//! request takes no further bio, from anywhere. A request that has grown is joined with its
//! neighbour in the scheduler's tree (or list), which with overlapping requests need not be the one
//! that it touches. That takes neither the scheduler's permission nor the request's history into
//! account, only its size.
//!
//! The hash is by the sector alone: a read can hide a write that ends at the same sector. A request
//! that grew at its start keeps its place in it.
//!
//! Departures: none known. Limits on segments are not modelled, only that on sectors.

use super::merge::grown;
use super::{Queue, Slot, State};
use crate::request::BlockRequest;
use crate::scheduler::{Legacy, Merge};
use crate::vocabulary::Time;

impl Queue {
    /// Joins a bio to a request, if the kernel would. The tag of the request that holds it then.
    pub(super) fn join(&mut self, now: Time, bio: &BlockRequest, part: u32) -> Option<u32> {
        let (tag, how) = self.candidate(bio)?;
        if !self.is_within(self.slot(tag).request.nr_sectors, bio) {
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

    /// The one-hit cache, as long as the request can be joined by bios.
    pub(super) fn cached(&self) -> Option<u32> {
        self.last_merge.filter(|tag| !self.runs_on_demand || self.is_sorted(*tag))
    }

    /// The request that a bio is offered to.
    fn candidate(&self, bio: &BlockRequest) -> Option<(u32, Merge)> {
        if let Some(tag) = self.cached().filter(|tag| self.accepts(*tag, bio)) {
            let request = &self.slot(tag).request;
            if request.end() == bio.sector {
                return Some((tag, Merge::Back));
            }
            if bio.end() == request.sector {
                return Some((tag, Merge::Front));
            }
        }
        let hashed =
            self.ends.at(self.end_key(bio.op), bio.sector).find(|tag| self.is_mergeable(*tag));
        if let Some(tag) = hashed.filter(|tag| self.accepts(*tag, bio)) {
            return Some((tag, Merge::Back));
        }
        let front = self.legacy().front(bio).filter(|tag| self.accepts(*tag, bio))?;
        assert_eq!(self.slot(front).request.sector, bio.end(), "a tree finds by the first sector");
        Some((front, Merge::Front))
    }

    /// The neighbour that a request touches once it has grown by `bio`, and that may become one
    /// with it.
    fn neighbour(&self, tag: u32, bio: &BlockRequest, how: Merge) -> Option<u32> {
        let request = grown(&self.slot(tag).request, bio);
        let next = match how {
            Merge::Back => self.legacy().latter(tag)?,
            Merge::Front => self.legacy().former(tag)?,
        };
        let other = self.slot(next).request;
        let touches = match how {
            Merge::Back => request.end() == other.sector,
            Merge::Front => other.end() == request.sector,
        };
        let joins = touches && other.op == request.op && self.is_mergeable(next);
        (joins && self.is_within(request.nr_sectors, &other)).then_some(next)
    }

    /// Two neighbours and the bio between them become one request, the lower one; the scheduler
    /// is called for the end result only.
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

    /// elv_rq_merge_ok: whether a request takes this bio, apart from position and size.
    fn accepts(&self, tag: u32, bio: &BlockRequest) -> bool {
        self.is_mergeable(tag)
            && self.slot(tag).request.op == bio.op
            && self.legacy().allows(tag, bio)
    }

    /// rq_mergeable, of a request that can be found.
    fn is_mergeable(&self, tag: u32) -> bool {
        self.is_sorted(tag) && !self.slot(tag).is_full
    }

    fn is_sorted(&self, tag: u32) -> bool {
        let held =
            matches!(self.slots.get(tag as usize), Some(Some(Slot { state: State::Held, .. })));
        held && self.legacy().is_sorted(tag)
    }

    fn legacy(&self) -> &dyn Legacy {
        self.elevator.legacy().expect("this is the queue of a scheduler of Linux 2.6")
    }

    fn is_within(&self, nr_sectors: u32, bio: &BlockRequest) -> bool {
        nr_sectors + bio.nr_sectors <= self.limits.max_sectors
    }
}
