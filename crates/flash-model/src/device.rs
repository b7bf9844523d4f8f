//! The device: what holds its parts together, and the life of a command.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::config::{Condition, Config};
use crate::dies::{Dies, Done};
use crate::events::Events;
use crate::front::Front;
use crate::ftl::{Ftl, MAX_UNITS, UNIT_BYTES};
use crate::random::{Origin, Random};
use crate::servers::Servers;
use crate::types::{
    Completion, Counters, Event, Inside, Op, Program, SECTOR_BYTES, Settings, Transfer,
    UNIT_SECTORS,
};

/// Its write has already completed.
const NO_SLOT: u32 = u32::MAX;
/// Maximum transfer, 8 GiB in sectors: no product of bytes and nanoseconds overflows.
pub const MAX_SECTORS: u32 = 1 << 24;

#[derive(Debug, Clone)]
pub struct Flash {
    config: Config,
    /// Of the preconditioning.
    origin: Origin,
    /// Of the later draws, if they have their own.
    reseeded: Option<Origin>,
    pub(crate) ftl: Ftl,
    settings: Settings,
    front: Front,
    buffered: u64,
    /// Unit, and the command that waits for it.
    pub(crate) packing: Vec<(u32, u32)>,
    pub(crate) servers: Servers,
    /// `Some` if the dies prefer reads; otherwise they are among the servers.
    pub(crate) dies: Option<Dies>,
    pub(crate) finished: Done,
    events: Events,
    pub(crate) inside: Vec<Inside>,
    free_slots: Vec<u32>,
    pub(crate) programs: Vec<Program>,
    free_programs: Vec<u32>,
    programs_begun: u64,
    programming: u64,
    waiting: VecDeque<u32>,
    /// Tag, last program covered, covered programs in flight.
    flushes: Vec<(u32, u64, u64)>,
    commands: u32,
    clock_ns: u64,
    pub(crate) counters: Counters,
}

impl Flash {
    /// Makes a device and preconditions it.
    ///
    /// # Panics
    /// If the configuration does not pass [`Config::check`].
    pub fn new(config: Config, origin: Origin) -> Flash {
        assert!(config.check(), "the figures of a flash device contradict each other");
        let Config { shape, times, settings, condition } = config;
        let mut ftl = Ftl::new(shape, Random::new(origin));
        if condition != Condition::Fresh {
            ftl.precondition(condition == Condition::Steady);
        }
        Flash {
            config,
            origin,
            reseeded: None,
            settings,
            front: Front::new(settings.command_slots),
            buffered: 0,
            packing: Vec::with_capacity(MAX_UNITS),
            servers: Servers::new(shape, times),
            dies: settings.priority.map(|priority| Dies::new(priority, shape.dies())),
            finished: Done::default(),
            ftl,
            events: Events::default(),
            inside: Vec::new(),
            free_slots: Vec::new(),
            programs: Vec::new(),
            free_programs: Vec::new(),
            programs_begun: 0,
            programming: 0,
            waiting: VecDeque::new(),
            flushes: Vec::new(),
            commands: 0,
            clock_ns: 0,
            counters: Counters::default(),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The origins of the random numbers of preconditioning and, if different, of what follows.
    pub fn origins(&self) -> (Origin, Option<Origin>) {
        (self.origin, self.reseeded)
    }

    /// Draws from another sequence afterwards.
    pub fn reseed(&mut self, origin: Origin) {
        self.ftl.reseed(origin);
        self.reseeded = Some(origin);
    }

    /// Sets the queues in use before the first command; there is one by default.
    pub fn use_queues(&mut self, nr: u32) {
        let offered = self.settings.queues;
        assert!((1..=offered).contains(&nr), "the device offers {offered} queues, not {nr}");
        self.front.resize(nr);
    }

    pub fn sectors(&self) -> u64 {
        self.config.sectors()
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Accepts a transfer, which completes in a later call of [`Flash::advance`].
    ///
    /// # Panics
    /// If an event is due, the queue is full, or the sectors are not on the device.
    pub fn transfer(&mut self, now: u64, queue: u32, transfer: Transfer) {
        let Transfer { tag, op, sector, nr_sectors } = transfer;
        let (depth, sectors) = (self.settings.queue_depth, self.sectors());
        assert!(
            self.front.open(queue) < depth,
            "the device takes {depth} transfers at once; tag {tag} is one too many"
        );
        assert!(
            (1..=MAX_SECTORS).contains(&nr_sectors),
            "a request has 1 to {MAX_SECTORS} sectors, not {nr_sectors}"
        );
        assert!(
            sector.checked_add(nr_sectors.into()).is_some_and(|end| end <= sectors),
            "a request of {nr_sectors} sectors at sector {sector} is beyond the disk of {sectors} sectors"
        );
        self.begin(now);
        self.counters.transfers += 1;
        self.counters.bytes += u64::from(nr_sectors) * SECTOR_BYTES;
        self.front.arrive(op, Inside { tag, queue, sector, nr: nr_sectors.into(), left: 0 });
        self.fetch(now);
    }

    /// Accepts a flush, which completes when all data is on the medium.
    ///
    /// # Panics
    /// If an event is due.
    pub fn flush(&mut self, now: u64, tag: u32) {
        self.begin(now);
        self.program(now);
        if self.programming == 0 {
            self.schedule(now, Event::Done { tag, queue: None });
        } else {
            self.flushes.push((tag, self.programs_begun, self.programming));
        }
    }

    /// Returns the time of the next event; `None` until another command arrives.
    pub fn next_event(&self) -> Option<u64> {
        self.events.next()
    }

    /// Processes events due at `now` and reports completions, in order.
    pub fn advance(&mut self, now: u64, mut done: impl FnMut(Completion)) {
        while let Some((at, event)) = self.events.pop_if(|at, _| at <= now) {
            self.pass_time(at);
            if let Some(completion) = self.handle(at, event) {
                done(completion);
            }
        }
        self.pass_time(now);
    }

    /// Processes events before `end` up to the first completion, which stays.
    pub fn advance_inside(&mut self, end: u64) {
        let inside = |at: u64, event| at < end && !matches!(event, Event::Done { .. });
        while let Some((at, event)) = self.events.pop_if(inside) {
            self.pass_time(at);
            self.handle(at, event);
        }
    }

    fn begin(&mut self, now: u64) {
        assert!(
            self.next_event().is_none_or(|due| due >= now),
            "what is due must happen before the next command comes"
        );
        self.pass_time(now);
        self.commands += 1;
    }

    /// The time is busy if a command is inside.
    fn pass_time(&mut self, now: u64) {
        assert!(now >= self.clock_ns, "time runs forward: {now} ns after {} ns", self.clock_ns);
        if self.commands > 0 {
            self.counters.busy_ns += now - self.clock_ns;
        }
        self.clock_ns = now;
    }

    pub(crate) fn schedule(&mut self, ns: u64, event: Event) {
        self.events.schedule(self.clock_ns, ns, event);
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

    pub(crate) fn part_done(&mut self, now: u64, slot: u32) {
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
            self.counters.cached_writes += 1;
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

    pub(crate) fn finish_program(&mut self, now: u64, place: u32) {
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

    fn handle(&mut self, now: u64, event: Event) -> Option<Completion> {
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
                if let Some(queue) = queue {
                    self.front.done(queue);
                    self.fetch(now);
                }
                return Some(Completion { tag, is_flush: queue.is_none(), ns: now });
            }
        }
        None
    }
}
