//! The queue in service: its choice, dispatches, and the end of its slice.

use super::lists::{Position, Rank};
use super::{Cfq, Now, Slot, Stage, is_sync};
use crate::choose::BackSeek;
use crate::request::{BlockRequest, PrioClass};

/// CFQ_SLICE_SCALE.
const SLICE_SCALE: u64 = 5;

impl Cfq {
    /// cfq_add_rq_rb. A request with the same start moves to the dispatch list.
    pub(super) fn add_sorted(&mut self, queue: u32, request: &BlockRequest) {
        if let Some(alias) = self.queue(queue).sorted.tag_at(request.sector) {
            self.send(queue, alias);
        }
        self.queue(queue).sorted.insert(request.sector, request.tag);
        if !self.lists.contains(queue) {
            self.file(queue, false);
        }
    }

    /// cfq_remove_request.
    pub(super) fn remove_sorted(&mut self, queue: u32, request: &BlockRequest) {
        if self.queue(queue).next == Some(request.tag) {
            self.queue(queue).next = self.next_after(queue, request);
        }
        let held = self.slot(request.tag).request.take().expect("a sorted request is in its slot");
        let this = &mut self.queues[queue as usize];
        self.links.remove(&mut this.fifo, request.tag);
        this.sorted.remove(request.sector);
        this.meta_pending -= u32::from(held.meta);
        if this.sorted.is_empty() && self.lists.contains(queue) {
            self.lists.remove(queue);
        }
    }

    pub(super) fn insert_at_head(&mut self, now: Now, request: &BlockRequest) {
        if self.slot(request.tag).stage == Stage::Driver {
            self.in_driver -= 1;
        } else {
            let (queue, process) = self.admit(now, request);
            self.queue(queue).in_flight += 1;
            *self.slot(request.tag) = Slot { queue, process, ..Slot::EMPTY };
        }
        self.slot(request.tag).stage = Stage::Listed;
        self.list.add_head(request.into());
    }

    /// cfq_dispatch_insert.
    fn send(&mut self, queue: u32, tag: u32) -> BlockRequest {
        let request = *self.sorted_request(tag);
        self.remove_sorted(queue, &request);
        self.queue(queue).in_flight += 1;
        self.slot(tag).stage = Stage::Listed;
        self.list.add_sorted((&request).into());
        self.last_sector = self.list.last_end().expect("a request was just added");
        request
    }

    fn sorted_request(&self, tag: u32) -> &BlockRequest {
        self.slots[tag as usize].request.as_ref().expect("a sorted request is in its slot")
    }

    /// cfq_choose_req.
    pub(super) fn choose(&self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        let [one, two] = [one, two].map(|tag| self.sorted_request(tag));
        let rank = |request: &BlockRequest| (is_sync(request), request.meta);
        if rank(one) != rank(two) {
            return if rank(one) > rank(two) { a } else { b };
        }
        let values = &self.tunables;
        let arm = BackSeek {
            max_sectors: 2 * values.back_seek_max_kib,
            penalty: values.back_seek_penalty,
        };
        if arm.prefers(one.sector, two.sector, self.last_sector) { a } else { b }
    }

    /// cfq_find_next_rq. As in the source, distances count from the actuator's position before
    /// `request`.
    fn next_after(&self, queue: u32, request: &BlockRequest) -> Option<u32> {
        let sorted = &self.queues[queue as usize].sorted;
        let wrapped = || sorted.first().filter(|first| *first != request.tag);
        let up = sorted.above(request.sector).or_else(wrapped);
        self.choose(up, sorted.below(request.sector))
    }
}

impl Cfq {
    /// cfq_resort_rr_list.
    pub(super) fn refile(&mut self, queue: u32, preempted: bool) {
        self.lists.remove(queue);
        self.file(queue, preempted);
    }

    fn file(&mut self, queue: u32, preempted: bool) {
        let this = &self.queues[queue as usize];
        let place = match this.priority.class {
            PrioClass::RealTime => Position::Current,
            PrioClass::Idle => Position::Idle,
            // Its requests must complete first: a queue with many outstanding must not precede one
            // without.
            PrioClass::BestEffort if this.in_flight > 0 => Position::Busy,
            PrioClass::BestEffort => Position::Level(this.priority.level),
        };
        let rank = match (preempted || this.is_new, self.tunables.new_queue_slip) {
            (false, _) => Rank::Last,
            (true, true) => Rank::NewAsInSource,
            (true, false) => Rank::NewFirst,
        };
        let queues = &self.queues;
        self.lists.put(queue, place, rank, |other| queues[other as usize].is_new);
    }

    /// cfq_dispatch_requests.
    pub(super) fn dispatch_round(&mut self, now: Now) {
        if self.lists.is_empty() {
            return;
        }
        let mut before = None;
        while let Some(queue) = self.select(now) {
            if before == Some(queue) {
                break;
            }
            self.idle_timer = None;
            let this = self.queue(queue);
            (this.must_dispatch, this.wait_request) = (false, false);
            self.serve(now, queue);
            if self.queue(queue).idle_window && self.active.is_some() {
                break;
            }
            before = Some(queue);
        }
    }

    /// cfq_select_queue.
    fn select(&mut self, now: Now) -> Option<u32> {
        if let Some(active) = self.active {
            let this = self.queue(active);
            let over = !this.must_dispatch && this.is_past_its_slice(now);
            if !over {
                if !this.sorted.is_empty() {
                    return Some(active);
                }
                if this.in_flight > 0 || (this.number.is_some() && self.keep_waiting(now, active)) {
                    return None;
                }
            }
            self.expire(now, false);
        }
        self.pick(now)
    }

    /// cfq_set_active_queue.
    fn pick(&mut self, now: Now) -> Option<u32> {
        let queue = self.lists.next().or_else(|| {
            let idle = self.lists.next_idle()?;
            if let Some(end) = self.idle_class_from().filter(|end| now.jiffies < *end) {
                self.class_timer = Some(end);
                return None;
            }
            Some(idle)
        })?;
        self.class_timer = None;
        let this = self.queue(queue);
        (this.slice_end, this.slice_left, this.fifo_checked) = (0, 0, false);
        self.active = Some(queue);
        Some(queue)
    }

    /// __cfq_dispatch_requests.
    fn serve(&mut self, now: Now, queue: u32) {
        let only_once = self.queue(queue).priority.class == PrioClass::Idle;
        let round = if only_once { 1 } else { self.tunables.quantum };
        for _ in 0..round {
            // Without a next one (see the departures), the lowest.
            let tag = self.expired_request(now, queue).or_else(|| {
                let this = &self.queues[queue as usize];
                this.next.or_else(|| this.sorted.first())
            });
            let request = self.send(queue, tag.expect("a queue in a list holds a request"));
            self.sent += 1;
            let process = self.slot(request.tag).process;
            self.active_process.get_or_insert(process);
            if self.queue(queue).sorted.is_empty() {
                break;
            }
        }
        let (slice, most) = (self.slice(queue), self.most_async(queue));
        let sent = self.sent;
        let this = self.queue(queue);
        if this.slice_end == 0 {
            this.slice_end = now.jiffies + slice;
        }
        let used_up = this.number.is_none() && sent >= most;
        if used_up || only_once || !this.idle_window {
            self.expire(now, false);
        }
    }

    /// cfq_check_fifo.
    fn expired_request(&mut self, now: Now, queue: u32) -> Option<u32> {
        let this = &self.queues[queue as usize];
        if this.fifo_checked {
            return None;
        }
        let oldest = this.fifo.oldest()?;
        let values = &self.tunables;
        let expire =
            if this.number.is_some() { values.fifo_expire_sync } else { values.fifo_expire_async };
        if now.jiffies <= self.slots[oldest as usize].start + expire {
            return None;
        }
        self.queue(queue).fifo_checked = true;
        Some(oldest)
    }

    /// cfq_prio_to_slice.
    pub(super) fn slice(&self, queue: u32) -> u64 {
        let this = &self.queues[queue as usize];
        let base = if this.number.is_some() {
            self.tunables.slice_sync
        } else {
            self.tunables.slice_async
        };
        let (step, level) = (base / SLICE_SCALE, u64::from(this.priority.level));
        base + 4 * step - level * step
    }

    /// cfq_prio_to_maxrq.
    fn most_async(&self, queue: u32) -> u64 {
        let base = self.tunables.slice_async_rq;
        2 * (base + base * (7 - u64::from(self.queues[queue as usize].priority.level)))
    }

    /// __cfq_slice_expired.
    pub(super) fn expire(&mut self, now: Now, preempted: bool) {
        let Some(active) = self.active.take() else { return };
        self.end_wait(now, false);
        let this = self.queue(active);
        let (waited, all_back) = (this.wait_request, this.in_flight == 0);
        (this.must_dispatch, this.wait_request, this.is_new) = (false, false, false);
        this.slice_left = this.slice_end.saturating_sub(now.jiffies);
        if waited {
            self.idle_timer = None;
        }
        self.run(!preempted && all_back && !self.lists.is_empty());
        if self.lists.contains(active) {
            self.refile(active, preempted);
        }
        self.active_process = None;
        self.sent = 0;
    }
}
