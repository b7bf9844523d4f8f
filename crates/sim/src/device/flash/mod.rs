//! A flash device: channels, dies and planes as servers, a link to the host, a write buffer, and a translation layer below.
//!
//! Source: algorithms.md §3.8, the simple two-stage model (a proposal there), with the figures of MQSim, NVMeVirt and FEMU in the
//! presets. Every die, every channel and the link serve what comes to them in order of arrival.
//! - A read waits for its overhead; then each page that it touches goes through its die (the cells), the channel (only the bytes
//!   wanted), and the link. It is done with its last page.
//! - A write needs room in the buffer; its data come over the link, are packed into pages, and each full page goes through the
//!   channel and the die. With early completion it is done when its data have come and its overhead is over; otherwise when
//!   its last page is programmed, and pages that it does not fill are programmed as they are.
//! - A flush programs what is packed so far and waits for every page on its way.
//! - Planes: an operation that comes to a die joins the one that waits there, if that is of the same kind, has not begun, and
//!   leaves its plane free. A page that was not programmed yet is read from the buffer only while it is being packed.
//! - Garbage collection moves pages within a plane, without the channel; its time is the die's.
//! - Odd pages of a block can be slower to read than even ones (MSB, LSB).

mod ftl;
mod read;
mod servers;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use elevator::{BlockRequest, Disk, Geometry, Op, SECTOR_BYTES, Time};

use super::model::{Command, DeviceModel, DeviceStats, OwnClock, check, nowhere};
use ftl::{Collected, Ftl, MAX_UNITS, UNIT_BYTES};
use servers::{Servers, Times};

pub(super) use read::read;

/// Sectors of a mapping unit.
const UNIT_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

/// No command: its write was reported done long ago.
const NO_SLOT: u32 = u32::MAX;

/// A command inside.
#[derive(Debug, Clone, Copy)]
struct Inside {
    tag: u32,
    sector: u64,
    nr: u64,
    /// Pages (of a read) or units (of a write) to go.
    left: u32,
}

impl Inside {
    /// The units that it touches.
    fn units(&self) -> std::ops::Range<u64> {
        self.sector / UNIT_SECTORS..(self.sector + self.nr).div_ceil(UNIT_SECTORS)
    }
}

/// A page on its way to the medium.
#[derive(Debug, Clone, Copy)]
struct Program {
    number: u64,
    plane: u32,
    units: u32,
    collected: Collected,
    /// The commands that wait for its units.
    slots: [u32; MAX_UNITS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A read's overhead is over.
    Begin { slot: u32 },
    /// A page is in the register of its die.
    Sensed { slot: u32, channel: u32, bytes: u64 },
    /// It has come over its channel.
    Carried { slot: u32, bytes: u64 },
    /// A page of a read has arrived at the host.
    Arrived { slot: u32 },
    /// A write's data are in the buffer.
    Filled { slot: u32 },
    /// A page of data is at its die.
    AtDie { program: u32 },
    /// It is programmed.
    Programmed { program: u32 },
    /// A command is done.
    Done { tag: u32, transfer: bool },
}

/// A flash device.
#[derive(Debug, Clone)]
pub(super) struct Flash {
    ftl: Ftl,
    queue_depth: u32,
    early_completion: bool,
    trial_ms: u64,
    buffer_units: u64,
    buffered: u64,
    /// Units of the page that is being packed, with the commands that wait for them.
    packing: Vec<(u32, u32)>,
    servers: Servers,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    numbered: u64,
    inside: Vec<Inside>,
    free_slots: Vec<u32>,
    programs: Vec<Program>,
    free_programs: Vec<u32>,
    programs_begun: u64,
    programming: u64,
    waiting: VecDeque<u32>,
    /// Flushes: tag, the last program that they cover, and how many of those are on their way.
    flushes: Vec<(u32, u64, u64)>,
    transfers: u32,
    commands: u32,
    clock: OwnClock,
    stats: DeviceStats,
}

impl Flash {
    fn new(
        ftl: Ftl,
        times: Times,
        queue_depth: u32,
        buffer_units: u64,
        early_completion: bool,
        trial_ms: u64,
    ) -> Flash {
        Flash {
            queue_depth,
            early_completion,
            trial_ms,
            buffer_units,
            buffered: 0,
            packing: Vec::with_capacity(MAX_UNITS),
            servers: Servers::new(ftl.shape, times),
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
            transfers: 0,
            commands: 0,
            clock: OwnClock::default(),
            stats: DeviceStats::default(),
        }
    }

    fn pass_time(&mut self, now: u64) {
        self.clock.pass(now, self.commands > 0, &mut self.stats);
    }

    fn at(&mut self, ns: u64, event: Event) {
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

    /// A part of a command is done; with the last one the command is.
    fn part_done(&mut self, now: u64, slot: u32) {
        let inside = &mut self.inside[slot as usize];
        inside.left -= 1;
        if inside.left == 0 {
            let tag = inside.tag;
            self.free_slots.push(slot);
            self.at(now, Event::Done { tag, transfer: true });
        }
    }

    /// A read goes to the dies, page by page.
    fn begin_read(&mut self, now: u64, slot: u32) {
        let inside = self.inside[slot as usize];
        let (mut page, mut bytes) = (None, 0);
        let end = inside.sector + inside.nr;
        self.inside[slot as usize].left = 1;
        for unit in inside.units() {
            let wanted = end.min((unit + 1) * UNIT_SECTORS) - inside.sector.max(unit * UNIT_SECTORS);
            let unit = unit as u32;
            if self.packing.iter().any(|(packed, _)| *packed == unit) {
                self.inside[slot as usize].left += 1;
                self.at(now, Event::Carried { slot, bytes: wanted * SECTOR_BYTES });
                continue;
            }
            let here = self.ftl.page_of(unit);
            if page.is_some_and(|page| page != here) {
                self.sense(now, slot, page, bytes);
                bytes = 0;
            }
            page = Some(here);
            bytes += wanted * SECTOR_BYTES;
        }
        self.sense(now, slot, page, bytes);
        // The command itself was counted, so that it could not be done before all pages were asked for.
        self.part_done(now, slot);
    }

    fn sense(&mut self, now: u64, slot: u32, page: Option<(u32, u32)>, bytes: u64) {
        let Some((plane, page)) = page.filter(|_| bytes > 0) else { return };
        self.inside[slot as usize].left += 1;
        let ns = if page.is_multiple_of(2) { self.servers.times.read_ns } else { self.servers.times.read_msb_ns };
        let sensed = self.servers.die(now, plane, false, ns);
        let channel = self.ftl.shape.channel(self.ftl.shape.die(plane));
        self.at(sensed, Event::Sensed { slot, channel, bytes });
    }

    /// Writes that wait for room in the buffer take it, in order of arrival.
    fn admit(&mut self, now: u64) {
        while let Some(slot) = self.waiting.front().copied() {
            let inside = self.inside[slot as usize];
            let units = inside.units();
            let units = units.end - units.start;
            // A write that is larger than the buffer goes through it when it is empty.
            if self.buffered > 0 && self.buffered + units > self.buffer_units {
                if self.programming == 0 && self.buffered == self.packing.len() as u64 {
                    self.program(now);
                }
                return;
            }
            self.waiting.pop_front();
            self.buffered += units;
            let filled = self.servers.link(now, inside.nr * SECTOR_BYTES);
            self.at(filled, Event::Filled { slot });
        }
    }

    /// A write's data have come: they are packed into pages.
    fn fill(&mut self, now: u64, slot: u32) {
        let inside = self.inside[slot as usize];
        let units = inside.units();
        let count = units.end - units.start;
        self.inside[slot as usize].left = count as u32;
        let waits = if self.early_completion { NO_SLOT } else { slot };
        for unit in units {
            self.packing.push((unit as u32, waits));
            if self.packing.len() == self.ftl.shape.units_per_page as usize {
                self.program(now);
            }
        }
        if self.early_completion {
            self.stats.cached_writes += 1;
            self.free_slots.push(slot);
            let ns = self.servers.times.write_overhead_ns + count * self.servers.times.write_unit_ns;
            self.at(now + ns, Event::Done { tag: inside.tag, transfer: true });
        } else {
            self.program(now);
        }
        // What is packed, but fills no page, may be all that keeps others out.
        self.admit(now);
    }

    /// The page that is being packed goes to the medium, full or not.
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
        let program = Program { number: self.programs_begun, plane, units: count as u32, collected, slots };
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
        self.at(carried, Event::AtDie { program: place });
    }

    fn programmed(&mut self, now: u64, place: u32) {
        let program = self.programs[place as usize];
        self.free_programs.push(place);
        self.programming -= 1;
        self.buffered -= u64::from(program.units);
        let wait = if self.early_completion { 0 } else { self.servers.times.write_overhead_ns };
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
                self.at(now, Event::Done { tag, transfer: false });
            } else {
                at += 1;
            }
        }
        self.admit(now);
    }

    fn handle(&mut self, now: u64, event: Event, done: &mut Vec<u32>) {
        match event {
            Event::Begin { slot } => self.begin_read(now, slot),
            Event::Sensed { slot, channel, bytes } => {
                let carried = self.servers.channel(now, channel, bytes);
                self.at(carried, Event::Carried { slot, bytes });
            }
            Event::Carried { slot, bytes } => {
                let arrived = self.servers.link(now, bytes);
                self.at(arrived, Event::Arrived { slot });
            }
            Event::Arrived { slot } => self.part_done(now, slot),
            Event::Filled { slot } => self.fill(now, slot),
            Event::AtDie { program } => {
                let Program { plane, collected, .. } = self.programs[program as usize];
                self.stats.moved_pages += collected.programs;
                self.stats.erases += collected.erases;
                self.servers.collect(now, plane, collected);
                let programmed = self.servers.die(now, plane, true, self.servers.times.program_ns);
                self.at(programmed, Event::Programmed { program });
            }
            Event::Programmed { program } => self.programmed(now, program),
            Event::Done { tag, transfer } => {
                self.commands -= 1;
                self.transfers -= u32::from(transfer);
                done.push(tag);
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
        self.queue_depth
    }

    fn sectors(&self) -> u64 {
        u64::from(self.ftl.shape.units) * UNIT_SECTORS
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn submit(&mut self, now: Time, command: Command) {
        assert!(
            self.next_event().is_none_or(|due| due >= now),
            "what is due must happen before the next command comes"
        );
        let now = now.as_ns();
        self.pass_time(now);
        self.commands += 1;
        match command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                check(tag, sector, nr_sectors, self.sectors(), self.transfers, self.queue_depth);
                self.transfers += 1;
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * SECTOR_BYTES;
                let slot = self.slot(Inside { tag, sector, nr: nr_sectors.into(), left: 0 });
                match op {
                    Op::Read => {
                        let small = u64::from(nr_sectors) <= UNIT_SECTORS;
                        let times = &self.servers.times;
                        let wait = if small { times.read_overhead_4k_ns } else { times.read_overhead_ns };
                        self.at(now + wait, Event::Begin { slot });
                    }
                    Op::Write => {
                        self.waiting.push_back(slot);
                        self.admit(now);
                    }
                }
            }
            Command::Flush { tag } => {
                self.program(now);
                if self.programming == 0 {
                    self.at(now, Event::Done { tag, transfer: false });
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
        self.trial_ms
    }
}

#[cfg(test)]
mod tests;
