//! The elevator interface of bfq and its variants.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed.

use super::{Bfq, MS, Slot, State};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{
    Anticipation, DepthLimit, Disk, Elevator, FlowSpec, InsertAt, Merge, Search,
};
use crate::sorted::by_sector;
use crate::vocabulary::Time;

impl Elevator for Bfq {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        self.tick(now);
        let tag = request.tag as usize;
        if tag >= self.slots.len() {
            self.slots.resize(tag + 1, None);
        }
        if let Some(old) = self.slots[tag].take() {
            self.completed(now, &old);
        }
        let linux = self.variant.is_linux();
        let queue = if linux {
            self.queue_in_linux(now, request)
        } else {
            self.queue_in_core(now, request)
        };
        self.pin(queue);
        self.held += 1;
        let expire_ms = if request.sync {
            self.settings.fifo_expire_sync_ms
        } else {
            self.settings.fifo_expire_async_ms
        };
        let fifo = self.fifo_numbers;
        self.fifo_numbers += 1;
        let place = if at == InsertAt::Head { State::Head } else { State::Queued };
        let expires = now + expire_ms * MS;
        self.slots[tag] = Some(Slot { request: *request, queue, place, fifo, expires });
        match place {
            State::Head => self.head.push_front(request.tag),
            _ => self.enqueue(now, queue, request),
        }
        self.release_forgotten();
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        self.tick(now);
        if let Some(tag) = self.head.pop_front() {
            let queue = self.slot(tag).queue;
            self.queue_mut(queue).dispatched += 1;
            self.send(tag);
            return Some(tag);
        }
        if self.busy == [0; 3] || (self.settings.strict_guarantees && self.in_driver > 0) {
            return None;
        }
        let queue = self.select_queue(now)?;
        let tag = self.serve(now, queue);
        self.release_forgotten();
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        self.tick(now);
        let slot = self.slots[done.request.tag as usize]
            .take()
            .expect("a completed request was dispatched");
        debug_assert_eq!(slot.place, State::InFlight, "a completed request was dispatched");
        self.completed(now, &slot);
        self.release_forgotten();
    }

    fn len(&self) -> usize {
        self.held
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        self.tick(now);
        if self.timer.is_some_and(|timer| timer <= now) {
            self.idling_is_over(now);
        }
    }

    fn limit_depth(&self, request: &BlockRequest, word: u32) -> DepthLimit {
        let depth = if self.variant.is_linux() { self.depth_of(request, word) } else { None };
        depth.map_or(DepthLimit::None, DepthLimit::Shallow)
    }

    fn min_shallow_depth(&self, bits: u32) -> u32 {
        if self.variant.is_linux() { 1 } else { bits }
    }

    fn bio_merge(&mut self, bio: &BlockRequest, _max_sectors: u32) -> Search {
        if self.variant.is_linux() {
            self.merge_before_joining(bio);
        }
        Search::Queue
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        request.sync == bio.sync && self.find_queue(bio) == Some(self.slot(request.tag).queue)
    }

    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.tick(now);
        let slot = self.slot_mut(before.tag);
        slot.request = *after;
        let (id, place) = (slot.queue, slot.place);
        if place == State::Queued {
            self.last_merge = Some(after.tag);
            let sorted = &mut self.queue_mut(id).sorted;
            let overtakes =
                sorted.before(by_sector(before)).is_some_and(|(below, _)| below > after.sector);
            sorted.remove(by_sector(before));
            sorted.insert(by_sector(after), after.tag);
            if overtakes {
                self.reconsider_next(id, after.tag);
            } else if self.queue(id).next == Some(after.tag) {
                self.update_position(id);
            }
        }
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.tick(now);
        let (old, young) = (*self.slot(survivor.tag), *self.slot(gone.tag));
        let both =
            old.place == State::Queued && young.place == State::Queued && old.queue == young.queue;
        if both && young.expires < old.expires {
            let queue = self.queue_mut(old.queue);
            queue.fifo.remove(&old.fifo).expect("the survivor is in the FIFO");
            queue.fifo.remove(&young.fifo).expect("the other is in the FIFO");
            queue.fifo.insert(young.fifo, survivor.tag);
            queue.fifo.insert(old.fifo, gone.tag);
            let (expires, fifo) = (young.expires, young.fifo);
            *self.slot_mut(survivor.tag) = Slot { expires, fifo, ..old };
            self.slot_mut(gone.tag).fifo = old.fifo;
        }
        if both && self.queue(young.queue).next == Some(gone.tag) {
            self.queue_mut(young.queue).next = Some(survivor.tag);
        }
        match young.place {
            State::Head => self.head.retain(|tag| *tag != gone.tag),
            _ => self.take_out(gone.tag),
        }
        self.slots[gone.tag as usize] = None;
        self.held -= 1;
        self.finish_request(gone);
        self.unpin(young.queue);
        self.release_forgotten();
    }

    fn exited(&mut self, now: Time, process: u32) {
        self.tick(now);
        if self.variant.is_linux() {
            self.forget_process(process);
            self.release_forgotten();
        }
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        self.declare(process, flow, spec);
    }

    fn get(&self, tunable: &str) -> u64 {
        self.settings.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.change(tunable, value);
    }

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.anticipation)
    }
}
