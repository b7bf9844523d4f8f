//! The end of a period: idle groups, donations, and the rate of virtual time.
//!
//! Source: Linux 6.1 and 7.3 block/blk-iocost.c; confirmed.

use super::donation::{Member, ONE, in_use, share_after_donation};
use super::{Group, IoCost};
use crate::vocabulary::Time;

/// Percent of a period's virtual time.
const MARGIN_MIN: i64 = 10;
const MARGIN_LOW: i64 = 20;
const MARGIN_TARGET: i64 = 50;
/// Debts are halved once per this time while the device is at most half used.
const FORGIVING_NS: u64 = 100_000_000;

impl IoCost {
    pub(super) fn period(&mut self, now: Time) {
        let elapsed = (now - self.clock.since).max(1);
        let start = self.clock.base;
        self.clock.restart(now, self.clock.rate);
        let virtual_now = self.clock.now(now);
        self.retire();
        self.seen.lagging = self.settings.percentiles != [0; 2]
            && self.groups.iter().any(|group| group.lags(virtual_now, virtual_now - start));
        self.forgive(now, elapsed);
        self.plan(virtual_now, elapsed);
        self.seen.shortage =
            self.groups.iter().any(|group| group.active && (group.waits() || group.debt > 0));
        let seen = std::mem::take(&mut self.seen);
        self.rate.period(&seen, elapsed, self.settings.percentiles);
        if self.settings.follow(&self.rate, elapsed) {
            self.costs = self.settings.costs();
            self.period_ns = self.settings.period_ns();
        }
        // Virtual time lost by donors is distributed in the next period.
        let given =
            (std::mem::take(&mut self.lost) / (self.period_ns / 1000).max(1)).min(self.rate.units);
        self.clock.restart(now, self.rate.units + given);
        self.period_end =
            self.groups.iter().any(|group| group.active).then(|| now + self.period_ns);
        for flow in 0..self.groups.len() {
            self.groups[flow].used = 0;
            if self.groups[flow].waits() || self.groups[flow].debt > 0 {
                self.kick(now, flow);
            }
        }
    }

    fn retire(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.active) {
            if group.used == 0 && group.flying == 0 && !group.waits() {
                group.active = false;
                group.debt = 0;
                self.weights -= group.weight;
                self.in_use -= group.in_use;
            }
        }
    }

    /// A fraction of the period.
    fn usage(&self, group: &Group, elapsed: u64) -> u64 {
        let period = u128::from(elapsed) * u128::from(self.rate.units) / 1000;
        (u128::from(group.used.max(group.flying)) * u128::from(ONE)).div_ceil(period.max(1)) as u64
    }

    fn forgive(&mut self, now: Time, elapsed: u64) {
        let active = self.groups.iter().filter(|group| group.active);
        self.usage +=
            active.map(|group| self.usage(group, elapsed)).sum::<u64>().min(ONE) * elapsed;
        let since = now - self.usage_since;
        if since < FORGIVING_NS {
            return;
        }
        if self.usage / since <= ONE / 2 {
            let halvings = (since / FORGIVING_NS).min(63);
            self.groups.iter_mut().for_each(|group| group.debt >>= halvings);
        }
        (self.usage, self.usage_since) = (0, now);
    }

    fn plan(&mut self, virtual_now: i64, elapsed: u64) {
        let [least, low, target, all] =
            [MARGIN_MIN, MARGIN_LOW, MARGIN_TARGET, 100].map(|part| self.margin(part));
        let mut planned = Vec::new();
        let active: Vec<usize> =
            (0..self.groups.len()).filter(|flow| self.groups[*flow].active).collect();
        for flow in active {
            let usage = self.usage(&self.groups[flow], elapsed);
            let share = (self.groups[flow].weight * ONE / self.weights.max(1)).max(1);
            let in_use = self.share(flow);
            let group = &mut self.groups[flow];
            let mut ahead = virtual_now - group.vtime;
            let mut needs = None;
            if group.debt == 0 && (group.in_use < group.weight || !group.waits() && ahead > low) {
                if ahead > target {
                    self.lost +=
                        ((ahead - target) as u128 * u128::from(in_use) / u128::from(ONE)) as u64;
                    group.vtime = virtual_now - target;
                    ahead = target;
                }
                let part =
                    (i128::from(ahead) * i128::from(ONE) / i128::from(all.max(1))).max(0) as u64;
                needs = (ahead >= least && !group.waits())
                    .then(|| share_after_donation(usage, part, share));
            }
            group.margin = ahead;
            planned.push((flow, Member { weight: group.weight, needs }));
        }
        let members: Vec<Member> = planned.iter().map(|(_, member)| *member).collect();
        for ((flow, _), weight) in planned.iter().zip(in_use(&members)) {
            self.set_in_use(*flow, if self.groups[*flow].debt > 0 { 1 } else { weight });
        }
    }
}
