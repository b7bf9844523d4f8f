//! The requests of an anticipatory scheduler: trees and FIFOs, and the way to the dispatch list.
//!
//! Source: Linux 2.6.20 block/as-iosched.c; confirmed.

use crate::fifo::Fifo;
use crate::request::Extent;
use crate::sorted::Placed;
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
    pub(super) next: Option<Placed>,
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
    pub(super) extent: Extent,
    pub(super) sync: bool,
    pub(super) process: u32,
    pub(super) place: State,
    pub(super) expires: u64,
}

impl<R: Rule> Machine<R> {
    /// as_move_to_dispatch; ends any wait.
    pub(super) fn move_to_dispatch(&mut self, tag: u32) {
        if matches!(self.antic, Antic::WaitReq | Antic::WaitNext) {
            self.call_off();
        }
        self.antic = Antic::Off;
        let Slot { extent, sync, process, .. } = *self.held(tag);
        let of = usize::from(sync);
        self.classes[of].last_sector = extent.end;
        if sync {
            self.who = Some(process);
        } else {
            self.who = None;
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        self.who_done = false;
        self.classes[of].next = self.next_after(tag, of);
        self.take_out(tag);
        self.list.add_sorted(extent);
        self.slots[tag as usize].as_mut().expect("it is held").place = State::Listed;
        self.history(process).listed += 1;
        self.nr_dispatched += 1;
    }

    pub(super) fn slot(&self, tag: u32) -> Option<&Slot> {
        self.slots.get(tag as usize)?.as_ref()
    }

    pub(super) fn held(&self, tag: u32) -> &Slot {
        self.slot(tag).expect("trees, FIFOs and the queue know held requests only")
    }

    pub(super) fn put(&mut self, slot: Slot) {
        let at = slot.extent.tag as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(slot);
    }

    pub(super) fn take_out(&mut self, tag: u32) {
        let Slot { extent, sync, process, .. } = *self.held(tag);
        self.history(process).queued -= 1;
        let of = usize::from(sync);
        if self.classes[of].next.is_some_and(|(_, next)| next == tag) {
            self.classes[of].next = self.next_after(tag, of);
        }
        let class = &mut self.classes[of];
        class.order.remove(tag);
        class.tree.remove(extent.sector);
        class.fifo.remove(tag);
        if self.last_merge == Some(tag) {
            self.last_merge = None;
        }
    }

    /// A request with the same start moves to the dispatch list.
    pub(super) fn add_sorted(&mut self, tag: u32) {
        let Slot { extent: Extent { sector, .. }, sync, .. } = *self.held(tag);
        loop {
            let class = &mut self.classes[usize::from(sync)];
            match class.tree.at_or_above(sector) {
                Some((start, alias)) if start == sector => {
                    self.move_to_dispatch(alias);
                    continue;
                }
                Some((_, above)) => class.order.insert_before(tag, above),
                None => class.order.push_back(tag),
            }
            class.tree.insert(sector, tag);
            return;
        }
    }

    /// as_find_next_rq: successor (cyclic) against predecessor, from the class's last position. The
    /// request is in the tree; it may have been merged away.
    fn next_after(&self, tag: u32, of: usize) -> Option<Placed> {
        let Class { order, last_sector, .. } = &self.classes[of];
        let placed = |tag| (self.held(tag).extent.sector, tag);
        let up = order.after(tag).or_else(|| order.head().filter(|lowest| *lowest != tag));
        BACK_SEEK.choose(up.map(placed), order.before(tag).map(placed), *last_sector)
    }
}
