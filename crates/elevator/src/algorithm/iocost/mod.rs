//! iocost: Linux's io.cost controller as a scheduler: flows share modelled device time by weight.
//!
//! A model estimates a request's device time (`model.rs`), which advances its flow's virtual time
//! by that over the flow's share; a request waits until global virtual time permits. Once per
//! period, flows lend unused shares (`donation.rs`), and latencies adjust the rate of global
//! virtual time (`rate.rs`). O(1) per request, O(flows) per period.
//!
//! Source: Linux 6.1 block/blk-iocost.c, and 7.3's difference (switch `linux`); confirmed. Heo et
//! al., "IOCost: Block I/O Control for Containers in Datacenters", ASPLOS 2022 (abstract).
//! Parameters: the keys of io.cost.model and io.cost.qos (`settings.rs`), linux 612; default: the
//! device's preset without percentiles, flow weight 100.
//!
//! Departures: one level of groups, no free root I/O; no scheduler below; a waiting request holds a
//! tag, and bios can merge into it; debt from metadata only; no delay on return to user space.

mod charge;
mod donation;
mod model;
mod period;
mod rate;
mod settings;
#[cfg(test)]
mod tests;

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags};
use crate::chain::{Chain, Links};
use crate::fifo::Fifo;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;
use donation::ONE;
use model::{Costs, direction};
use rate::{Observed, Rate};
use settings::Settings;

/// A waiting request has a timer.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "iocost",
    origin: Origin::BlkMq,
    help: "the io.cost controller: flows share modelled device time by weight, unused shares are lent",
    source: "Linux 6.1 block/blk-iocost.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: settings::TUNABLES,
    build,
};

const MAX_LAGGING_PERIODS: i64 = 10;

#[derive(Debug, Clone, Default)]
struct Group {
    /// Its weight, and the part in use; × [`ONE`].
    weight: u64,
    in_use: u64,
    active: bool,
    vtime: i64,
    cursor: u64,
    /// Device time issued but not paid.
    debt: u64,
    /// Virtual time in hand when the period was planned.
    margin: i64,
    /// In order of arrival.
    waiting: Chain,
    /// Device time issued in this period, and in flight.
    used: u64,
    flying: u64,
    /// Virtual time of requests in flight: the kernel's vtime - done_vtime.
    unfinished: i64,
}

impl Group {
    /// Whether requests of the last 10 periods, but not of this one, are in flight.
    fn lags(&self, now: i64, period: i64) -> bool {
        let done = self.vtime - self.unfinished;
        self.unfinished > 0
            && self.vtime > now - MAX_LAGGING_PERIODS * period
            && done < now - period
    }

    fn waits(&self) -> bool {
        self.waiting.oldest().is_some()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Charge {
    cost: u64,
    /// As charged to its flow's virtual time; 0 for debt.
    own: i64,
    /// When virtual time released it.
    issued: Option<Time>,
}

/// Global virtual time from a given moment.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    since: Time,
    base: i64,
    /// Units per microsecond.
    rate: u64,
}

impl Clock {
    fn now(&self, now: Time) -> i64 {
        let passed = u128::from(now - self.since) * u128::from(self.rate) / 1000;
        self.base + i64::try_from(passed).expect("virtual time lasts for days at the highest rate")
    }

    fn restart(&mut self, now: Time, rate: u64) {
        *self = Clock { since: now, base: self.now(now), rate };
    }
}

#[derive(Debug)]
struct IoCost {
    settings: Settings,
    costs: [Costs; 2],
    groups: Vec<Group>,
    /// Sums over active groups.
    weights: u64,
    in_use: u64,
    clock: Clock,
    rate: Rate,
    /// To be distributed.
    lost: u64,
    seen: Observed,
    period_ns: u64,
    period_end: Option<Time>,
    /// Since the last check of debts.
    usage: u64,
    usage_since: Time,
    charges: Vec<Charge>,
    links: Links,
    /// Issued, in this order.
    issued: Fifo,
    /// When to check flows.
    kicks: Tags,
    /// The next growth is a merge with a request already paid for.
    paid_growth: bool,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, IoCost::new(build))
}

impl IoCost {
    fn new(build: &Build) -> IoCost {
        let settings = Settings::new(build);
        let rate = Rate::new();
        IoCost {
            costs: settings.costs(),
            period_ns: settings.period_ns(),
            settings,
            groups: Vec::new(),
            weights: 0,
            in_use: 0,
            clock: Clock { rate: rate.units, ..Clock::default() },
            rate,
            lost: 0,
            seen: Observed::default(),
            period_end: None,
            usage: 0,
            usage_since: Time::ZERO,
            charges: vec![Charge::default(); build.nr_tags as usize],
            links: Links::new(build.nr_tags),
            issued: Fifo::new(build.nr_tags),
            kicks: Tags::default(),
            paid_growth: false,
        }
    }
}

impl FlowRule for IoCost {
    fn arrived(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.groups.len() <= flow {
            self.groups.resize(flow + 1, Group::default());
        }
        if self.charges.len() <= tag as usize {
            self.charges.resize(tag as usize + 1, Charge::default());
        }
        if !self.groups[flow].active {
            self.activate(now, flow, queues.flows().weight(flow) * ONE);
        }
        let request = *queues.request(tag);
        let group = &mut self.groups[flow];
        let cost = self.costs[direction(request.op)].request(&request, group.cursor);
        group.cursor = request.end();
        self.charges[tag as usize] = Charge { cost, own: 0, issued: None };
        let idle = !group.waits() && group.debt == 0;
        if idle && self.pay(now, flow, cost) {
            self.issue(now, flow, tag);
        } else if request.meta {
            self.borrow(flow, cost);
            self.issue(now, flow, tag);
        } else {
            self.links.push_back(&mut self.groups[flow].waiting, tag);
            self.kick(now, flow);
        }
    }

    fn choose(&mut self, _now: Time, _queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        self.issued.head()
    }

    fn sent(&mut self, now: Time, _queues: &FlowQueues, tag: u32) {
        self.issued.remove(tag);
        let issued = self.charges[tag as usize].issued.expect("only what was issued is chosen");
        self.seen.waited_ns += now - issued;
    }

    fn completed(&mut self, now: Time, _queues: &FlowQueues, flow: usize, done: &Finished) {
        let Charge { cost, own, issued } = self.charges[done.request.tag as usize];
        self.groups[flow].flying -= cost;
        self.groups[flow].unfinished -= own;
        let direction = direction(done.request.op);
        let size = self.costs[direction].size(done.request.nr_sectors.into());
        let size_ns = (u128::from(size) * 1_000_000_000 / u128::from(model::SECOND)) as u64;
        let latency_ns = now - issued.expect("a completed request was issued");
        let missed =
            latency_ns.saturating_sub(size_ns) > self.settings.latency_us(direction) * 1000;
        if missed {
            self.seen.missed[direction] += 1;
        } else {
            self.seen.met[direction] += 1;
        }
    }

    fn grown(
        &mut self,
        _now: Time,
        queues: &FlowQueues,
        before: &BlockRequest,
        after: &BlockRequest,
    ) {
        let flow = queues.flow_of(after.tag);
        if self.groups[flow].cursor == before.end() {
            self.groups[flow].cursor = after.end();
        }
        if !std::mem::take(&mut self.paid_growth) {
            let pages = self.costs[direction(after.op)]
                .size(u64::from(after.nr_sectors - before.nr_sectors));
            self.add(flow, after.tag, pages);
        }
    }

    fn absorbed(
        &mut self,
        _now: Time,
        _queues: &FlowQueues,
        flow: usize,
        survivor: &BlockRequest,
        gone: &BlockRequest,
    ) {
        let lost = self.charges[gone.tag as usize];
        self.paid_growth = true;
        if lost.issued.is_some() {
            // It is paid; the survivor's completion subtracts it from the time in flight.
            self.issued.remove(gone.tag);
            if self.charges[survivor.tag as usize].issued.is_some() {
                self.charges[survivor.tag as usize].cost += lost.cost;
                self.charges[survivor.tag as usize].own += lost.own;
            } else {
                self.groups[flow].flying -= lost.cost;
                self.groups[flow].unfinished -= lost.own;
            }
        } else {
            self.links.remove(&mut self.groups[flow].waiting, gone.tag);
            self.add(flow, survivor.tag, lost.cost);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let kick = self.kicks.first().map(|(at, _)| Time::from_ns(at));
        kick.into_iter().chain(self.period_end).min()
    }

    fn on_timer(&mut self, now: Time, _queues: &FlowQueues) {
        while let Some((_, flow)) = self.kicks.first().filter(|(at, _)| *at <= now.as_ns()) {
            self.kick(now, flow as usize);
        }
        if self.period_end.is_some_and(|end| end <= now) {
            self.period(now);
        }
    }

    fn declared(&mut self, queues: &FlowQueues, flow: usize) {
        if let Some(group) = self.groups.get_mut(flow).filter(|group| group.active) {
            let weight = queues.flows().weight(flow) * ONE;
            self.weights = self.weights - group.weight + weight;
            self.in_use = self.in_use - group.in_use + weight;
            (group.weight, group.in_use) = (weight, weight);
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "min" => self.rate.min_percent,
            "max" => self.rate.max_percent,
            "linux" => self.rate.linux,
            _ => *self.settings.clone().value(tunable),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "min" => self.rate.min_percent = value,
            "max" => self.rate.max_percent = value,
            "linux" => self.rate.linux = value,
            _ => *self.settings.value(tunable) = value,
        }
        self.costs = self.settings.costs();
        self.period_ns = self.settings.period_ns();
    }
}
