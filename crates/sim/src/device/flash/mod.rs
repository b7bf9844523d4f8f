//! A flash device: channels, dies and planes as servers, a host link, a write buffer, and an FTL.
//!
//! Source: the two-stage model of algorithms.md §3.8 (a proposal), with figures of MQSim, NVMeVirt
//! and FEMU in the presets. A read passes die, channel (only the bytes needed) and link, page by
//! page. A write waits for buffer room, crosses the link and is packed into pages; with early
//! completion it is then done, otherwise when its last page is programmed. Collection takes the
//! die's time.

mod dies;
mod front;
mod ftl;
mod medium;
mod read;
mod servers;
mod types;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use elevator::{BlockRequest, Disk, Geometry, Op, SECTOR_BYTES, Time};

use super::model::{Command, DeviceModel, DeviceStats, OwnClock, check, nowhere};
use dies::{Dies, Done};
use front::Front;
use ftl::{Ftl, MAX_UNITS, UNIT_BYTES};
use servers::{Servers, Times};
use types::{Event, Inside, Program, Settings, UNIT_SECTORS};

pub(super) use read::read;

/// Its write has already completed.
const NO_SLOT: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct Flash {
    ftl: Ftl,
    settings: Settings,
    front: Front,
    buffered: u64,
    /// Unit, and the command that waits for it.
    packing: Vec<(u32, u32)>,
    servers: Servers,
    /// `Some` if the dies prefer reads; otherwise they are among the servers.
    dies: Option<Dies>,
    finished: Done,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    numbered: u64,
    inside: Vec<Inside>,
    free_slots: Vec<u32>,
    programs: Vec<Program>,
    free_programs: Vec<u32>,
    programs_begun: u64,
    programming: u64,
    waiting: VecDeque<u32>,
    /// Tag, last program covered, covered programs in flight.
    flushes: Vec<(u32, u64, u64)>,
    commands: u32,
    clock: OwnClock,
    stats: DeviceStats,
}

impl Flash {
    fn new(ftl: Ftl, times: Times, settings: Settings) -> Flash {
        Flash {
            settings,
            front: Front::new(settings.command_slots),
            buffered: 0,
            packing: Vec::with_capacity(MAX_UNITS),
            servers: Servers::new(ftl.shape, times),
            dies: settings.priority.map(|priority| Dies::new(priority, ftl.shape.dies())),
            finished: Done::default(),
            ftl,
            events: BinaryHeap::new(),
            numbered: 0,
            inside: Vec::new(),
            free_slots: Vec::new(),
            programs: Vec::new(),
            free_programs: Vec::new(),
            programs_begun: 0,
            programming: 0,
            waiting: VecDeque::new(),
            flushes: Vec::new(),
            commands: 0,
            clock: OwnClock::default(),
            stats: DeviceStats::default(),
        }
    }

    fn pass_time(&mut self, now: u64) {
        self.clock.advance(now, self.commands > 0, &mut self.stats);
    }

    fn schedule(&mut self, ns: u64, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse((ns, self.numbered, event)));
    }

    fn slot(&mut self, inside: Inside) -> u32 {
        match self.free_slots.pop() {
            Some(slot) => {
                self.inside[slot as usize] = inside;
                slot
            }
            None => {
                self.inside.push(inside);
                self.inside.len() as u32 - 1
            }
        }
    }

    fn part_done(&mut self, now: u64, slot: u32) {
        let inside = &mut self.inside[slot as usize];
        inside.left -= 1;
        if inside.left == 0 {
            let Inside { tag, queue, .. } = *inside;
            self.free_slots.push(slot);
            self.schedule(now, Event::Done { tag, queue: Some(queue) });
        }
    }

    /// All queues in turn.
    fn fetch(&mut self, now: u64) {
        while let Some((op, inside)) = self.front.take() {
            let slot = self.slot(inside);
            match op {
                Op::Read => {
                    let times = &self.servers.times;
                    let small = inside.nr <= UNIT_SECTORS;
                    let wait =
                        if small { times.read_overhead_4k_ns } else { times.read_overhead_ns };
                    self.schedule(now + wait, Event::Begin { slot });
                }
                Op::Write => {
                    self.waiting.push_back(slot);
                    self.admit(now);
                }
            }
        }
    }

    fn admit(&mut self, now: u64) {
        while let Some(slot) = self.waiting.front().copied() {
            let inside = self.inside[slot as usize];
            let units = inside.units();
            let units = units.end - units.start;
            // A write larger than the buffer is admitted when the buffer is empty.
            if self.buffered > 0 && self.buffered + units > self.settings.buffer_units {
                if self.programming == 0 && self.buffered == self.packing.len() as u64 {
                    self.program(now);
                }
                return;
            }
            self.waiting.pop_front();
            self.buffered += units;
            let filled = self.servers.link(now, inside.nr * SECTOR_BYTES);
            self.schedule(filled, Event::Filled { slot });
        }
    }

    /// Packs arrived data into pages.
    fn fill(&mut self, now: u64, slot: u32) {
        let inside = self.inside[slot as usize];
        let units = inside.units();
        let count = units.end - units.start;
        self.inside[slot as usize].left = count as u32;
        let waits = if self.settings.early_completion { NO_SLOT } else { slot };
        for unit in units {
            self.packing.push((unit as u32, waits));
            if self.packing.len() == self.ftl.shape.units_per_page as usize {
                self.program(now);
            }
        }
        if self.settings.early_completion {
            self.stats.cached_writes += 1;
            self.free_slots.push(slot);
            let ns =
                self.servers.times.write_overhead_ns + count * self.servers.times.write_unit_ns;
            self.schedule(now + ns, Event::Done { tag: inside.tag, queue: Some(inside.queue) });
        } else {
            self.program(now);
        }
        // A partly packed page may block the waiting writes.
        self.admit(now);
    }

    fn program(&mut self, now: u64) {
        if self.packing.is_empty() {
            return;
        }
        let mut units = [0; MAX_UNITS];
        let mut slots = [NO_SLOT; MAX_UNITS];
        for (at, (unit, slot)) in self.packing.iter().enumerate() {
            (units[at], slots[at]) = (*unit, *slot);
        }
        let count = self.packing.len();
        self.packing.clear();
        let (plane, collected) = self.ftl.write(&units[..count]);
        self.programs_begun += 1;
        self.programming += 1;
        let program =
            Program { number: self.programs_begun, plane, units: count as u32, collected, slots };
        let place = match self.free_programs.pop() {
            Some(place) => {
                self.programs[place as usize] = program;
                place
            }
            None => {
                self.programs.push(program);
                self.programs.len() as u32 - 1
            }
        };
        let shape = self.ftl.shape;
        let bytes = u64::from(shape.units_per_page) * UNIT_BYTES;
        let carried = self.servers.channel(now, shape.channel(shape.die(plane)), bytes);
        self.schedule(carried, Event::AtDie { program: place });
    }

    fn finish_program(&mut self, now: u64, place: u32) {
        let program = self.programs[place as usize];
        self.free_programs.push(place);
        self.programming -= 1;
        self.buffered -= u64::from(program.units);
        let wait =
            if self.settings.early_completion { 0 } else { self.servers.times.write_overhead_ns };
        for slot in program.slots.into_iter().filter(|slot| *slot != NO_SLOT) {
            self.part_done(now + wait, slot);
        }
        let mut at = 0;
        while at < self.flushes.len() {
            let (tag, covers, left) = &mut self.flushes[at];
            *left -= u64::from(program.number <= *covers);
            if *left == 0 {
                let tag = *tag;
                self.flushes.remove(at);
                self.schedule(now, Event::Done { tag, queue: None });
            } else {
                at += 1;
            }
        }
        self.admit(now);
    }

    fn handle(&mut self, now: u64, event: Event, done: &mut Vec<u32>) {
        match event {
            Event::Begin { slot } => self.begin_read(now, slot),
            Event::Sensed { slot, channel, bytes } => self.finish_sense(now, slot, channel, bytes),
            Event::Carried { slot, bytes } => {
                let arrived = self.servers.link(now, bytes);
                self.schedule(arrived, Event::Arrived { slot });
            }
            Event::Arrived { slot } => self.part_done(now, slot),
            Event::Filled { slot } => self.fill(now, slot),
            Event::AtDie { program } => self.at_die(now, program),
            Event::Programmed { program } => self.finish_program(now, program),
            Event::Die { die, number } => self.die_ends(now, die, number),
            Event::Done { tag, queue } => {
                self.commands -= 1;
                done.push(tag);
                if let Some(queue) = queue {
                    self.front.done(queue);
                    self.fetch(now);
                }
            }
        }
    }
}

impl Disk for Flash {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        nowhere(now, request)
    }
}

impl DeviceModel for Flash {
    fn queue_depth(&self) -> u32 {
        self.settings.queue_depth
    }

    fn queues(&self) -> u32 {
        self.settings.queues
    }

    fn use_queues(&mut self, nr: u32) {
        assert!(
            (1..=self.settings.queues).contains(&nr),
            "the device offers {} queues, not {nr}",
            self.settings.queues
        );
        self.front.resize(nr);
    }

    fn suspend_limits(&self) -> [u64; 2] {
        let limits = |priority: dies::Priority| {
            [priority.program_suspends.into(), priority.erase_suspends.into()]
        };
        self.settings.priority.map_or([0, 0], limits)
    }

    fn sectors(&self) -> u64 {
        u64::from(self.ftl.shape.units) * UNIT_SECTORS
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn is_flash(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, command: Command) {
        self.submit_on(now, 0, command);
    }

    fn submit_on(&mut self, now: Time, queue: u32, command: Command) {
        assert!(
            self.next_event().is_none_or(|due| due >= now),
            "what is due must happen before the next command comes"
        );
        let now = now.as_ns();
        self.pass_time(now);
        self.commands += 1;
        match command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                let open = self.front.open(queue);
                check(tag, sector, nr_sectors, self.sectors(), open, self.settings.queue_depth);
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * SECTOR_BYTES;
                self.front
                    .arrive(op, Inside { tag, queue, sector, nr: nr_sectors.into(), left: 0 });
                self.fetch(now);
            }
            Command::Flush { tag } => {
                self.program(now);
                if self.programming == 0 {
                    self.schedule(now, Event::Done { tag, queue: None });
                } else {
                    self.flushes.push((tag, self.programs_begun, self.programming));
                }
            }
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, ..))| Time::from_ns(*at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > now.as_ns() {
                break;
            }
            self.events.pop();
            self.pass_time(at);
            self.handle(at, event, done);
        }
        self.pass_time(now.as_ns());
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }

    fn copy(&self, seed: u64) -> Option<Box<dyn DeviceModel>> {
        let mut copy = self.clone();
        copy.ftl.reseed(seed);
        Some(Box::new(copy))
    }

    fn trial_ms(&self) -> u64 {
        self.settings.trial_ms
    }
}

#[cfg(test)]
mod tests;
