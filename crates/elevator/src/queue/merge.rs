//! Merging: a bio joins a request that it touches, and two requests that touch become one. For
//! schedulers without [`Legacy`](crate::Legacy) hooks; those of Linux 2.6 join in `joining.rs`,
//! exactly as that kernel.
//!
//! Source: Linux 2.6.20 block/elevator.c and ll_rw_blk.c (elv_merge, attempt_merge); confirmed. In
//! this order: the one-hit cache, the hash of ends (back merge), the starts (front merge). Same
//! direction, together no more than `max_sectors`, and the elevator agrees
//! ([`Elevator::allow_merge`](crate::Elevator::allow_merge)). A request that has grown and now
//! touches its neighbour is joined with it, once; the one at the lower sectors survives.
//!
//! Departures: of several requests that end (start) at the same sector all are tried, the youngest
//! first; the kernel tries the first in its hash only. Front merges are found by a hash as well;
//! the kernel's elevators look in their trees, which finds the same. Joining two requests asks the
//! elevator too, as since Linux 4.9; the older kernel's elevators name the neighbour themselves and
//! thereby exclude those of another class. Of several deadlines the earliest stands (proposed);
//! everything else is as the request's first bio had it.
//!
//! Only requests that the elevator holds are joined. The kernel also takes a request out of its
//! hash when it goes to the dispatch list; that list is the elevator's here, which refuses for what
//! stands in it.

use super::tags::direction;
use super::{Queue, Slot, State};
use crate::request::BlockRequest;
use crate::scheduler::{Merge, Search};
use crate::vocabulary::{Op, Time};

impl Queue {
    /// Joins a bio to a request, if there is one that it fits. The tag of the request that holds
    /// it then.
    pub(super) fn merge(&mut self, now: Time, bio: &BlockRequest, part: u32) -> Option<u32> {
        if self.runs_on_demand {
            return self.join(now, bio, part);
        }
        let (tag, how) = match self.elevator.bio_merge(bio, self.limits.max_sectors) {
            Search::Queue => self.search(bio)?,
            Search::Own(found) => {
                let (tag, how) = found?;
                assert!(
                    self.fits(tag, bio, how),
                    "an elevator that searches itself finds what fits: {bio:?} {how:?} {tag}"
                );
                (tag, how)
            }
        };
        self.add_part(tag, part, how);
        self.grow(now, tag, bio);
        let tag = self.coalesce(now, tag, how);
        self.last_merge = Some(tag);
        Some(tag)
    }

    /// A request holds a bio's part as well.
    pub(super) fn add_part(&mut self, tag: u32, part: u32, how: Merge) {
        match how {
            Merge::Back => self.counters.back_merges += 1,
            Merge::Front => self.counters.front_merges += 1,
        }
        let mut parts = self.slot(tag).parts;
        self.bios.append(&mut parts, part);
        self.slot_mut(tag).parts = parts;
    }

    /// A request can be found by bios from now on.
    pub(super) fn remember(&mut self, request: &BlockRequest) {
        if self.limits.merge {
            if !self.runs_on_demand {
                self.starts.insert(direction(request.op), request.sector, request.tag);
            }
            self.ends.insert(self.end_key(request.op), request.end(), request.tag);
            self.last_merge = self.cached().or(Some(request.tag));
        }
    }

    /// What requests are hashed by besides their ends: the direction, which Linux 2.6 leaves out.
    pub(super) fn end_key(&self, op: Op) -> usize {
        if self.runs_on_demand { 0 } else { direction(op) }
    }

    /// A held request leaves the elevator; nothing joins it any more.
    pub(super) fn forget(&mut self, tag: u32) {
        if self.limits.merge {
            if !self.runs_on_demand {
                self.starts.remove(tag);
            }
            self.ends.remove(tag);
            self.last_merge = self.last_merge.filter(|last| *last != tag);
        }
    }

    fn search(&self, bio: &BlockRequest) -> Option<(u32, Merge)> {
        let direction = direction(bio.op);
        if let Some(tag) = self.last_merge {
            let how =
                [Merge::Back, Merge::Front].into_iter().find(|how| self.joins(tag, bio, *how));
            if let Some(how) = how {
                return Some((tag, how));
            }
        }
        let back =
            self.ends.at(direction, bio.sector).find(|tag| self.joins(*tag, bio, Merge::Back));
        let front =
            || self.starts.at(direction, bio.end()).find(|tag| self.joins(*tag, bio, Merge::Front));
        back.map(|tag| (tag, Merge::Back)).or_else(|| front().map(|tag| (tag, Merge::Front)))
    }

    fn joins(&self, tag: u32, bio: &BlockRequest, how: Merge) -> bool {
        self.fits(tag, bio, how) && self.elevator.allow_merge(&self.slot(tag).request, bio, how)
    }

    /// Whether two held requests may become one: neither of them may be out of reach, so the
    /// elevator is asked about both.
    fn unites(&self, survivor: u32, gone: u32) -> bool {
        let (one, two) = (self.slot(survivor).request, self.slot(gone).request);
        self.features.coalesces
            && self.joins(survivor, &two, Merge::Back)
            && self.elevator.allow_merge(&two, &one, Merge::Back)
    }

    /// Whether a request is held and could take the bio by position, direction and size.
    fn fits(&self, tag: u32, bio: &BlockRequest, how: Merge) -> bool {
        let Some(Some(Slot { state: State::Held, request, .. })) = self.slots.get(tag as usize)
        else {
            return false;
        };
        let touches = match how {
            Merge::Back => request.end() == bio.sector,
            Merge::Front => bio.end() == request.sector,
        };
        touches
            && request.is_released(self.now)
            && request.op == bio.op
            && request.nr_sectors + bio.nr_sectors <= self.limits.max_sectors
    }

    /// A held request grows by the sectors of a bio or of a contiguous request.
    pub(super) fn grow(&mut self, now: Time, tag: u32, bio: &BlockRequest) {
        let before = self.slot(tag).request;
        let after = grown(&before, bio);
        if bio.sector < before.sector {
            if !self.runs_on_demand {
                self.starts.remove(tag);
                self.starts.insert(direction(after.op), after.sector, tag);
            }
        } else {
            self.ends.remove(tag);
            self.ends.insert(self.end_key(after.op), after.end(), tag);
        }
        self.slot_mut(tag).request = after;
        self.elevator.merged(now, &before, &after);
    }

    /// Joins a request that has grown with its neighbour on that side. The tag of what is left.
    fn coalesce(&mut self, now: Time, grown: u32, how: Merge) -> u32 {
        let request = self.slot(grown).request;
        let direction = direction(request.op);
        let pair = match how {
            Merge::Back => self
                .starts
                .at(direction, request.end())
                .find(|next| self.unites(grown, *next))
                .map(|next| (grown, next)),
            Merge::Front => self
                .ends
                .at(direction, request.sector)
                .find(|former| self.unites(*former, grown))
                .map(|former| (former, grown)),
        };
        let Some((survivor, gone)) = pair else { return grown };
        self.unite(now, survivor, gone, None);
        survivor
    }

    /// Joins two held requests: `gone` becomes part of `survivor`, which it touches from above,
    /// with the bio between them.
    pub(super) fn unite(
        &mut self,
        now: Time,
        survivor: u32,
        gone: u32,
        bio: Option<&BlockRequest>,
    ) {
        let Slot { request: taken, parts, .. } = *self.slot(gone);
        let survivors = *self.slot(survivor);
        self.forget(gone);
        self.slot_mut(gone).state = State::Free;
        self.elevator.coalesced(now, &survivors.request, &taken);
        self.slot_mut(survivor).parts = self.bios.join(survivors.parts, parts);
        self.grow(now, survivor, &bio.map_or(taken, |bio| grown(&taken, bio)));
        self.give(gone, &taken);
        self.counters.coalesced += 1;
    }

    pub(super) fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag is in use")
    }
}

/// `request` with the sectors of `bio`, which it touches.
pub(super) fn grown(request: &BlockRequest, bio: &BlockRequest) -> BlockRequest {
    BlockRequest {
        sector: request.sector.min(bio.sector),
        nr_sectors: request.nr_sectors + bio.nr_sectors,
        deadline: request.deadline.into_iter().chain(bio.deadline).min(),
        ..*request
    }
}
