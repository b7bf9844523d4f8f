//! The requests of an anticipatory scheduler: trees and FIFOs, and the way to the dispatch list.
//!
//! Source: Linux 2.6.20 block/as-iosched.c; confirmed.

use crate::fifo::Fifo;
use crate::request::BlockRequest;
use crate::starts::Starts;

use super::machine::{Antic, BACK_SEEK, Machine};
use super::rule::Rule;

pub(super) const ASYNC: usize = 0;
pub(super) const SYNC: usize = 1;

#[derive(Debug)]
pub(super) struct Class {
    pub(super) tree: Starts,
    /// The tree's order as links, for neighbours without a search.
    pub(super) order: Fifo,
    pub(super) fifo: Fifo,
    /// Next in the elevator's order; present whenever the tree is not empty.
    pub(super) next: Option<BlockRequest>,
    pub(super) last_sector: u64,
    /// When the FIFO was last checked, in jiffies; None: long ago.
    pub(super) last_check: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// In a tree and a FIFO; it can grow.
    Queued,
    Listed,
    Device,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) request: BlockRequest,
    pub(super) process: u32,
    pub(super) place: State,
    pub(super) expires: u64,
}

impl<R: Rule> Machine<R> {
    /// as_move_to_dispatch; ends any wait.
    pub(super) fn move_to_dispatch(&mut self, request: &BlockRequest) {
        if matches!(self.antic, Antic::WaitReq | Antic::WaitNext) {
            self.call_off();
        }
        self.antic = Antic::Off;
        let of = usize::from(request.sync);
        self.classes[of].last_sector = request.end();
        let process = self.slot(request.tag).expect("what is sorted is held").process;
        if request.sync {
            self.who = Some(process);
        } else {
            self.who = None;
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        self.who_done = false;
        self.classes[of].next = self.next_after(request);
        self.take_out(request);
        self.list.add_sorted(request);
        self.put(Slot { request: *request, process, place: State::Listed, expires: 0 });
        self.history(process).listed += 1;
        self.nr_dispatched += 1;
    }

    pub(super) fn slot(&self, tag: u32) -> Option<&Slot> {
        self.slots.get(tag as usize)?.as_ref()
    }

    pub(super) fn is_queued(&self, request: &BlockRequest) -> bool {
        self.slot(request.tag).is_some_and(|slot| slot.place == State::Queued)
    }

    pub(super) fn put(&mut self, slot: Slot) {
        let at = slot.request.tag as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(slot);
    }

    pub(super) fn take_out(&mut self, request: &BlockRequest) {
        let process = self.slot(request.tag).expect("what is sorted is held").process;
        self.history(process).queued -= 1;
        let of = usize::from(request.sync);
        if self.classes[of].next.is_some_and(|next| next.tag == request.tag) {
            self.classes[of].next = self.next_after(request);
        }
        let class = &mut self.classes[of];
        class.order.remove(request.tag);
        class.tree.remove(request.sector);
        class.fifo.remove(request.tag);
        if self.last_merge == Some(request.tag) {
            self.last_merge = None;
        }
    }

    /// A request with the same start moves to the dispatch list.
    pub(super) fn add_sorted(&mut self, request: &BlockRequest) {
        let of = usize::from(request.sync);
        loop {
            let class = &mut self.classes[of];
            match class.tree.at_or_above(request.sector) {
                Some((start, alias)) if start == request.sector => {
                    let alias = self.slot(alias).expect("what is in the tree is held").request;
                    self.move_to_dispatch(&alias);
                    continue;
                }
                Some((_, above)) => class.order.insert_before(request.tag, above),
                None => class.order.push_back(request.tag),
            }
            class.tree.insert(request.sector, request.tag);
            return;
        }
    }

    /// as_find_next_rq: successor (cyclic) against predecessor, from the class's last position.
    /// `request` is in the tree; it may have been merged away.
    fn next_after(&self, request: &BlockRequest) -> Option<BlockRequest> {
        let Class { order, last_sector, .. } = &self.classes[usize::from(request.sync)];
        let held = |tag| self.slot(tag).map(|slot| slot.request);
        let up = order
            .after(request.tag)
            .or_else(|| order.head().filter(|lowest| *lowest != request.tag));
        BACK_SEEK.choose(up.and_then(held), order.before(request.tag).and_then(held), *last_sector)
    }
}
