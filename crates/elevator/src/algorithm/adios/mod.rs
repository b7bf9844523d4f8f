//! adios: earliest deadline first in small batches whose learned latency fits a window.
//!
//! A model per operation predicts latencies (`model.rs`). Requests are sorted by deadline, reads
//! separately: synchronous ones are due on arrival, others after their operation's target plus the
//! prediction. A batch takes the earliest deadlines until the predictions in flight fill the
//! window; reads may run ahead on a loan that is repaid (`read_priority`). Order is by arrival
//! until the first small read and write have completed.
//!
//! Source: firelzrd/adios 3.2.0, patch for Linux 6.12.44; confirmed. Parameters: `tunables.rs`;
//! window 16 ms (22 ms on disks), batches of 36 reads and 72 writes, targets 2 ms and 2 s.
//!
//! Derived: the second priority queue is served before the first, contrary to the source's comment.
//! A latency is the gap between completions on a CPU, about k service times on k CPUs. With
//! `batch_order` 1, asynchronous requests are sorted only in batches with two writes. The bound on
//! waits assumes correct predictions: 63 earlier deadlines with loans of 1024/172 predictions, 20
//! ms each: 8.8 s; plus 64 requests in batches, 1.3 s.
//!
//! Departures: only reads and writes; a CPU per process unless `cpus` is lower; no lat_model_*,
//! reset_lat_model or statistics; requeued requests go to the first priority queue.

mod batches;
mod model;
#[cfg(test)]
mod tests;
mod tunables;

use std::collections::VecDeque;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin};
use crate::ordered::Ordered;
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator, InsertAt, Merge};
use crate::topology::Topology;
use crate::vocabulary::{Op, Time};
use batches::{KINDS, Page};
use model::{Model, Sample};
use tunables::{NICE_0, Settings, weight};

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "adios",
    origin: Origin::BlkMq,
    help: "earliest deadlines in batches whose learned latencies fit a window (out of tree)",
    source: "firelzrd/adios 3.2.0 for Linux 6.12.44",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::WaitsAtMostMs(11_000)],
    tunables: tunables::TUNABLES,
    build,
};

/// Deadlines are rounded down to this; arrival breaks ties.
const QUANTUM_NS: u64 = 1 << 20;
/// Time from a completion to the update of the models.
const UPDATE_NS: u64 = 100_000_000;
const READ: usize = 0;
const OTHER: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Tree(u64),
    Priority,
    Batch,
    InFlight,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    request: BlockRequest,
    /// Arrival; the earlier one after a merge.
    arrived: u64,
    predicted: u64,
    deadline: u64,
    place: Stage,
}

impl Slot {
    fn key(&self, number: u64) -> (u64, u64) {
        (self.deadline & !(QUANTUM_NS - 1), number)
    }
}

/// A CPU's completions; 0: none yet.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    completed: u64,
    position: u64,
}

#[derive(Debug)]
struct Adios {
    settings: Settings,
    models: [Model; KINDS],
    priority: [VecDeque<u32>; 2],
    trees: [Ordered<(u64, u64)>; 2],
    pages: [Page; 2],
    front: usize,
    slots: Vec<Option<Slot>>,
    numbers: u64,
    /// Borrowed by reads; below 0 the others are served.
    bias: i64,
    /// In batches, priority queues and the device.
    in_flight: u64,
    predicted: u64,
    cpus: Vec<Cpu>,
    head: u64,
    timer: Option<Time>,
    len: usize,
    topology: Topology,
    rotational: bool,
}

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Adios::new(build))
}

fn kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

impl Adios {
    fn new(build: &Build) -> Adios {
        Adios {
            settings: Settings::new(build.rotational),
            models: [Model::NEW; KINDS],
            priority: Default::default(),
            trees: Default::default(),
            pages: Default::default(),
            front: 0,
            slots: vec![None; build.nr_tags as usize],
            numbers: 0,
            bias: 0,
            in_flight: 0,
            predicted: 0,
            cpus: Vec::new(),
            head: 0,
            timer: None,
            len: 0,
            topology: build.topology,
            rotational: build.rotational,
        }
    }

    fn slot(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag belongs to a request of the elevator")
    }

    fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    fn is_stable(&self) -> bool {
        self.models.iter().all(|model| model.base > 0)
    }

    fn assess(&self, request: &BlockRequest, arrived: u64, place: Stage) -> Slot {
        let kind = kind(request.op);
        let predicted = self.models[kind].predict(request.bytes()).min(self.settings.latency_limit);
        let mut deadline = arrived;
        if !request.sync {
            deadline += self.settings.target[kind]
                + if self.settings.compliance == 0 { predicted } else { 0 };
        }
        Slot { request: *request, arrived, predicted, deadline, place }
    }

    fn add_to_dl_tree(&mut self, request: &BlockRequest, arrived: u64) {
        let slot = self.assess(request, arrived, Stage::Tree(self.numbers));
        self.trees[kind(request.op)].insert(slot.key(self.numbers), request.tag);
        self.numbers += 1;
        self.slots[request.tag as usize] = Some(slot);
    }

    fn del_from_dl_tree(&mut self, tag: u32) -> Slot {
        let slot = *self.slot(tag);
        let Stage::Tree(number) = slot.place else { unreachable!("request {tag} is in a tree") };
        self.trees[kind(slot.request.op)]
            .remove(slot.key(number))
            .expect("the request is in its tree");
        slot
    }

    fn join_priority(&mut self, queue: usize, request: &BlockRequest) {
        let slot = self.assess(request, request.allocated.as_ns(), Stage::Priority);
        self.in_flight += 1;
        self.predicted += slot.predicted;
        self.slots[request.tag as usize] = Some(slot);
        self.priority[queue].push_back(request.tag);
    }

    /// The next request for a batch, and whether it changes the bias.
    fn candidate(&self) -> Option<(u32, bool)> {
        let favoured = if self.bias < 0 { OTHER } else { READ };
        let heads = [READ, OTHER].map(|tree| self.trees[tree].first().map(|(_, tag)| tag));
        match (heads[favoured], heads[1 - favoured]) {
            (Some(tag), Some(other)) => {
                Some((tag, self.slot(tag).deadline > self.slot(other).deadline))
            }
            (Some(tag), None) => Some((tag, true)),
            (None, other) => other.map(|tag| (tag, false)),
        }
    }

    fn charge(&mut self, predicted: u64) {
        let (sign, nice) =
            if self.bias < 0 { (1, NICE_0) } else { (-1, self.settings.read_priority) };
        let loan = (predicted as i64).saturating_mul(weight(nice)) >> 10;
        self.bias = if predicted == 0 { sign } else { self.bias.saturating_add(sign * loan) };
    }

    fn fill(&mut self) {
        let sorted = self.settings.batch_order == 1 && self.rotational;
        let mut page = Page { elevator: sorted, ..std::mem::take(&mut self.pages[1 - self.front]) };
        page.counts = [0; KINDS];
        let (mut added, mut taken) = (0, 0);
        while let Some((tag, charged)) = self.candidate() {
            let slot = *self.slot(tag);
            let kind = kind(slot.request.op);
            let full = self.models[kind].base == 0
                || page.counts[kind] >= self.settings.batch_limit[kind]
                || self.predicted + added + slot.predicted > self.settings.window;
            if taken > 0 && full {
                break;
            }
            if charged {
                self.charge(slot.predicted);
            }
            self.del_from_dl_tree(tag);
            self.slot_mut(tag).place = Stage::Batch;
            let list = if sorted { usize::from(slot.deadline != slot.arrived) } else { kind };
            page.lists[list].push_back(tag);
            page.counts[kind] += 1;
            added += slot.predicted;
            taken += 1;
        }
        if sorted && page.counts[1] > 1 {
            page.lists[1].make_contiguous().sort_by_key(|tag| self.slot(*tag).request.sector);
        }
        self.in_flight += taken;
        self.predicted += added;
        self.pages[1 - self.front] = page;
    }

    fn flip(&mut self) {
        self.front = 1 - self.front;
        let ends = {
            let list = &self.pages[self.front].lists[1];
            list.front()
                .zip(list.back())
                .map(|(first, last)| [first, last].map(|tag| self.slot(*tag).request.sector))
        };
        self.pages[self.front].down =
            ends.is_some_and(|[first, last]| self.head > first.midpoint(last));
    }

    fn next_of_batches(&mut self) -> Option<u32> {
        let refill = self.settings.window * self.settings.refill_percent / 100;
        let empty = self.pages[self.front].is_empty();
        let wanted = empty || self.predicted == 0 || self.predicted < refill;
        let work = self.trees.iter().any(|tree| !tree.is_empty());
        if self.pages[1 - self.front].is_empty() && wanted && work {
            self.fill();
        }
        if empty && !self.pages[1 - self.front].is_empty() {
            self.flip();
        }
        self.pages[self.front].pop()
    }

    /// The gap since the last completion, on a disk weighted by distance.
    fn sample(&mut self, now: Time, done: &Finished, predicted: u64) -> Sample {
        let process = self.topology.cpu(done.request.process) as usize;
        if self.cpus.len() <= process {
            self.cpus.resize(process + 1, Cpu::default());
        }
        let busy = self.in_flight > 0;
        let cpu = &mut self.cpus[process];
        let since = if cpu.completed == 0 { done.issued.as_ns() } else { cpu.completed };
        cpu.completed = if busy { now.as_ns() } else { 0 };
        let mut weight = 1;
        if self.rotational {
            let distance = done.request.sector.abs_diff(cpu.position);
            if cpu.position > 0 && distance > 0 {
                weight = u64::from(65 - distance.leading_zeros());
            }
            cpu.position = done.request.end();
        }
        let latency_ns = now.as_ns().saturating_sub(since);
        Sample { bytes: done.request.bytes(), latency_ns, predicted_ns: predicted, weight }
    }
}

impl Elevator for Adios {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        let tag = request.tag as usize;
        if self.slots.len() <= tag {
            self.slots.resize(tag + 1, None);
        }
        if let Some(slot) = &self.slots[tag] {
            self.in_flight -= 1;
            self.predicted -= slot.predicted;
        }
        self.len += 1;
        if at == InsertAt::Head {
            self.join_priority(0, request);
        } else if self.is_stable() {
            self.add_to_dl_tree(request, request.allocated.as_ns());
        } else {
            self.join_priority(1, request);
        }
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        let queue = usize::from(!self.priority[1].is_empty());
        let tag = self.priority[queue].pop_front().or_else(|| self.next_of_batches())?;
        let slot = self.slot_mut(tag);
        slot.place = Stage::InFlight;
        self.head = slot.request.end();
        self.len -= 1;
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let slot = self.slots[done.request.tag as usize]
            .take()
            .expect("a completed request was dispatched");
        debug_assert_eq!(slot.place, Stage::InFlight, "a completed request was dispatched");
        self.in_flight -= 1;
        self.predicted -= slot.predicted;
        let sample = self.sample(now, done, slot.predicted);
        if sample.latency_ns <= self.settings.latency_limit {
            self.models[kind(done.request.op)].input(now, &sample, &self.settings.shrink);
            let due = now + UPDATE_NS;
            self.timer = Some(self.timer.map_or(due, |timer| timer.min(due)));
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.timer = None;
            self.models.iter_mut().for_each(|model| model.update(now, &self.settings.shrink));
        }
    }

    fn allow_merge(&self, request: &BlockRequest, _bio: &BlockRequest, _how: Merge) -> bool {
        matches!(self.slot(request.tag).place, Stage::Tree(_))
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let slot = self.del_from_dl_tree(before.tag);
        self.add_to_dl_tree(after, slot.arrived);
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let lost = self.del_from_dl_tree(gone.tag);
        self.slots[gone.tag as usize] = None;
        self.len -= 1;
        let kept = self.slot_mut(survivor.tag);
        kept.arrived = kept.arrived.min(lost.arrived);
    }

    fn get(&self, tunable: &str) -> u64 {
        *self.settings.clone().value(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        *self.settings.value(tunable) = value;
        match tunable {
            "lat_target_read" => self.models[0] = Model::NEW,
            "lat_target_write" => self.models[1] = Model::NEW,
            _ => {}
        }
    }
}
