//! drr: deficit round robin with self-tuning batches and concurrency.
//!
//! A turn adds the flow's quantum (`batch` × weight / least weight) to its deficit and serves its
//! requests in order of arrival while the deficit covers them; an emptied flow loses its deficit.
//! At most `concurrency` requests are in the device. Every `interval`: while continuously
//! backlogged flows' shares keep within `fairness`, first the concurrency rises to its bound, then
//! the batch doubles as long as throughput gains; otherwise the batch halves, then the concurrency
//! falls.
//!
//! Source: Gulati, Merchant, Uysal, Varman: "Efficient and adaptive proportional share I/O
//! scheduling", HPL-2007-186 (2009); abstract confirmed, tuning recalled. Parameters (defaults
//! proposed): `batch` (KiB, default 256), `max_batch` (KiB, 4096), `concurrency` (requests, the
//! device's queue depth), `interval` (ms, 1000), `fairness` (percent, 10), `adapt` (switch, 1).
//!
//! Departures (proposed): the tuning steps; no waiting for a flow whose turn ends early.

use std::collections::VecDeque;

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, LeastWeight};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::Time;

const MS: u64 = 1_000_000;
const MIN_BATCH_KIB: u64 = 64;
/// Intervals without tuning after a fruitless raise.
const REST_INTERVALS: u32 = 8;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "drr",
    origin: Origin::Literature,
    help: "deficit round robin by weight, with self-tuned batches and bounded concurrency",
    source: "Gulati, Merchant, Uysal, Varman: Efficient and adaptive proportional share I/O scheduling, HPL-2007-186",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer, Guarantee::ShareWithin { percent: 5, over_ms: 5000 }],
    tunables: &[
        Tunable::proposed(
            "batch",
            "KiB",
            MIN_BATCH_KIB,
            1 << 20,
            "quantum of the least weight at the start",
        ),
        Tunable::proposed(
            "max_batch",
            "KiB",
            MIN_BATCH_KIB,
            1 << 20,
            "largest quantum of the least weight that tuning reaches",
        ),
        Tunable::proposed(
            "concurrency",
            "requests",
            1,
            1024,
            "largest number of requests in the device",
        )
        .with_role(Role::Window),
        Tunable::proposed(
            "interval",
            "ms",
            1,
            60_000,
            "time from one step of the tuning to the next",
        ),
        Tunable::proposed(
            "fairness",
            "percent",
            1,
            100,
            "maximum relative error of a share at which batches may grow",
        ),
        Tunable::proposed(
            "adapt",
            "switch",
            0,
            1,
            "1: batch and concurrency tune themselves; 0: they stay",
        ),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, Drr::new(u64::from(build.queue_depth.clamp(1, 1024))))
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    in_ring: bool,
    deficit: u64,
    /// In sectors.
    served: u64,
    ran_empty: bool,
}

#[derive(Debug)]
struct Drr {
    settings: Settings,
    /// In KiB; in requests.
    batch: u64,
    concurrency: u64,
    ring: VecDeque<usize>,
    /// Whether the first flow of the ring has had its quantum.
    in_turn: bool,
    flows: Vec<Flow>,
    least: LeastWeight,
    interval_end: Option<Time>,
    /// Sectors of the interval before the batch was raised.
    before_raise: Option<u64>,
    rest: u32,
}

#[derive(Debug)]
struct Settings {
    batch: u64,
    max_batch: u64,
    concurrency: u64,
    interval_ms: u64,
    fairness: u64,
    adapt: bool,
}

impl Drr {
    fn new(concurrency: u64) -> Drr {
        let settings = Settings {
            batch: 256,
            max_batch: 4096,
            concurrency,
            interval_ms: 1000,
            fairness: 10,
            adapt: true,
        };
        Drr {
            batch: settings.batch,
            settings,
            concurrency,
            ring: VecDeque::new(),
            in_turn: false,
            flows: Vec::new(),
            least: LeastWeight::default(),
            interval_end: None,
            before_raise: None,
            rest: 0,
        }
    }

    fn quantum(&self, queues: &FlowQueues, flow: usize) -> u64 {
        self.batch * 2 * queues.flows().weight(flow) / self.least.get()
    }

    /// Whether continuously backlogged flows' shares follow the weights.
    fn is_fair(&self, queues: &FlowQueues) -> bool {
        let busy =
            self.flows.iter().enumerate().filter(|(_, flow)| flow.served > 0 && !flow.ran_empty);
        let busy: Vec<(u64, u64)> =
            busy.map(|(at, flow)| (flow.served, queues.flows().weight(at))).collect();
        let (served, weights) =
            busy.iter().fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
        busy.iter().all(|(mine, weight)| {
            let (mine, due) =
                (u128::from(*mine) * u128::from(weights), u128::from(served) * u128::from(*weight));
            mine.abs_diff(due) * 100 <= due * u128::from(self.settings.fairness)
        })
    }

    fn tune(&mut self, queues: &FlowQueues) {
        let total: u64 = self.flows.iter().map(|flow| flow.served).sum();
        let raised = self.before_raise.take();
        if !self.is_fair(queues) {
            if self.batch > MIN_BATCH_KIB {
                self.batch = (self.batch / 2).max(MIN_BATCH_KIB);
            } else {
                self.concurrency = (self.concurrency - 1).max(1);
            }
        } else if raised.is_some_and(|before| total * 100 < before * 102) {
            self.batch = (self.batch / 2).max(MIN_BATCH_KIB);
            self.rest = REST_INTERVALS;
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if self.concurrency < self.settings.concurrency {
            self.concurrency += 1;
        } else if self.batch < self.settings.max_batch {
            self.batch = (self.batch * 2).min(self.settings.max_batch);
            self.before_raise = Some(total);
        }
    }

    fn end_interval(&mut self, now: Time, queues: &FlowQueues) {
        let end = *self.interval_end.get_or_insert(now + self.settings.interval_ms * MS);
        if now < end {
            return;
        }
        if self.settings.adapt {
            self.tune(queues);
        }
        for (at, flow) in self.flows.iter_mut().enumerate() {
            flow.served = 0;
            flow.ran_empty = queues.queued(at) == 0;
        }
        self.interval_end = Some(now + self.settings.interval_ms * MS);
    }
}

impl FlowRule for Drr {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
        self.least.learn(queues.flows());
        if !self.flows[flow].in_ring {
            self.flows[flow].in_ring = true;
            self.ring.push_back(flow);
        }
    }

    fn choose(&mut self, _now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        if u64::from(queues.all_in_flight()) >= self.concurrency {
            return None;
        }
        loop {
            let flow = *self.ring.front()?;
            let Some(tag) = queues.oldest(flow) else {
                self.ring.pop_front();
                self.in_turn = false;
                (self.flows[flow].in_ring, self.flows[flow].deficit) = (false, 0);
                continue;
            };
            if !self.in_turn {
                self.flows[flow].deficit += self.quantum(queues, flow);
                self.in_turn = true;
            }
            if u64::from(queues.request(tag).nr_sectors) <= self.flows[flow].deficit {
                return Some(tag);
            }
            self.ring.rotate_left(1);
            self.in_turn = false;
        }
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let (number, sectors) = (queues.flow_of(tag), u64::from(queues.request(tag).nr_sectors));
        let flow = &mut self.flows[number];
        flow.deficit -= sectors;
        flow.served += sectors;
        flow.ran_empty |= queues.queued(number) == 0;
    }

    fn completed(&mut self, now: Time, queues: &FlowQueues, _flow: usize, _done: &Finished) {
        self.end_interval(now, queues);
    }

    fn absorbed(&mut self, _: Time, _: &FlowQueues, _: usize, _: &BlockRequest, _: &BlockRequest) {}

    fn declared(&mut self, queues: &FlowQueues, _flow: usize) {
        self.least.learn_all(queues.flows());
    }

    fn get(&self, tunable: &str) -> u64 {
        let of = &self.settings;
        match tunable {
            "batch" => of.batch,
            "max_batch" => of.max_batch,
            "concurrency" => of.concurrency,
            "interval" => of.interval_ms,
            "fairness" => of.fairness,
            _ => u64::from(of.adapt),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        let of = &mut self.settings;
        match tunable {
            "batch" => (of.batch, self.batch) = (value, value),
            "max_batch" => of.max_batch = value,
            "concurrency" => (of.concurrency, self.concurrency) = (value, value),
            "interval" => of.interval_ms = value,
            "fairness" => of.fairness = value,
            _ => of.adapt = value == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, of};

    #[test]
    fn a_turn_is_a_batch_by_weight_and_the_rest_of_a_deficit_is_kept() {
        // 64 KiB are 128 sectors: at 48 per request, 2, then 3 (32 remain, then 16), then 3.
        let mut drive = Drive::new(&ROW, &[100, 200], &[("batch", 64), ("adapt", 0)]);
        for tag in 0..10 {
            drive.insert(BlockRequest { nr_sectors: 48, ..of(0, tag, u64::from(tag) * 1000) });
            drive.insert(BlockRequest { nr_sectors: 64, ..of(1, 10 + tag, u64::from(tag) * 1000) });
        }
        let turns = drive.processes(15);
        assert_eq!(turns, [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn shares_are_those_of_the_weights() {
        let served = Drive::new(&ROW, &[100, 400, 50], &[]).shares(3, 20, 64, 30_000);
        let total: u64 = served.iter().sum();
        for (served, weight) in served.iter().zip([100, 400, 50]) {
            let error = (served * 550 * 100 / total).abs_diff(weight * 100);
            assert!(error <= weight * 5, "{served} of {total} for {weight}");
        }
    }

    #[test]
    fn no_more_than_the_bound_is_in_the_device() {
        let mut drive = Drive::new(&ROW, &[100], &[("concurrency", 2)]);
        (0..4).for_each(|tag| drive.insert(of(0, tag, u64::from(tag) * 1000)));
        let given = [(); 3]
            .map(|()| drive.elevator.dispatch(drive.now, &crate::scheduler::NoDisk).is_some());
        assert_eq!(given, [true, true, false]);
    }

    #[test]
    fn batches_shrink_while_shares_are_off_and_stop_growing_where_they_gain_nothing() {
        let mut rule = Drr::new(1);
        rule.flows =
            vec![Flow { served: 100, ..Flow::default() }, Flow { served: 300, ..Flow::default() }];
        let queues = FlowQueues::of_weights(&[100, 100]);
        (0..4).for_each(|_| rule.tune(&queues));
        assert_eq!((rule.batch, rule.concurrency), (MIN_BATCH_KIB, 1));
        rule.flows[1].served = 100;
        rule.tune(&queues);
        assert_eq!(rule.batch, 128, "fair: it grows");
        rule.tune(&queues);
        assert_eq!((rule.batch, rule.rest), (64, REST_INTERVALS), "it gained nothing");
    }
}
