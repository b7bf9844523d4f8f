//! The path of a request: insertion, choice of queue and request, dispatch.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c and bfq-wf2q.c; confirmed.

use super::{Bfq, Expiry, Slot, State};
use crate::request::BlockRequest;
use crate::sorted::by_sector;
use crate::vocabulary::Time;

/// Minimum time from a change of the injection limit to its reset by the think time.
const BREVITY_MS: u64 = 100;

impl Bfq {
    /// bfq_insert_request.
    pub(super) fn enqueue(&mut self, now: Time, id: u32, request: &BlockRequest) {
        let id = self.redirect(id, request);
        let slice = self.settings.slice_idle_ns;
        let first = if self.settings.still_clock { u64::MAX } else { 0 };
        let rotational = self.rotational;
        let queue = self.queue_mut(id);
        queue.learn_think_time(now, slice, first);
        self.learn_brevity(id);
        self.queue_mut(id).learn_seeks(request, rotational);
        self.check_soft(id);
        let was_raised = self.tree.get(id).coefficient > 1;
        if self.queue(id).sync {
            let owner = self.owner_of(request).expect("a request has an owner");
            if self.variant.is_linux() && self.process(owner).requests <= 1 {
                self.observe_arrival(now, id);
            }
            self.queue_mut(id).learn_intensity(now, first);
        }
        let fifo = self.slot(request.tag).fifo;
        let queue = self.queue_mut(id);
        queue.sorted.insert(by_sector(request), request.tag);
        queue.fifo.insert(fifo, request.tag);
        self.last_merge = self.last_merge.or(Some(request.tag));
        self.arrange(now, id, request, was_raised);
        if self.in_service == Some(id) && self.timer.is_some() {
            self.waiting_is_rewarded(now, id);
        }
    }

    /// bfq_add_request.
    fn arrange(&mut self, now: Time, id: u32, request: &BlockRequest, was_raised: bool) {
        let low_latency = self.settings.low_latency;
        let mut interactive = false;
        if self.queue(id).busy {
            let old = self.queue(id).next;
            self.choose_next(id, request.tag);
            if self.queue(id).next != old {
                self.update_position(id);
            }
            if low_latency && !was_raised {
                self.raise_rare_async(id);
            }
            if self.queue(id).next != old {
                self.fit_budget(id);
            }
        } else {
            self.queue_mut(id).next = Some(request.tag);
            self.update_position(id);
            interactive = self.becomes_busy(now, id, request.process);
        }
        if low_latency && (!was_raised || self.tree.get(id).coefficient == 1 || interactive) {
            let jiffies = self.jiffies;
            self.queue_mut(id).raising.mark = jiffies;
        }
    }

    /// __bfq_insert_request, with a cooperator.
    fn redirect(&mut self, id: u32, request: &BlockRequest) -> u32 {
        if !self.variant.is_linux() {
            return id;
        }
        let owner = request.process;
        let Some(into) = self.cooperator(id, request.sector, owner) else { return id };
        self.slot_mut(request.tag).queue = into;
        self.pin(into);
        let mut at = id;
        if self.process(owner).sync == Some(id) {
            while at != into {
                at = self.merge_step(owner, at);
            }
        }
        self.queue_mut(id).just_created = false;
        self.unpin(id);
        into
    }

    /// bfq_update_has_short_ttime.
    fn learn_brevity(&mut self, id: u32) {
        let slice = self.settings.slice_idle_ns;
        let queue = self.queue(id);
        if !queue.sync || self.tree.get(id).class == 2 || slice == 0 || self.is_recently_split(id) {
            return;
        }
        let briefly = !queue.thinks_long(slice);
        let changed = briefly != queue.habits.thinks_briefly;
        self.queue_mut(id).habits.thinks_briefly = briefly;
        let waking = &self.queue(id).waking;
        let settled = waking.inject_mark + self.ticks(BREVITY_MS) <= self.jiffies;
        if changed && waking.last_service_ns == 0 && (settled || !briefly) {
            self.reset_inject_limit(id);
        }
    }

    /// bfq_request_merged.
    pub(super) fn reconsider_next(&mut self, id: u32, tag: u32) {
        let old = self.queue(id).next;
        self.choose_next(id, tag);
        if self.queue(id).next != old {
            self.fit_budget(id);
            self.update_position(id);
        }
    }

    fn choose_next(&mut self, id: u32, tag: u32) {
        let tags = [self.queue(id).next, Some(tag)];
        self.queue_mut(id).next = self.better(tags, self.rate.last_position);
    }

    /// bfq_choose_req.
    #[inline]
    fn better(&self, tags: [Option<u32>; 2], last: u64) -> Option<u32> {
        let [Some(one), Some(two)] = tags else { return tags[0].or(tags[1]) };
        let [a, b] = [one, two].map(|tag| &self.slot(tag).request);
        let first = match a.meta == b.meta {
            true => self.settings.back_seek().prefers(a.sector, b.sector, last),
            false => a.meta,
        };
        Some(if first { one } else { two })
    }

    /// bfq_updated_next_req.
    fn fit_budget(&mut self, id: u32) {
        let Some(charge) = self.next_charge(id) else { return };
        let queue = &self.queues[id as usize];
        if !queue.busy || self.in_service == Some(id) {
            return;
        }
        let entity = self.tree.get_mut(id);
        let budget = queue.max_budget.max(charge).max(entity.service);
        if budget != entity.budget {
            entity.budget = budget;
            self.requeue(id, false);
        }
    }

    /// bfq_find_next_rq, bfq_check_fifo. `request` is still in the tree.
    fn next_after(&mut self, id: u32, request: &BlockRequest) -> Option<u32> {
        let queue = &mut self.queues[id as usize];
        if !queue.fifo_checked {
            queue.fifo_checked = true;
            let oldest = queue.fifo.first_key_value().map(|(_, tag)| *tag);
            let late =
                oldest.filter(|tag| *tag != request.tag && self.slot(*tag).expires <= self.now);
            if late.is_some() {
                return late;
            }
        }
        let sorted = &self.queues[id as usize].sorted;
        let lowest = || sorted.first().filter(|(_, first)| *first != request.tag);
        let around =
            [sorted.after(by_sector(request)).or_else(lowest), sorted.before(by_sector(request))];
        self.better(around.map(|found| found.map(|(_, tag)| tag)), request.sector)
    }

    /// bfq_remove_request.
    pub(super) fn take_out(&mut self, tag: u32) {
        let Slot { request, queue: id, fifo, .. } = *self.slot(tag);
        let was_next = self.queue(id).next == Some(tag);
        if was_next {
            self.queue_mut(id).next = self.next_after(id, &request);
        }
        self.last_merge = self.last_merge.filter(|last| *last != tag);
        let in_service = self.in_service == Some(id);
        let queue = self.queue_mut(id);
        queue.sorted.remove(by_sector(&request));
        queue.fifo.remove(&fifo).expect("the request is in the FIFO");
        if queue.sorted.is_empty() {
            queue.next = None;
            if queue.busy && !in_service {
                self.retire(id, false);
                let entity = self.tree.get_mut(id);
                (entity.budget, entity.service) = (0, 0);
            }
            self.drop_position(id);
        } else {
            if was_next {
                self.fit_budget(id);
            }
            self.update_position(id);
        }
    }

    /// bfq_select_queue; None: idling.
    pub(super) fn select_queue(&mut self, now: Time) -> Option<u32> {
        if let Some(id) = self.in_service
            && self.may_expire_for_timeout(id)
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
                Some(charge) if charge > self.tree.get(id).left() => {
                    self.expire(now, false, Expiry::Exhausted)
                }
                Some(_) => {
                    self.timer = None;
                    return Some(id);
                }
                None if self.timer.is_some()
                    || (self.queue(id).dispatched > 0 && self.better_to_idle(id)) =>
                {
                    return if self.variant.is_linux() { self.stand_in(id) } else { None };
                }
                None => self.expire(now, false, Expiry::NoMoreRequests),
            }
        }
    }

    /// bfq_set_in_service_queue.
    fn put_in_service(&mut self, now: Time) -> Option<u32> {
        if self.busy == [0; 3] {
            return None;
        }
        let id = self.tree.serve_next()?;
        self.in_service = Some(id);
        self.served_position = 0;
        self.start_budget(now, id);
        Some(id)
    }

    /// bfq_dispatch_rq_from_bfqq.
    pub(super) fn serve(&mut self, now: Time, id: u32) -> u32 {
        let tag = self.queue(id).next.expect("a queue that is served has a request");
        let request = self.slot(tag).request;
        let charge = self.charge_for(id, &request);
        self.charge(id, charge);
        let in_service = self.in_service == Some(id);
        if in_service && std::mem::take(&mut self.injection.awaits_dispatch) {
            self.injection.measured = Some(tag);
        }
        // First, as in the kernel: a request in flight keeps a queue that becomes empty counted.
        self.queue_mut(id).dispatched += 1;
        if self.rate.dispatched(now, &request, self.in_driver) {
            self.resize_budget();
        }
        if in_service {
            self.served_position = request.end();
        }
        self.take_out(tag);
        self.send(tag);
        if in_service {
            self.end_raising_if_due(id);
            if self.tree.get(id).class == 2 && self.busy.iter().sum::<u32>() > 1 {
                self.expire(now, false, Expiry::Exhausted);
            }
        }
        tag
    }

    pub(super) fn send(&mut self, tag: u32) {
        self.slot_mut(tag).place = State::InFlight;
        self.in_driver += 1;
        self.held -= 1;
    }

    /// bfq_bfqq_served.
    pub(super) fn charge(&mut self, id: u32, sectors: u64) {
        let (jiffies, raised) = (self.jiffies, self.tree.get(id).coefficient > 1);
        let queue = self.queue_mut(id);
        if queue.raising.service_since_idle == 0 {
            queue.merging.first_io = jiffies;
        }
        if raised {
            queue.raising.service += sectors;
        }
        queue.raising.service_since_idle += sectors;
        self.tree.charge(id, sectors);
    }

    /// bfq_add_bfqq_busy.
    pub(super) fn activate(&mut self, id: u32) {
        let recover = std::mem::take(&mut self.queue_mut(id).may_continue);
        self.tree.activate(id, recover);
        self.queue_mut(id).busy = true;
        let entity = *self.tree.get(id);
        self.busy[entity.class] += 1;
        if self.queue(id).dispatched == 0 {
            self.tree.add_pending(id);
            if entity.coefficient == 1 {
                self.tree.count_weight(id);
            }
        }
        self.raised_busy += u32::from(entity.coefficient > 1);
        self.refresh_woken(id);
    }

    /// bfq_requeue_bfqq. May change its class.
    pub(super) fn requeue(&mut self, id: u32, served: bool) {
        let class = self.tree.get(id).class;
        self.tree.requeue(id, served, served);
        let new = self.tree.get(id).class;
        self.busy[class] -= 1;
        self.busy[new] += 1;
    }

    /// bfq_del_bfqq_busy. `expires`: its turn is over.
    pub(super) fn retire(&mut self, id: u32, expires: bool) {
        let entity = *self.tree.get(id);
        let queue = &mut self.queues[id as usize];
        queue.busy = false;
        let drained = queue.dispatched == 0;
        self.busy[entity.class] -= 1;
        self.raised_busy -= u32::from(entity.coefficient > 1);
        self.tree.retire(id, expires);
        if drained {
            self.tree.remove_pending(id);
            self.tree.uncount_weight(id);
        }
    }
}
