//! Bio submission: whole or split, merged into a request, inserted as a new one, or queued for a
//! tag.
//!
//! Most callers ignore the outcome, so it is a tag until the caller needs the request.

use super::bios::Bios;
use super::tags::class;
use super::types::Waiter;
use super::wait_queues::WaitQueues;
use super::{Bio, Entry, Queue, Slot, State};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{DepthLimit, InsertAt};
use crate::vocabulary::{Op, Time};

/// The outcome for a bio: the tag of its request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entered {
    Inserted(u32),
    Merged(u32),
    Waiting,
}

impl Queue {
    /// Fast path.
    pub(super) fn submit_whole(&mut self, now: Time, bio: &Bio) -> Entered {
        assert!(bio.nr_sectors > 0, "a bio has a sector at least: {bio:?}");
        assert!(bio.sector < 1 << 62, "a disk has fewer sectors than that: {bio:?}");
        self.counters.submitted += 1;
        let part = self.bios.first(bio.cookie, 1);
        let entered = self.enter(now, &request_for(now, bio), part);
        self.counters.waited += u64::from(matches!(entered, Entered::Waiting));
        entered
    }

    pub(super) fn submit_parts(&mut self, now: Time, bio: &Bio, seen: &mut dyn FnMut(Entry)) {
        assert!(bio.sector < 1 << 62, "a disk has fewer sectors than that: {bio:?}");
        let nr_parts = bio.nr_sectors.div_ceil(self.limits.max_sectors);
        self.counters.submitted += 1;
        self.counters.splits += u64::from(nr_parts - 1);
        let first = self.bios.first(bio.cookie, nr_parts);
        let mut waited = false;
        for nr in 0..nr_parts {
            let part = if nr == 0 { first } else { self.bios.further(first) };
            let from = nr * self.limits.max_sectors;
            let mut request = request_for(now, bio);
            request.sector += u64::from(from);
            request.nr_sectors = (bio.nr_sectors - from).min(self.limits.max_sectors);
            let entered = self.enter(now, &request, part);
            waited |= matches!(entered, Entered::Waiting);
            seen(self.entry(entered));
        }
        self.counters.waited += u64::from(waited);
    }

    #[inline]
    pub(super) fn enter(&mut self, now: Time, request: &BlockRequest, part: u32) -> Entered {
        let released = request.is_released(now);
        if let Some(release) =
            request.release.filter(|_| !released && !self.features.takes_unreleased)
        {
            self.unreleased.insert((release, self.bios.order(part)), part);
            return self.wait(request, part, DepthLimit::None);
        }
        if self.limits.merge
            && released
            && let Some(tag) = self.merge(now, request, part)
        {
            return Entered::Merged(tag);
        }
        self.place(now, request, part)
    }

    /// Inserts a bio or part, or queues it for a tag.
    #[inline]
    pub(super) fn place(&mut self, now: Time, request: &BlockRequest, part: u32) -> Entered {
        let (op, sync) = (request.op, request.sync);
        let first = !self.lines.is_empty() || self.waiting[class(op, sync)].is_empty();
        let queue = self.hw_queue(request);
        let limit = self.elevator.limit_depth(request, self.word);
        if let DepthLimit::Shallow(depth) = limit {
            if let Some(bit) = self.take_shallow(queue, op, sync, depth) {
                return Entered::Inserted(self.insert(now, request, part, Some(bit)));
            }
        } else {
            let of_kind = of_kind(limit);
            if first && self.tags[queue].has_room(op, sync, of_kind)
                || limit == DepthLimit::Exceed && self.tags[queue].has_spare(op)
            {
                let bit = self.lines.get_mut(queue).and_then(|lines| lines.take(of_kind.is_some()));
                return Entered::Inserted(self.insert(now, request, part, bit));
            }
        }
        match self.lines.get_mut(queue) {
            Some(lines) => lines.join(part),
            None => self.waiting[class(op, sync)].push_back(part),
        }
        self.wait(request, part, limit)
    }

    fn wait(&mut self, request: &BlockRequest, part: u32, limit: DepthLimit) -> Entered {
        let waiter = Waiter { request: *request, limit };
        match self.waiters.get_mut(part as usize) {
            Some(known) => *known = waiter,
            None => self.waiters.resize(part as usize + 1, waiter),
        }
        self.nr_waiting += 1;
        Entered::Waiting
    }

    /// The outcome, for an observer.
    #[inline]
    pub(super) fn entry(&self, entered: Entered) -> Entry {
        match entered {
            Entered::Inserted(tag) => Entry::Inserted(self.slot(tag).of.request),
            Entered::Merged(tag) => Entry::Merged(self.slot(tag).of.request),
            Entered::Waiting => Entry::Waiting,
        }
    }

    #[inline]
    pub(super) fn may_admit(&self) -> bool {
        match self.lines.is_empty() {
            true => self.nr_waiting > self.unreleased.len(),
            false => self.lines.iter().any(WaitQueues::has_woken),
        }
    }

    /// Under blk-mq the woken ones, otherwise in order of arrival.
    pub(super) fn admit(&mut self, now: Time, seen: &mut dyn FnMut(Entry)) {
        for queue in 0..self.lines.len() {
            while let Some((line, part)) = self.lines[queue].next_woken() {
                let Waiter { request: BlockRequest { op, sync, .. }, limit } =
                    self.waiters[part as usize];
                let bit = match limit {
                    DepthLimit::Shallow(depth) => self.take_shallow(queue, op, sync, depth),
                    _ if self.has_room(part) => self.lines[queue].take_woken(),
                    _ => None,
                };
                if bit.is_some() {
                    self.admit_one(now, part, bit, seen);
                } else {
                    self.lines[queue].requeue(line, part);
                }
            }
        }
        while self.lines.is_empty() && self.nr_waiting > self.unreleased.len() {
            let heads = self
                .waiting
                .iter()
                .enumerate()
                .filter_map(|(class, line)| Some((class, *line.front()?)));
            let ready = heads.filter(|(_, part)| self.has_room(*part));
            let first = ready.min_by_key(|(_, part)| self.bios.order(*part));
            let Some((class, part)) = first else { return };
            self.waiting[class].pop_front();
            self.admit_one(now, part, None, seen);
        }
    }

    fn admit_one(&mut self, now: Time, part: u32, bit: Option<u32>, seen: &mut dyn FnMut(Entry)) {
        self.nr_waiting -= 1;
        let request = self.waiters[part as usize].request;
        let tag = self.insert(now, &request, part, bit);
        seen(Entry::Inserted(self.slot(tag).of.request));
    }

    fn take_shallow(&mut self, queue: usize, op: Op, sync: bool, depth: u32) -> Option<u32> {
        if !self.tags[queue].has_room(op, sync, None) {
            return None;
        }
        self.lines[queue].take_shallow(depth, self.linux.get(self.elevator.as_ref()).linux)
    }

    /// The limit of its kind may have changed.
    fn has_room(&self, part: u32) -> bool {
        let Waiter { request, limit } = &self.waiters[part as usize];
        let limit = match limit {
            DepthLimit::OfKind(_) => of_kind(self.elevator.limit_depth(request, self.word)),
            _ => None,
        };
        self.tags[self.hw_queue(request)].has_room(request.op, request.sync, limit)
    }

    #[inline]
    pub(super) fn hw_queue(&self, request: &BlockRequest) -> usize {
        self.topology.hw_queue(request.process) as usize
    }

    /// Inserts a new request; returns its tag.
    fn insert(&mut self, now: Time, request: &BlockRequest, part: u32, bit: Option<u32>) -> u32 {
        let queue = self.hw_queue(request);
        let tag = self.tags[queue].take(request.op, request.sync) * self.topology.hw_queues()
            + queue as u32;
        let request = BlockRequest { tag, seq: self.counters.inserted, allocated: now, ..*request };
        let (of, parts) = (Finished { request, issued: now }, Bios::list(part));
        self.slots[tag as usize] = Slot { state: State::Held, of, parts, bit, is_full: false };
        self.counters.inserted += 1;
        self.remember(tag);
        self.runs |= self.held == 0;
        self.held += 1;
        self.elevator.insert(now, &self.slots[tag as usize].of.request, InsertAt::Sorted);
        self.runs |= self.take_run();
        tag
    }
}

fn of_kind(limit: DepthLimit) -> Option<u32> {
    if let DepthLimit::OfKind(tags) = limit { Some(tags) } else { None }
}

/// A bio as a request; insertion assigns tag and number.
fn request_for(now: Time, bio: &Bio) -> BlockRequest {
    BlockRequest {
        tag: u32::MAX,
        seq: u64::MAX,
        process: bio.process,
        op: bio.op,
        sector: bio.sector,
        nr_sectors: bio.nr_sectors,
        sync: bio.sync,
        meta: bio.meta,
        priority: bio.priority,
        allocated: now,
        release: bio.release,
        deadline: bio.deadline,
    }
}
