//! Arrivals, completions and the waits between them.

use super::lists::{Position, Rank};
use super::{Cfq, Now, Stage, is_sync};
use crate::request::{BlockRequest, PrioClass};

const SEEKY_IDLE_MS: u64 = 2;
/// In fractions of a second: 100 ms.
const IDLE_GRACE: u64 = 10;

impl Cfq {
    /// blk_run_queue, if there is a reason.
    pub(super) fn run(&self, there_is: bool) {
        self.runs.set(self.runs.get() | there_is);
    }

    /// cfq_rq_enqueued.
    pub(super) fn enqueued(&mut self, now: Now, queue: u32, process: u32, request: &BlockRequest) {
        let next = self.choose(self.queues[queue as usize].next, Some(request.tag));
        self.queue(queue).next = next;
        if !is_sync(request) {
            // The anticipated process did something else, so it will not read next.
            if self.active_process == Some(process) && self.idle_timer.take().is_some() {
                self.expire(now, false);
                self.runs.set(true);
            }
            return;
        }
        let longest = 2 * self.tunables.slice_idle;
        self.processes[process as usize].record_request(
            now.jiffies,
            request.sector,
            request.end(),
            longest,
        );
        self.update_idle_window(queue, process);
        if self.active == Some(queue) {
            if self.queue(queue).wait_request {
                self.queue(queue).must_dispatch = true;
                self.idle_timer = None;
                self.runs.set(true);
                self.end_wait(now, true);
            }
        } else if self.preempts(queue, request) {
            self.preempt(now, queue);
            self.runs.set(true);
        }
    }

    /// cfq_update_idle_window.
    fn update_idle_window(&mut self, queue: u32, process: u32) {
        let (slice_idle, device_queues) = (self.tunables.slice_idle, self.device_queues);
        let record = &self.processes[process as usize];
        let window = if !record.alive || slice_idle == 0 || (device_queues && record.is_far()) {
            Some(false)
        } else {
            record.think_time().map(|mean| mean <= slice_idle)
        };
        let this = self.queue(queue);
        this.idle_window = window.unwrap_or(this.idle_window);
    }

    /// cfq_should_preempt.
    fn preempts(&self, queue: u32, request: &BlockRequest) -> bool {
        let Some(active) = self.active else { return false };
        let (new, active) = (&self.queues[queue as usize], &self.queues[active as usize]);
        if new.priority.class == PrioClass::Idle {
            return false;
        }
        if active.priority.class == PrioClass::Idle {
            return true;
        }
        if (self.tunables.preempt_slip && !new.wait_request)
            || new.slice_left < self.tunables.slice_idle
        {
            return false;
        }
        (is_sync(request) && active.number.is_none()) || (request.meta && active.meta_pending == 0)
    }

    /// cfq_preempt_queue.
    fn preempt(&mut self, now: Now, queue: u32) {
        self.expire(now, true);
        let half = self.slice(queue) / 2;
        let this = self.queue(queue);
        if this.slice_left == 0 {
            this.slice_left = half;
        }
        this.slice_end = this.slice_left + now.jiffies;
        this.must_dispatch = true;
        self.lists.remove(queue);
        self.lists.put(queue, Position::Current, Rank::NewFirst, |_| false);
    }

    /// cfq_completed_request.
    pub(super) fn completed(&mut self, now: Now, request: &BlockRequest) {
        let slot = self.slot(request.tag);
        assert_eq!(slot.stage, Stage::Driver, "what completes was dispatched: {request:?}");
        slot.stage = Stage::Nowhere;
        let (queue, process) = (slot.queue, slot.process);
        let sync = is_sync(request);
        self.in_driver -= 1;
        let this = self.queue(queue);
        this.in_flight -= 1;
        let (all_back, idle_class) = (this.in_flight == 0, this.priority.class == PrioClass::Idle);
        let (past_slice, empty) = (this.is_past_its_slice(now), this.sorted.is_empty());
        if !idle_class {
            self.last_end = Some(now.jiffies);
        }
        if all_back && self.lists.contains(queue) {
            self.refile(queue, false);
        }
        if sync {
            self.processes[process as usize].last_end = now.jiffies;
        }
        if self.active == Some(queue) {
            if past_slice {
                self.expire(now, false);
            } else if sync && empty && self.can_wait(queue) {
                self.wait(now, queue);
            }
        }
        self.release(now, queue, process);
    }

    fn can_wait(&self, queue: u32) -> bool {
        let process = self.active_process.map(|process| &self.processes[process as usize]);
        self.tunables.slice_idle > 0
            && self.queues[queue as usize].idle_window
            && process.is_some_and(|process| process.alive)
    }

    pub(super) fn keep_waiting(&mut self, now: Now, queue: u32) -> bool {
        if !self.can_wait(queue) {
            return false;
        }
        self.wait(now, queue);
        true
    }

    /// cfq_arm_slice_timer.
    fn wait(&mut self, now: Now, queue: u32) {
        let process = self.active_process.map(|process| &self.processes[process as usize]);
        let seeky = process.is_some_and(|process| process.is_seeky());
        let shortened = if seeky { self.clock.from_ms(SEEKY_IDLE_MS) } else { u64::MAX };
        self.idle_timer = Some(now.jiffies + self.tunables.slice_idle.min(shortened));
        let this = self.queue(queue);
        (this.must_dispatch, this.wait_request) = (true, true);
        if self.waiting_since.is_none() {
            self.waiting_since = Some(now.time);
            self.anticipation.started += 1;
        }
    }

    pub(super) fn end_wait(&mut self, now: Now, success: bool) {
        let Some(since) = self.waiting_since.take() else { return };
        let counters = &mut self.anticipation;
        if success {
            counters.successes += 1;
            counters.success_wait_ns += now.time - since;
        } else {
            counters.failures += 1;
            counters.failure_wait_ns += now.time - since;
        }
    }

    /// cfq_idle_slice_timer.
    pub(super) fn idle_timer_fired(&mut self, now: Now) {
        self.idle_timer = None;
        if let Some(active) = self.active {
            let no_queue_waits = self.lists.is_empty();
            let this = self.queue(active);
            if !this.is_past_its_slice(now) {
                if no_queue_waits {
                    // The slice continues, but the disk was idle without benefit: the wait failed.
                    self.end_wait(now, false);
                    return;
                }
                if !this.sorted.is_empty() {
                    this.must_dispatch = true;
                    self.runs.set(true);
                    return;
                }
            }
        }
        self.expire(now, false);
        self.run(!self.lists.is_empty());
    }

    /// A jiffy; None: at once.
    pub(super) fn idle_class_from(&self) -> Option<u64> {
        self.last_end.map(|end| end + self.clock.hz() / IDLE_GRACE)
    }

    /// cfq_idle_class_timer.
    pub(super) fn class_timer_fired(&mut self, now: Now) {
        self.class_timer = self.idle_class_from().filter(|end| now.jiffies < *end);
        self.run(self.class_timer.is_none() && !self.lists.is_empty());
    }
}
