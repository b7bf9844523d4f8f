//! Paying for requests: by virtual time, by waiting, or by debt.
//!
//! Source: Linux 6.1 block/blk-iocost.c; confirmed.

use super::donation::ONE;
use super::{Charge, Group, IoCost};
use crate::vocabulary::Time;

/// Percent of a period's virtual time.
const MARGIN_LOW: i64 = 20;
const MARGIN_TARGET: i64 = 50;
/// Per period, a lent share returns by this part of the weight.
const STEP_PERCENT: u64 = 25;

impl IoCost {
    pub(super) fn margin(&self, percent: i64) -> i64 {
        (u128::from(self.period_ns) * u128::from(self.rate.units) / 1000) as i64 / 100 * percent
    }

    /// The first active group starts the periods.
    pub(super) fn activate(&mut self, now: Time, flow: usize, weight: u64) {
        if self.period_end.is_none() {
            self.clock.restart(now, self.rate.units);
            self.period_end = Some(now + self.period_ns);
        }
        let (vtime, margin) =
            (self.clock.now(now) - self.margin(MARGIN_TARGET), self.margin(MARGIN_TARGET));
        let group = &mut self.groups[flow];
        *group = Group { weight, in_use: weight, active: true, vtime, margin, ..group.clone() };
        self.weights += weight;
        self.in_use += weight;
    }

    pub(super) fn share(&self, flow: usize) -> u64 {
        (self.groups[flow].in_use * ONE / self.in_use.max(1)).max(1)
    }

    /// Converts device time to the group's virtual time.
    pub(super) fn own_time(&self, flow: usize, cost: u64) -> i64 {
        let own = (u128::from(cost) * u128::from(ONE)).div_ceil(u128::from(self.share(flow)));
        i64::try_from(own).expect("a request takes less than a year of a flow's time")
    }

    pub(super) fn set_in_use(&mut self, flow: usize, in_use: u64) {
        self.in_use = self.in_use - self.groups[flow].in_use + in_use;
        self.groups[flow].in_use = in_use;
    }

    /// A group that runs short recovers its lent share.
    pub(super) fn pay(&mut self, now: Time, flow: usize, cost: u64) -> bool {
        let virtual_now = self.clock.now(now);
        let low = self.margin(MARGIN_LOW);
        let mut own = self.own_time(flow, cost);
        let Group { weight, in_use, vtime, margin, .. } = self.groups[flow];
        let left = virtual_now - vtime - own;
        if in_use < weight && left < margin && left < low {
            while self.groups[flow].in_use < weight {
                let more = self.groups[flow].in_use + (weight * STEP_PERCENT).div_ceil(100);
                self.set_in_use(flow, more.min(weight));
                own = self.own_time(flow, cost);
                if vtime + own <= virtual_now {
                    break;
                }
            }
        }
        if vtime + own > virtual_now {
            return false;
        }
        self.groups[flow].vtime += own;
        true
    }

    /// Charges as debt; until it is paid, the whole share is lent.
    pub(super) fn borrow(&mut self, flow: usize, cost: u64) {
        self.groups[flow].debt += cost;
        self.set_in_use(flow, 1);
    }

    pub(super) fn issue(&mut self, now: Time, flow: usize, tag: u32) {
        let cost = self.charges[tag as usize].cost;
        let own = if self.groups[flow].debt > 0 { 0 } else { self.own_time(flow, cost) };
        self.charges[tag as usize] = Charge { cost, own, issued: Some(now) };
        let group = &mut self.groups[flow];
        group.used += cost;
        group.flying += cost;
        group.unfinished += own;
        self.issued.push_back(tag);
    }

    /// Charges growth, at once if already issued, regardless of budget.
    pub(super) fn add(&mut self, flow: usize, tag: u32, cost: u64) {
        let charge = &mut self.charges[tag as usize];
        charge.cost += cost;
        if charge.issued.is_some() {
            let own = self.own_time(flow, cost);
            self.charges[tag as usize].own += own;
            let group = &mut self.groups[flow];
            group.vtime += own;
            group.unfinished += own;
            group.used += cost;
            group.flying += cost;
        }
    }

    /// Pays debt, issues as far as virtual time allows, and sets the timer.
    pub(super) fn kick(&mut self, now: Time, flow: usize) {
        self.kicks.remove(flow as u32);
        let virtual_now = self.clock.now(now);
        self.repay(virtual_now, flow);
        while self.groups[flow].debt == 0
            && let Some(tag) = self.groups[flow].waiting.oldest()
        {
            if !self.pay(now, flow, self.charges[tag as usize].cost) {
                break;
            }
            self.links.remove(&mut self.groups[flow].waiting, tag);
            self.issue(now, flow, tag);
        }
        if let Some(tag) = self.groups[flow].waiting.oldest() {
            let cost = self.groups[flow].debt + self.charges[tag as usize].cost;
            let missing =
                (self.groups[flow].vtime + self.own_time(flow, cost) - virtual_now).max(1) as u128;
            let ns = (missing * 1000)
                .div_ceil(u128::from(self.clock.rate))
                .min(u128::from(self.period_ns)) as u64;
            self.kicks.set(flow as u32, now.as_ns() + ns.max(1));
        }
    }

    fn repay(&mut self, virtual_now: i64, flow: usize) {
        let Group { debt, vtime, weight, .. } = self.groups[flow];
        let budget = (virtual_now - vtime).max(0) as u128;
        if debt == 0 || budget == 0 {
            return;
        }
        let cost = (budget * u128::from(self.share(flow)) / u128::from(ONE)) as u64;
        let paid = cost.min(debt);
        self.groups[flow].vtime += self.own_time(flow, paid);
        self.groups[flow].debt -= paid;
        if self.groups[flow].debt == 0 {
            self.set_in_use(flow, weight);
        }
    }
}
