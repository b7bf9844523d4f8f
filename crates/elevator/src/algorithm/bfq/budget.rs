//! Budgets: the charge of a request, the end of a turn, and the next budget.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed. A queue that is slow, or that uses up
//! its time long before its sectors, is charged by time, as if it had transferred at the device's
//! rate. Otherwise scattered I/O would occupy the device most of the time.

use super::rate::MIN_IDLE_NS;
use super::settings::{DEFAULT_SLICE_IDLE_NS, Settings};
use super::{Bfq, MS};
use crate::request::BlockRequest;
use crate::vocabulary::Time;

pub(super) const DEFAULT_MAX_BUDGET: u64 = 16 * 1024;
/// `budgets_given` exceeds this at the eleventh budget.
const MIN_BUDGETS: u64 = 194;
/// Per sector: writes are slow and block reads.
const ASYNC_CHARGE: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// Idling timed out.
    TooIdle,
    Timeout,
    /// The remaining budget is smaller than its next request.
    Exhausted,
    /// It has no requests, and idling does not pay.
    NoMoreRequests,
    Preempted,
    Exited,
}

impl Bfq {
    /// bfq_serv_to_charge.
    pub(super) fn charge_for(&self, id: u32, request: &BlockRequest) -> u64 {
        let (queue, sectors) = (self.queue(id), u64::from(request.nr_sectors));
        if queue.sync || self.tree.get(id).coefficient > 1 || self.is_asymmetric(Some(id)) {
            sectors
        } else {
            sectors * ASYNC_CHARGE
        }
    }

    pub(super) fn next_charge(&self, id: u32) -> Option<u64> {
        let tag = self.queue(id).next?;
        Some(self.charge_for(id, &self.slot(tag).request))
    }

    /// bfq_max_budget: a default until enough budgets were assigned.
    pub(super) fn device_budget(&self) -> u64 {
        if let Some(set) = self.core_budget() {
            return set;
        }
        if self.budgets_given < MIN_BUDGETS { DEFAULT_MAX_BUDGET } else { self.max_budget }
    }

    /// bfq_min_budget.
    fn min_budget(&self) -> u64 {
        self.device_budget() / 32
    }

    pub(super) fn raised_budget(&self) -> u64 {
        2 * self.min_budget()
    }

    /// bfq_calc_max_budget.
    pub(super) fn resize_budget(&mut self) {
        if self.settings.max_budget == 0 {
            self.max_budget = self.rate.sectors_in_ms(self.clock.to_ms(self.timeout_ticks()));
        }
    }

    pub(super) fn set_max_budget(&mut self, sectors: u64) {
        self.settings.max_budget = sectors;
        self.max_budget = sectors;
        self.resize_budget();
    }

    /// __bfq_set_in_service_queue and bfq_set_budget_timeout.
    pub(super) fn start_budget(&mut self, now: Time, id: u32) {
        self.budgets_given = (self.budgets_given * 7 + 256) / 8;
        self.exclude_waiting(id);
        self.budget_start = now;
        let entity = self.tree.get(id);
        // A raised queue gets 30 times as long.
        let factor = if self.is_soft(id) { 1 } else { entity.weight / entity.base };
        let timeout =
            self.jiffies.saturating_add_unsigned(self.timeout_ticks().saturating_mul(factor));
        let queue = self.queue_mut(id);
        queue.fifo_checked = false;
        queue.budget_timeout = timeout;
    }

    fn timeout_ticks(&self) -> u64 {
        self.clock.from_ms(self.settings.timeout_sync_ms)
    }

    /// bfq_bfqq_budget_timeout.
    pub(super) fn is_timed_out(&self, id: u32) -> bool {
        self.variant.times_out() && self.queue(id).budget_timeout <= self.jiffies
    }

    /// bfq_may_expire_for_budg_timeout: while idling, only a slow queue (a third of its budget
    /// left) expires.
    pub(super) fn may_expire_for_timeout(&self, id: u32) -> bool {
        let entity = self.tree.get(id);
        (self.timer.is_none() || entity.left() >= entity.budget / 3) && self.is_timed_out(id)
    }

    /// bfq_bfqq_update_budg_for_activation. Returns whether the queue continues with its old
    /// budget.
    pub(super) fn budget_for_activation(&mut self, id: u32, in_time: bool) -> bool {
        let charge = self.next_charge(id).expect("the queue has got a request");
        let queue = &mut self.queues[id as usize];
        let entity = self.tree.get_mut(id);
        let left = entity.left();
        let goes_on = queue.may_continue && in_time && left > 0;
        queue.may_continue = goes_on;
        entity.service = 0;
        entity.budget =
            if goes_on { left.min(queue.max_budget) } else { queue.max_budget.max(charge) };
        goes_on
    }

    /// bfq_bfqq_expire. `idled`: the idle time at the end does not count as service.
    pub(super) fn expire(&mut self, now: Time, idled: bool, why: Expiry) {
        let id = self.in_service.expect("a queue is in service");
        self.timer = None;
        let jiffies = self.jiffies;
        if why != Expiry::Exited {
            if self.variant.is_linux() {
                self.charge_time(now, id, idled, why);
            } else {
                self.charge_core(id, why);
            }
            if self.settings.low_latency {
                self.note_end_of_turn(id);
            }
            (self.injection.injected, self.injection.awaits_dispatch) = (false, false);
            self.injection.measured = None;
            self.feed_back(id, why);
        }
        let queue = &mut self.queues[id as usize];
        queue.merging.to_split |= queue.merging.shared && queue.is_seeky();
        // Preempted while idling for guarantees: it retains its place among the queues with
        // requests.
        let keeps_place = why == Expiry::Preempted && self.idling_keeps_guarantees(id);
        if self.queue(id).sorted.is_empty() && !keeps_place {
            let queue = self.queue_mut(id);
            if queue.dispatched == 0 {
                queue.budget_timeout = jiffies;
            }
            self.retire(id, true);
        } else {
            self.requeue(id, true);
            if !self.queue(id).sorted.is_empty() {
                self.update_position(id);
            }
        }
        self.in_service = None;
        self.tree.end_service(id);
        if why != Expiry::Exited || !self.variant.is_linux() {
            let queue = &mut self.queues[id as usize];
            if !queue.busy && !matches!(why, Expiry::Timeout | Expiry::Exhausted) {
                // Keeps the service received: if the next request arrives soon, the queue
                // continues.
                queue.may_continue = true;
            } else {
                self.tree.get_mut(id).service = 0;
            }
            self.tree.reset_group_service(id);
        }
        self.release_forgotten();
    }

    /// bfq_bfqq_expire's low_latency timestamps.
    fn note_end_of_turn(&mut self, id: u32) {
        let (jiffies, raised) = (self.jiffies, self.tree.get(id).coefficient > 1);
        let queue = self.queue_mut(id);
        if !raised {
            queue.raising.mark = jiffies;
        }
        if queue.sorted.is_empty() {
            if queue.dispatched == 0 {
                self.set_next_soft_start(id);
            } else {
                queue.raising.updates_soft_start = true;
            }
        }
    }

    /// bfq_bfqq_charge_time.
    fn charge_time(&mut self, now: Time, id: u32, idled: bool, why: Expiry) {
        let until = if idled { self.idling_start.max(self.budget_start) } else { now };
        let served_ns = until - self.budget_start;
        let entity = self.tree.get(id);
        let (slow, ms) = self.is_slow(id, served_ns);
        let wasteful = why == Expiry::Timeout && entity.left() >= entity.budget / 3;
        if entity.coefficient > 1 || !(slow || wasteful) {
            return;
        }
        let timeout_ms = Settings::default_timeout_ms(self.clock);
        let by_time = (u128::from(self.max_budget) * u128::from(ms.min(timeout_ms))
            / u128::from(timeout_ms)) as u64;
        let entity = self.tree.get_mut(id);
        let total = by_time.max(entity.service);
        entity.budget = entity.budget.max(total);
        let more = total - entity.service;
        self.charge(id, more);
    }

    /// bfq_bfqq_is_slow, with the milliseconds to charge.
    fn is_slow(&self, id: u32, served_ns: u64) -> (bool, u64) {
        let queue = self.queue(id);
        if !queue.sync {
            (false, 0)
        } else if served_ns < MS {
            let ms = if self.rotational { DEFAULT_SLICE_IDLE_NS } else { MIN_IDLE_NS } / MS;
            (queue.is_seeky(), ms)
        } else if served_ns / 1000 <= 20_000 {
            (queue.is_seeky(), served_ns / MS)
        } else {
            (self.tree.get(id).service < self.max_budget / 2, served_ns / MS)
        }
    }

    /// __bfq_bfqq_recalc_budget.
    pub(super) fn feed_back(&mut self, id: u32, why: Expiry) {
        let (least, most) = (self.min_budget(), self.max_budget);
        let fixed = !self.variant.feeds_back();
        let automatic = self.budgets_given >= MIN_BUDGETS && self.settings.max_budget == 0;
        let raised = self.tree.get(id).coefficient > 1;
        let service = self.tree.get(id).service;
        let queue = self.queue_mut(id);
        let old = queue.max_budget;
        let mut budget = if fixed || !queue.sync {
            most
        } else if raised {
            2 * least
        } else {
            match why {
                Expiry::TooIdle if queue.dispatched > 0 => (old * 2).min(most),
                Expiry::TooIdle if old > 5 * least => old - 4 * least,
                Expiry::TooIdle => least,
                Expiry::Timeout => (old * 2).min(most),
                Expiry::Exhausted => (old * 4).min(most),
                Expiry::NoMoreRequests => service.max(least),
                Expiry::Preempted | Expiry::Exited => return,
            }
        };
        if automatic {
            budget = budget.min(most);
        }
        queue.max_budget = budget;
        if let Some(charge) = self.next_charge(id) {
            self.tree.get_mut(id).budget = budget.max(charge);
        }
    }
}
