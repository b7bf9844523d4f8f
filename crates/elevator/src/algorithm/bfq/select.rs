//! The way of a request: into its queue, the choice of queue and request, out to the device.
//!
//! Source: Linux 6.12 block/bfq-iosched.c and bfq-wf2q.c; confirmed.

use super::queue::BfqQueue;
use super::{Bfq, Expiry, State};
use crate::request::BlockRequest;
use crate::sorted::by_sector;
use crate::vocabulary::Time;

/// The idle class has a turn at least this often.
const IDLE_CLASS_MS: u64 = 200;

impl Bfq {
    /// Puts a request into its queue.
    pub(super) fn enqueue(&mut self, now: Time, id: u32, request: BlockRequest) {
        self.observe_burst(self.clock.jiffies(now), id);
        let (slice, rotational) = (self.settings.slice_idle_ns, self.rotational);
        let (jiffies, fifo) = (self.clock.jiffies(now), self.slot(request.tag).fifo);
        let queue = self.queue_mut(id);
        queue.learn(now, &request, slice, rotational);
        queue.sorted.insert(by_sector(&request), request.tag);
        queue.fifo.insert(fifo, request.tag);
        let was_raised = queue.is_raised();
        let mut interactive = false;
        if queue.busy {
            if self.settings.low_latency && !was_raised {
                self.raise_rare_async(now, id);
            }
            self.reconsider_next(id, request.tag);
        } else {
            queue.next = Some(request.tag);
            interactive = self.becomes_busy(now, id);
        }
        let low_latency = self.settings.low_latency;
        let queue = self.queue_mut(id);
        if low_latency && (!was_raised || !queue.is_raised() || interactive) {
            queue.raise_mark = jiffies;
        }
        if self.in_service == Some(id) && self.timer.is_some() {
            self.waiting_is_rewarded(now, id);
        }
    }

    /// A request of a busy queue is new or has moved: it may be the one to serve next.
    pub(super) fn reconsider_next(&mut self, id: u32, tag: u32) {
        let old = self.queue(id).next;
        let requests = [old, Some(tag)].map(|tag| tag.map(|tag| self.slot(tag).request));
        let next = self.better(requests, self.rate.last_position);
        self.queue_mut(id).next = next.map(|next| next.tag);
        if self.queue(id).next != old {
            self.fit_budget(id);
        }
    }

    /// The one that the actuator at `last` should serve first; metadata before data.
    fn better(&self, requests: [Option<BlockRequest>; 2], last: u64) -> Option<BlockRequest> {
        if let [Some(a), Some(b)] = requests
            && a.meta != b.meta
        {
            return Some(if a.meta { a } else { b });
        }
        self.settings.back_seek().choose(requests[0], requests[1], last)
    }

    /// The next request of a waiting queue has changed: its budget has to suffice for it.
    fn fit_budget(&mut self, id: u32) {
        let Some(charge) = self.next_charge(id) else { return };
        let queue = &mut self.queues[id as usize];
        if !queue.busy || self.in_service == Some(id) {
            return;
        }
        let budget = queue.max_budget.max(charge).max(queue.entity.service);
        if budget != queue.entity.budget {
            self.trees[queue.class].rebudget(id, &mut queue.entity, budget);
        }
    }

    /// The request to serve after `request`, which is still in the tree: the oldest one if it has waited too long and was not
    /// looked at before in this turn, else the nearest.
    fn next_after(&mut self, now: Time, id: u32, request: &BlockRequest) -> Option<u32> {
        let queue = &mut self.queues[id as usize];
        if !queue.fifo_checked {
            queue.fifo_checked = true;
            let oldest = queue.fifo.first_key_value().map(|(_, tag)| *tag);
            let late = oldest.filter(|tag| *tag != request.tag && self.slot(*tag).expires <= now);
            if late.is_some() {
                return late;
            }
        }
        let sorted = &self.queues[id as usize].sorted;
        let lowest = || sorted.first().filter(|(_, first)| *first != request.tag);
        let around = [sorted.after(by_sector(request)).or_else(lowest), sorted.before(by_sector(request))];
        let around = around.map(|found| found.map(|(_, tag)| self.slot(tag).request));
        self.better(around, request.sector).map(|next| next.tag)
    }

    /// Takes a held request out of its queue.
    pub(super) fn take_out(&mut self, now: Time, tag: u32) {
        let slot = *self.slot(tag);
        let id = slot.queue;
        let was_next = self.queue(id).next == Some(tag);
        if was_next {
            let next = self.next_after(now, id, &slot.request);
            self.queue_mut(id).next = next;
        }
        let in_service = self.in_service == Some(id);
        let queue = self.queue_mut(id);
        queue.sorted.remove(by_sector(&slot.request));
        queue.fifo.remove(&slot.fifo).expect("the request is in the FIFO");
        if queue.sorted.is_empty() {
            queue.next = None;
            if queue.busy && !in_service {
                self.retire(id, false);
                let entity = &mut self.queue_mut(id).entity;
                (entity.budget, entity.service) = (0, 0);
            }
        } else if was_next {
            self.fit_budget(id);
        }
    }

    /// The queue whose next request the device shall get; None: somebody is waited for.
    pub(super) fn select_queue(&mut self, now: Time) -> Option<u32> {
        if let Some(id) = self.in_service
            && self.may_expire_for_timeout(now, id)
            && !self.must_idle(id)
        {
            self.expire(now, false, Expiry::Timeout);
        }
        loop {
            let id = match self.in_service {
                Some(id) => id,
                None => self.put_in_service(now)?,
            };
            match self.next_charge(id) {
                Some(charge) if charge > self.queue(id).entity.left() => self.expire(now, false, Expiry::Exhausted),
                Some(_) => {
                    self.timer = None;
                    return Some(id);
                }
                None if self.timer.is_some() => return None,
                None if self.queue(id).dispatched > 0 && self.better_to_idle(id) => return None,
                None => self.expire(now, false, Expiry::NoMoreRequests),
            }
        }
    }

    /// Begins the turn of the queue that is to be served next.
    fn put_in_service(&mut self, now: Time) -> Option<u32> {
        let jiffies = self.clock.jiffies(now);
        let mut first = 0;
        if jiffies > self.idle_class_mark + self.clock.from_ms(IDLE_CLASS_MS) {
            first = if self.trees[2].is_empty() { 0 } else { 2 };
            self.idle_class_mark = jiffies;
        }
        let (class, id) = (first..3).find_map(|class| Some((class, self.trees[class].choose()?)))?;
        self.trees[class].remove(id, &self.queues[id as usize].entity);
        self.in_service = Some(id);
        self.start_budget(now, id);
        Some(id)
    }

    /// Sends the next request of a queue.
    pub(super) fn serve(&mut self, now: Time, id: u32) -> BlockRequest {
        let tag = self.queue(id).next.expect("a queue that is served has a request");
        let request = self.slot(tag).request;
        let charge = self.charge_for(id, &request);
        let queue = &mut self.queues[id as usize];
        self.trees[queue.class].charge(&mut queue.entity, charge);
        if queue.is_raised() {
            queue.raised_service += charge;
        }
        if self.rate.dispatched(now, &request, self.in_driver) {
            self.resize_budget();
        }
        self.take_out(now, tag);
        self.send(tag);
        self.end_raising_if_due(now, id);
        if self.queue(id).class == 2 && self.busy.iter().sum::<u32>() > 1 {
            self.expire(now, false, Expiry::Exhausted);
        }
        request
    }

    /// Gives a request to the device.
    pub(super) fn send(&mut self, tag: u32) -> BlockRequest {
        let slot = self.slot_mut(tag);
        slot.place = State::InFlight;
        let (request, id) = (slot.request, slot.queue);
        self.queue_mut(id).dispatched += 1;
        self.in_driver += 1;
        self.held -= 1;
        request
    }

    /// A queue has got its first request: it waits for service.
    pub(super) fn activate(&mut self, id: u32) {
        let queue = &mut self.queues[id as usize];
        if queue.class != queue.wanted.0 {
            self.trees[queue.class].forget(id, &queue.entity);
            queue.class = queue.wanted.0;
            queue.left_willingly = false;
        }
        let (weight, coefficient) = (effective_weight(queue), queue.coefficient);
        let recover = std::mem::take(&mut queue.left_willingly);
        self.trees[queue.class].activate(id, &mut queue.entity, weight, recover, coefficient);
        queue.busy = true;
        self.busy[queue.class] += 1;
        self.raised_busy += u32::from(queue.is_raised());
        self.count_weight(id);
    }

    /// The queue in service waits again.
    pub(super) fn requeue_served(&mut self, id: u32) {
        let queue = &mut self.queues[id as usize];
        let (class, weight) = (queue.wanted.0, effective_weight(queue));
        if class != queue.class {
            self.trees[queue.class].drop_served(&queue.entity);
            self.busy[queue.class] -= 1;
            self.busy[class] += 1;
            queue.class = class;
            self.trees[class].activate(id, &mut queue.entity, weight, false, 1);
        } else {
            self.trees[class].requeue_served(id, &mut queue.entity);
            if weight != queue.entity.weight {
                self.trees[class].reweigh_waiting(id, &mut queue.entity, weight);
            }
        }
        self.count_weight(id);
    }

    /// A queue has no requests any more.
    pub(super) fn retire(&mut self, id: u32, served: bool) {
        let queue = &mut self.queues[id as usize];
        queue.busy = false;
        self.busy[queue.class] -= 1;
        self.raised_busy -= u32::from(queue.is_raised());
        let tree = &mut self.trees[queue.class];
        if served {
            tree.retire_served(id, &mut queue.entity);
        } else {
            tree.retire_waiting(id, &queue.entity);
        }
        if queue.dispatched == 0 {
            self.uncount_weight(id);
        }
    }

    /// The weight of the queue in service is to follow the end of its raising.
    pub(super) fn reweigh_served(&mut self, id: u32) {
        let queue = &mut self.queues[id as usize];
        let weight = effective_weight(queue);
        self.trees[queue.class].reweigh_served(&mut queue.entity, weight);
        self.count_weight(id);
    }

    /// Counts a queue with requests under its weight; raised queues are not counted.
    fn count_weight(&mut self, id: u32) {
        self.uncount_weight(id);
        let queue = &mut self.queues[id as usize];
        if !queue.is_raised() {
            queue.counted = Some(queue.entity.weight);
            *self.weights.entry(queue.entity.weight).or_insert(0) += 1;
        }
    }

    /// A queue has neither requests held nor in flight.
    pub(super) fn uncount_weight(&mut self, id: u32) {
        let Some(weight) = self.queue_mut(id).counted.take() else { return };
        let count = self.weights.get_mut(&weight).expect("a counted weight is in the table");
        *count -= 1;
        if *count == 0 {
            self.weights.remove(&weight);
        }
    }
}

/// The weight asked for comes into force: what is it now, raised?
fn effective_weight(queue: &mut BfqQueue) -> u64 {
    queue.base_weight = queue.wanted.1;
    queue.base_weight * queue.coefficient
}
