//! gimbal: a storage switch for several tenants of one NVMe device.
//!
//! Completion latencies control a target rate (`delay.rs`), which fills token buckets for reads and
//! writes according to the learned cost of writes (`rate.rs`). Tenants take turns by deficit round
//! robin with weighted writes. A tenant fills virtual slots of 128 KiB, up to its share; a slot is
//! free again when all its requests have completed. Constant time per request.
//!
//! Source: Min, Liu, Chugh, Zhao, Wei, Doh, Krishnamurthy, "Gimbal: Enabling Multi-tenant Storage
//! Disaggregation on SmartNIC JBOFs", SIGCOMM 2021 (abstract); rules from the released SPDK 19.10
//! (confirmed). Parameters: latency_min 250 µs, latency_max 1500 µs, slots 8, quantum 128 KiB;
//! `as_released` 1 keeps a bug (the ratio of a count to itself), so that the cost of writes only
//! falls.
//!
//! Derived: requests without tokens wait in one queue, so a write holds up reads. Departures: a
//! tenant is a flow, weights are ignored; no credits to clients; while tokens are missing and at
//! most 128 KiB are in the device, a timer retries after 1 ms, as the source polls.

mod delay;
mod rate;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::FlowRule;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::vocabulary::{Op, Time};
use delay::{Delay, Range};
use rate::{ONE, Rate, direction};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "gimbal",
    origin: Origin::Literature,
    help: "for tenants of one NVMe device: rate by delay, turns by virtual slots, learned cost of writes",
    source: "Min et al., SIGCOMM 2021; released SPDK 19.10",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: &[
        Tunable::confirmed("latency_min", "µs", 1, 1_000_000, "below, the device is under-used"),
        Tunable::confirmed("latency_max", "µs", 1, 1_000_000, "above, the device is overloaded"),
        Tunable {
            role: Role::Window,
            ..Tunable::confirmed("slots", "requests", 1, 1024, "virtual slots of all tenants")
        },
        Tunable::confirmed(
            "quantum",
            "KiB",
            1,
            1 << 20,
            "quantum of a tenant's turn, and size of a slot",
        ),
        Tunable {
            role: Role::Reading,
            ..Tunable::confirmed(
                "as_released",
                "switch",
                0,
                1,
                "0: the cost of writes as published; 1: as released, it only falls",
            )
        },
    ],
    build,
};

const POLL_NS: u64 = 1_000_000;
/// With more bytes in the device, a completion comes soon enough.
const MAX_POLLED_BYTES: u64 = 128 << 10;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Weighted bytes in it.
    bytes: u64,
    outstanding: u32,
}

#[derive(Debug, Default)]
struct Tenant {
    deficit: u64,
    slots: Vec<Slot>,
    open: Option<usize>,
    in_turn: bool,
    /// Requests queued, chosen or in the device.
    outstanding: u64,
}

#[derive(Debug)]
struct Gimbal {
    tenants: Vec<Tenant>,
    turns: VecDeque<usize>,
    nr_active: usize,
    /// Chosen; waiting for tokens.
    chosen: Option<u32>,
    slot_of: Vec<usize>,
    delays: [Delay; 2],
    rate: Rate,
    in_device: u64,
    poll: Option<Time>,
    range: Range,
    nr_slots: u64,
    quantum_kib: u64,
    as_released: u64,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, Gimbal::new())
}

impl Gimbal {
    fn new() -> Gimbal {
        let range = Range { min: 250, max: 1500 };
        Gimbal {
            tenants: Vec::new(),
            turns: VecDeque::new(),
            nr_active: 0,
            chosen: None,
            slot_of: Vec::new(),
            delays: [Delay::new(range); 2],
            rate: Rate::new(),
            in_device: 0,
            poll: None,
            range,
            nr_slots: 8,
            quantum_kib: 128,
            as_released: 0,
        }
    }

    fn share(&self) -> usize {
        (self.nr_slots as usize / self.nr_active.max(1)).max(1)
    }

    /// The slot for a tenant's next request; None: all its slots wait for completions.
    fn slot(&mut self, tenant: usize) -> Option<usize> {
        let share = self.share();
        let tenant = &mut self.tenants[tenant];
        if tenant.open.is_none() {
            let used = tenant.slots.iter().filter(|slot| slot.outstanding > 0).count();
            let free = tenant.slots.iter().position(|slot| slot.outstanding == 0);
            if used < share {
                let at = free.unwrap_or(tenant.slots.len());
                tenant.slots.resize(tenant.slots.len().max(at + 1), Slot::default());
                tenant.slots[at] = Slot::default();
                tenant.open = Some(at);
            }
        }
        tenant.open
    }

    fn cost(&self, request: &BlockRequest) -> u64 {
        match request.op {
            Op::Read => request.bytes(),
            Op::Write => request.bytes() * self.rate.write_cost / ONE,
        }
    }

    fn join_turns(&mut self, tenant: usize) {
        if !std::mem::replace(&mut self.tenants[tenant].in_turn, true) {
            self.turns.push_back(tenant);
        }
    }

    fn pick(&mut self, queues: &mut FlowQueues) -> Option<u32> {
        let quantum = self.quantum_kib << 10;
        loop {
            let flow = *self.turns.front()?;
            let slot = self.slot(flow);
            let (Some(tag), Some(at)) = (queues.oldest(flow), slot) else {
                // Nothing to send, or deferred until a slot is free.
                self.turns.pop_front();
                let tenant = &mut self.tenants[flow];
                tenant.in_turn = false;
                if queues.queued(flow) == 0 {
                    tenant.deficit = 0;
                }
                continue;
            };
            let cost = self.cost(queues.request(tag));
            let tenant = &mut self.tenants[flow];
            if tenant.deficit < cost {
                tenant.deficit += quantum;
                self.turns.rotate_left(1);
                continue;
            }
            tenant.deficit -= cost;
            let slot = &mut tenant.slots[at];
            slot.bytes += cost;
            slot.outstanding += 1;
            if slot.bytes >= quantum {
                tenant.open = None;
            }
            if self.slot_of.len() <= tag as usize {
                self.slot_of.resize(tag as usize + 1, 0);
            }
            self.slot_of[tag as usize] = at;
            queues.detach(tag);
            return Some(tag);
        }
    }
}

impl FlowRule for Gimbal {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        let flow = queues.flow_of(tag);
        while self.tenants.len() <= flow {
            self.tenants.push(Tenant::default());
        }
        self.tenants[flow].outstanding += 1;
        self.nr_active += usize::from(self.tenants[flow].outstanding == 1);
        self.join_turns(flow);
    }

    fn choose(&mut self, now: Time, queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        self.rate.refill(now);
        let tag = match self.chosen {
            Some(tag) => tag,
            None => self.pick(queues)?,
        };
        let request = *queues.request(tag);
        if self.rate.take(request.op, request.bytes()) {
            (self.chosen, self.poll) = (None, None);
            return Some(tag);
        }
        self.chosen = Some(tag);
        if self.in_device <= MAX_POLLED_BYTES && self.poll.is_none_or(|poll| poll <= now) {
            self.poll = Some(now + POLL_NS);
        }
        None
    }

    fn sent(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        self.in_device += queues.request(tag).bytes();
    }

    fn sent_again(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        self.sent(now, queues, tag);
    }

    fn returned(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        self.in_device -= queues.request(tag).bytes();
    }

    fn completed(&mut self, now: Time, queues: &FlowQueues, flow: usize, done: &Finished) {
        let (op, bytes) = (done.request.op, done.request.bytes());
        let latency_us = (now - done.issued) / 1000;
        self.in_device -= bytes;
        self.rate.refill(now);
        let load = self.delays[direction(op)].completed(latency_us, self.range);
        self.rate.completed(now, bytes, load);
        self.rate.observe(now, op, latency_us, self.range, self.as_released == 1);
        let tenant = &mut self.tenants[flow];
        tenant.slots[self.slot_of[done.request.tag as usize]].outstanding -= 1;
        tenant.outstanding -= 1;
        self.nr_active -= usize::from(tenant.outstanding == 0);
        if queues.queued(flow) > 0 {
            self.join_turns(flow);
        }
    }

    fn absorbed(
        &mut self,
        _: Time,
        queues: &FlowQueues,
        flow: usize,
        _survivor: &BlockRequest,
        _gone: &BlockRequest,
    ) {
        debug_assert!(queues.queued(flow) > 0, "the survivor is queued");
        self.tenants[flow].outstanding -= 1;
    }

    fn next_timer(&self) -> Option<Time> {
        self.poll
    }

    fn on_timer(&mut self, now: Time, _queues: &FlowQueues) {
        self.poll = self.poll.filter(|poll| *poll > now);
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "latency_min" => self.range.min,
            "latency_max" => self.range.max,
            "slots" => self.nr_slots,
            "quantum" => self.quantum_kib,
            "as_released" => self.as_released,
            _ => unreachable!("gimbal has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "latency_min" => self.range.min = value,
            "latency_max" => {
                self.range.max = value;
                self.delays = [Delay::new(self.range); 2];
            }
            "slots" => self.nr_slots = value,
            "quantum" => self.quantum_kib = value,
            "as_released" => self.as_released = value,
            _ => unreachable!("gimbal has no tunable {tunable}"),
        }
    }
}
