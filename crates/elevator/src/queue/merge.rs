//! Merging for schedulers without [`Legacy`](crate::Legacy) hooks (those: `joining.rs`): a bio
//! joins an adjacent request, and two adjacent requests merge once after one has grown; the lower
//! one survives. Order: one-hit cache, hash of ends, starts. Same direction, at most `max_sectors`,
//! subject to [`Elevator::allow_merge`](crate::Elevator::allow_merge).
//!
//! Source: Linux 2.6.20 block/elevator.c, ll_rw_blk.c (elv_merge, attempt_merge); confirmed.
//! Departures: tries all requests with the same end or start, youngest first, not only the first;
//! hashes starts where the kernel searches trees; asks the elevator before merging requests, as
//! since Linux 4.9. The earlier deadline survives (proposed). Only held requests merge.

use super::tags::direction;
use super::{Queue, Slot, State};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Merge, Search};
use crate::vocabulary::{Op, Time};

impl Queue {
    /// Merges a bio into an adjacent request; returns that request's tag.
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

    pub(super) fn add_part(&mut self, tag: u32, part: u32, how: Merge) {
        match how {
            Merge::Back => self.counters.back_merges += 1,
            Merge::Front => self.counters.front_merges += 1,
        }
        let mut parts = self.slot(tag).parts;
        self.bios.append(&mut parts, part);
        self.slot_mut(tag).parts = parts;
    }

    pub(super) fn remember(&mut self, tag: u32) {
        let BlockRequest { op, sector, nr_sectors, .. } = self.slot(tag).of.request;
        if self.limits.merge {
            if !self.runs_on_demand {
                self.starts.insert(direction(op), sector, tag);
            }
            self.ends.insert(self.end_key(op), sector + u64::from(nr_sectors), tag);
            self.last_merge = self.cached().or(Some(tag));
        }
    }

    /// The direction, which Linux 2.6 ignores.
    pub(super) fn end_key(&self, op: Op) -> usize {
        if self.runs_on_demand { 0 } else { direction(op) }
    }

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
            self.ends.tags_at(direction, bio.sector).find(|tag| self.joins(*tag, bio, Merge::Back));
        let front = || {
            self.starts
                .tags_at(direction, bio.end())
                .find(|tag| self.joins(*tag, bio, Merge::Front))
        };
        back.map(|tag| (tag, Merge::Back)).or_else(|| front().map(|tag| (tag, Merge::Front)))
    }

    fn joins(&self, tag: u32, bio: &BlockRequest, how: Merge) -> bool {
        self.fits(tag, bio, how) && self.elevator.allow_merge(&self.slot(tag).of.request, bio, how)
    }

    /// Whether two requests may merge. Either may be on the elevator's dispatch list, so it is
    /// asked about both.
    fn unites(&self, survivor: u32, gone: u32) -> bool {
        let (one, two) = (self.slot(survivor).of.request, self.slot(gone).of.request);
        self.features.coalesces
            && self.joins(survivor, &two, Merge::Back)
            && self.elevator.allow_merge(&two, &one, Merge::Back)
    }

    fn fits(&self, tag: u32, bio: &BlockRequest, how: Merge) -> bool {
        let Some(Slot { state: State::Held, of, .. }) = self.slots.get(tag as usize) else {
            return false;
        };
        let request = &of.request;
        let touches = match how {
            Merge::Back => request.end() == bio.sector,
            Merge::Front => bio.end() == request.sector,
        };
        touches
            && request.is_released(self.now)
            && request.op == bio.op
            && request.nr_sectors + bio.nr_sectors <= self.limits.max_sectors
    }

    pub(super) fn grow(&mut self, now: Time, tag: u32, bio: &BlockRequest) {
        let before = self.slot(tag).of.request;
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
        self.slot_mut(tag).of.request = after;
        self.elevator.merged(now, &before, &after);
    }

    /// Merges a grown request with its neighbour; returns the survivor's tag.
    fn coalesce(&mut self, now: Time, grown: u32, how: Merge) -> u32 {
        let request = self.slot(grown).of.request;
        let direction = direction(request.op);
        let pair = match how {
            Merge::Back => self
                .starts
                .tags_at(direction, request.end())
                .find(|next| self.unites(grown, *next))
                .map(|next| (grown, next)),
            Merge::Front => self
                .ends
                .tags_at(direction, request.sector)
                .find(|former| self.unites(*former, grown))
                .map(|former| (former, grown)),
        };
        let Some((survivor, gone)) = pair else { return grown };
        self.unite(now, survivor, gone, None);
        survivor
    }

    /// Merges `gone` into `survivor`, with the bio between them.
    pub(super) fn unite(
        &mut self,
        now: Time,
        survivor: u32,
        gone: u32,
        bio: Option<&BlockRequest>,
    ) {
        let Slot { of: Finished { request: taken, .. }, parts, .. } = *self.slot(gone);
        let survivors = *self.slot(survivor);
        self.forget(gone);
        self.slot_mut(gone).state = State::Free;
        self.elevator.coalesced(now, &survivors.of.request, &taken);
        self.slot_mut(survivor).parts = self.bios.join(survivors.parts, parts);
        self.grow(now, survivor, &bio.map_or(taken, |bio| grown(&taken, bio)));
        self.free(gone);
        self.counters.coalesced += 1;
        self.held -= 1;
    }

    pub(super) fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        &mut self.slots[tag as usize]
    }
}

pub(super) fn grown(request: &BlockRequest, bio: &BlockRequest) -> BlockRequest {
    BlockRequest {
        sector: request.sector.min(bio.sector),
        nr_sectors: request.nr_sectors + bio.nr_sectors,
        deadline: request.deadline.into_iter().chain(bio.deadline).min(),
        ..*request
    }
}
