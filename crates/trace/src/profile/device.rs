//! The state of one disk while its requests are counted.
//!
//! Requests arrive in order of queueing, each with all its times. Issues and completions are events
//! in a heap, so memory is bounded by the outstanding requests. At equal times a completion
//! precedes an issue, and both precede a request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::actor::{self, Actor};
use super::anticipation::{self, Chance};
use super::counts::Counts;
use super::heat::{LatencyMap, SectorMap};
use super::occupancy::Occupancy;
use super::service::ServiceTable;
use super::stages::Stages;
use crate::io::{Io, Kind};

/// Processes counted individually; the rest are counted together.
pub(super) const ACTORS: usize = 4096;

/// An event's key is its request's slot, with this bit for an issue.
const ISSUE: u32 = 1 << 31;

/// Size of the process number table.
const PROCESSES: usize = 1 << 22;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) now: u64,
    events: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<(Io, u32)>,
    free: Vec<u32>,
    numbers: Vec<u32>,
    pub(super) actors: Vec<Actor>,
    /// The last one represents all further processes.
    pub(super) processes: Vec<u32>,
    /// Actors whose chance has no candidate yet.
    undecided: Vec<u32>,
    pub(super) stages: Stages,
    pub(super) schedulers: Vec<(u8, u64)>,
    pub(super) service: ServiceTable,
    pub(super) sector_map: SectorMap,
    pub(super) latency_map: LatencyMap,
    pub(super) first: u64,
    pub(super) last: u64,
    last_queued: Option<u64>,
    last_issued: Option<(u64, u64)>,
    pub(super) between_issues: Counts,
    pub(super) seeks: Counts,
    pub(super) seeks_none: u64,
    pub(super) distance: Counts,
    last_asked_end: Option<u64>,
    /// Last completion: time, end sector, actor.
    head: Option<(u64, u64, u32)>,
    pub(super) occupancy: Occupancy,
}

impl State {
    pub(super) fn new(first: u64) -> State {
        State {
            now: first,
            first,
            last: first,
            events: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            numbers: Vec::new(),
            actors: Vec::new(),
            processes: Vec::new(),
            undecided: Vec::new(),
            stages: Stages::default(),
            schedulers: Vec::new(),
            service: ServiceTable::default(),
            sector_map: SectorMap::default(),
            latency_map: LatencyMap::default(),
            last_queued: None,
            last_issued: None,
            between_issues: Counts::default(),
            seeks: Counts::default(),
            seeks_none: 0,
            distance: Counts::default(),
            last_asked_end: None,
            head: None,
            occupancy: Occupancy::new(first),
        }
    }

    pub(super) fn push(&mut self, io: &Io) {
        self.advance(io.queued);
        self.now = self.now.max(io.queued);
        self.last = self.last.max(io.completed.get().or(io.issued.get()).unwrap_or(io.queued));
        if let Some(last) = self.last_queued {
            self.stages.between.add(io.queued.saturating_sub(last), io.kind);
        }
        self.last_queued = Some(io.queued);
        self.stages.add(io);
        match self.schedulers.iter_mut().find(|(scheduler, _)| *scheduler == io.scheduler) {
            Some((_, requests)) => *requests += 1,
            None => self.schedulers.push((io.scheduler, 1)),
        }
        self.draw(io);
        let number = self.number(io.process);
        let actor = &mut self.actors[number as usize];
        actor.queue(io);
        // A request that is not known to complete would stay outstanding.
        let Some(completed) = io.completed.get() else { return };
        if let Some(think) = actor.start(io) {
            self.answer_chance(number, io, think);
        }
        self.occupancy.queue(io.queued, io.issued.get().is_some());
        let slot = self.slot(io, number);
        match io.issued.get() {
            Some(issued) => self.events.push(Reverse((issued, slot | ISSUE))),
            None => self.events.push(Reverse((completed, slot))),
        }
    }

    pub(super) fn advance(&mut self, until: u64) {
        while let Some(Reverse((at, key))) = self.events.peek().copied()
            && at <= until
        {
            self.events.pop();
            self.now = self.now.max(at);
            if key & ISSUE == 0 {
                self.complete(key, self.now)
            } else {
                self.issue(key & !ISSUE, self.now)
            }
        }
    }

    /// Closes chances whose process never asked again.
    pub(super) fn finish(&mut self) {
        self.advance(u64::MAX);
        for number in 0..self.actors.len() {
            self.resolve(number as u32);
        }
    }

    fn draw(&mut self, io: &Io) {
        let is_read = io.kind == Kind::Read;
        let bytes = u64::from(io.sectors) * 512;
        let moment = self.occupancy.series.column_mut(io.queued);
        match io.kind {
            Kind::Read => {
                moment.reads += 1;
                moment.read_bytes += bytes;
            }
            Kind::Write => {
                moment.writes += 1;
                moment.write_bytes += bytes;
            }
            _ => moment.others += 1,
        }
        if let Some(completed) = io.completed.get() {
            let latency = completed.saturating_sub(io.queued);
            moment.latency_ns = moment.latency_ns.saturating_add(latency);
            moment.completed += 1;
            self.latency_map.add(io.queued, latency, is_read);
        }
        if io.sectors > 0 {
            self.sector_map.add(io.queued, io.sector, is_read);
            if let Some(end) = self.last_asked_end.replace(io.end()) {
                self.distance.add(io.sector.abs_diff(end));
            }
        }
    }

    fn number(&mut self, process: u32) -> u32 {
        let at = process as usize;
        if at < self.numbers.len() && self.numbers[at] != NONE {
            return self.numbers[at];
        }
        if at >= PROCESSES || self.actors.len() >= ACTORS {
            if self.actors.len() <= ACTORS {
                self.actors.resize_with(ACTORS + 1, Actor::default);
                self.processes.resize(ACTORS + 1, NONE);
            }
            return ACTORS as u32;
        }
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, NONE);
        }
        let number = self.actors.len() as u32;
        self.actors.push(Actor::one_thread());
        self.processes.push(process);
        self.numbers[at] = number;
        number
    }

    fn slot(&mut self, io: &Io, actor: u32) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = (*io, actor);
            return slot;
        }
        self.slots.push((*io, actor));
        (self.slots.len() - 1) as u32
    }

    fn issue(&mut self, slot: u32, at: u64) {
        let (io, number) = self.slots[slot as usize];
        let served_last = self.head.filter(|(.., last)| *last == number);
        let distance = served_last
            .map(|(_, end, _)| if io.sectors > 0 { io.sector.abs_diff(end) } else { u64::MAX });
        self.occupancy.issue(at, distance);
        if io.sectors > 0 {
            let distance = self.last_issued.map(|(_, end)| io.sector.abs_diff(end));
            distance.into_iter().for_each(|distance| self.seeks.add(distance));
            self.seeks_none += u64::from(distance == Some(0));
        }
        if let Some((last, _)) = self.last_issued {
            self.between_issues.add(at.saturating_sub(last));
        }
        let end =
            if io.sectors > 0 { io.end() } else { self.last_issued.map_or(0, |(_, end)| end) };
        self.last_issued = Some((at, end));
        if !self.undecided.is_empty() {
            self.decide(&io, number);
        }
        self.events.push(Reverse((io.completed.get().unwrap_or(at), slot)));
    }

    fn complete(&mut self, slot: u32, at: u64) {
        let (io, number) = self.slots[slot as usize];
        self.free.push(slot);
        let was_issued = io.issued.get().is_some();
        self.occupancy.complete(at, was_issued);
        if was_issued {
            let since = self.head.map_or(0, |(last, ..)| last).max(io.issued.get().unwrap_or(at));
            let took = at.saturating_sub(since);
            self.actors[number as usize].device_ns += took;
            if let Some((_, end, _)) = self.head
                && io.sectors > 0
            {
                self.service.add(io.kind == Kind::Read, io.sector.abs_diff(end), took);
            }
            let end =
                if io.sectors > 0 { io.end() } else { self.head.map_or(0, |(_, end, _)| end) };
            self.head = Some((at, end, number));
        }
        let actor = &mut self.actors[number as usize];
        actor.outstanding -= 1;
        if actor.outstanding > 0 || number as usize == ACTORS {
            return;
        }
        actor.idle_since = Some(at);
        if was_issued && io.sectors > 0 && actor::is_sync(&io) {
            self.begin_chance(number, at, io.end());
        }
    }

    fn begin_chance(&mut self, number: u32, at: u64, head: u64) {
        if self.occupancy.waiting == 0 {
            self.actors[number as usize].history.totals.too_late +=
                u64::from(self.occupancy.at_device > 0);
            return;
        }
        self.resolve(number);
        let actor = &mut self.actors[number as usize];
        actor.history.totals.chances += 1;
        actor.history.chance = Some(Chance::new(&mut actor.history, at, head));
        self.undecided.push(number);
    }

    fn answer_chance(&mut self, number: u32, io: &Io, think: u64) {
        let Some(chance) = &mut self.actors[number as usize].history.chance else { return };
        if io.sectors == 0 {
            return;
        }
        chance.next = Some((think, (io.kind == Kind::Read, io.sector.abs_diff(chance.head))));
        if chance.candidate.is_some() {
            self.resolve(number);
        }
    }

    /// An issued request is the candidate of chances that arose while it waited.
    fn decide(&mut self, io: &Io, number: u32) {
        for at in (0..self.undecided.len()).rev() {
            let other = self.undecided[at];
            let Some(chance) = &mut self.actors[other as usize].history.chance else {
                self.undecided.swap_remove(at);
                continue;
            };
            if other == number || io.queued > chance.at {
                continue;
            }
            chance.candidate = Some((io.kind == Kind::Read, io.sector.abs_diff(chance.head)));
            self.undecided.swap_remove(at);
            if self.actors[other as usize]
                .history
                .chance
                .is_some_and(|chance| chance.next.is_some())
            {
                self.resolve(other);
            }
        }
    }

    fn resolve(&mut self, number: u32) {
        let actor = &mut self.actors[number as usize];
        if let Some(chance) = actor.history.chance.take() {
            if chance.candidate.is_none() {
                self.undecided.retain(|other| *other != number);
            }
            anticipation::resolve(
                &mut self.actors[number as usize].history,
                &chance,
                &self.service,
            );
        }
    }
}
