//! The world around the two elevators.

use elevator::{
    BlockRequest, Build, Elevator, ElevatorKind, Finished, Geometry, InsertAt, Merge, NoDisk, Op, Priority, SeekCurve,
    Time, Tunable,
};
use kernel_core::{CElevator, Ops};

use super::random::Random;
use super::{Act, Tally, Trace};

/// Sectors of the disk.
const DISK: u64 = 1 << 22;
/// The largest request.
const MAX_SECTORS: u32 = 1024;

type Outcome = Result<(), String>;

/// How a process asks.
#[derive(Debug, Clone, Copy)]
struct Client {
    /// Its number; a new one when it ends and another one takes its place.
    number: u32,
    /// Where its last request ended.
    at: u64,
    /// Most requests go on there; of 100.
    sequential: u64,
    /// How far the others are off.
    spread: u64,
    think_ns: u64,
    /// Writes and synchronous ones, of 100.
    writes: u64,
    sync: u64,
    /// It asks again only when its request has completed.
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Held,
    /// The device has it until then.
    Device(Time),
}

#[derive(Debug, Clone, Copy)]
struct Known {
    request: BlockRequest,
    place: Place,
    /// It did not come to the dispatch list by a decision.
    at_head: bool,
}

/// A number whose process has ended.
#[derive(Debug, Clone, Copy)]
struct Former {
    number: u32,
    /// Requests from this sequence number on were made after the last of the process had gone.
    clear_from: Option<u64>,
}

/// Processes, a device, and two elevators between them.
#[derive(Debug)]
pub struct World {
    kind: &'static [Tunable],
    rust: Box<dyn Elevator>,
    c: CElevator,
    random: Random,
    now: Time,
    depth: usize,
    /// Operations that nobody would expect, of 1000.
    chaos: u64,
    clients: Vec<Client>,
    /// When each client asks next.
    asks: Vec<Option<Time>>,
    known: Vec<Option<Known>>,
    in_device: usize,
    free: Vec<u32>,
    /// Requests that exist, by number.
    outstanding: Vec<u32>,
    former: Vec<Former>,
    reusable: Vec<u32>,
    seq: u64,
    tally: Tally,
    trace: Trace,
    looked_at: usize,
}

fn geometry(random: &mut Random) -> Geometry {
    let mut seek =
        SeekCurve { first: vec![], knee: 383, a_ns: 3_240_000, b_ns: 400_000, c_ns: 8_000_000, e_ps: 8_000_000 };
    match random.below(8) {
        0 => return Geometry::default(),
        // Far from the curve, so that it shows when they are dropped.
        1 | 2 => seek.first = (1..=40).map(|distance| 20_000 * distance).collect(),
        3 => (seek.knee, seek.b_ns, seek.e_ps) = (random.below(5000), random.below(1_000_000), random.below(9_999_999)),
        _ => {}
    }
    let sectors_per_cylinder = random.of(&[1368, 64, 5000, 800_000]);
    Geometry { cylinders: DISK / sectors_per_cylinder, sectors_per_cylinder, seek }
}

fn client(random: &mut Random, number: u32) -> Client {
    Client {
        number,
        at: random.below(DISK / 8) * 8,
        sequential: random.of(&[100, 95, 60, 0]),
        spread: random.of(&[64, 4096, 100_000, DISK]),
        think_ns: random.of(&[0, 200_000, 1_000_000, 3_500_000, 7_000_000, 40_000_000]),
        writes: random.of(&[0, 0, 0, 20, 100]),
        sync: random.of(&[0, 50, 100, 100]),
        closed: random.percent(70),
    }
}

impl World {
    pub fn new(rust: &ElevatorKind, c: &'static Ops, seed: u64) -> World {
        let mut random = Random::new(seed);
        let nr_tags = random.of(&[4, 16, 64, 128]);
        let build = Build {
            hz: random.of(&[100, 250, 300, 1000, 1000]),
            nr_tags,
            geometry: geometry(&mut random),
            ..Build::default()
        };
        let nr = random.between(1, 6) as u32;
        let clients: Vec<Client> = (0..nr).map(|number| client(&mut random, number)).collect();
        World {
            kind: rust.tunables,
            rust: (rust.build)(&build),
            c: CElevator::new(c, &build),
            // A world may be old already: ticks count from the boot.
            now: Time::from_ns(random.of(&[0, 0, 123_456_789, 1 << 50, 10_000_000_000_000_000])),
            depth: random.of(&[1, 1, 1, 2, 4, 32, 64]),
            chaos: random.of(&[5, 50, 300]),
            asks: vec![Some(Time::ZERO); clients.len()],
            clients,
            known: vec![None; nr_tags as usize],
            in_device: 0,
            free: (0..nr_tags).rev().collect(),
            outstanding: vec![0; nr as usize],
            former: Vec::new(),
            reusable: Vec::new(),
            seq: 0,
            tally: Tally::default(),
            trace: Trace::default(),
            looked_at: 0,
            random,
        }
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    pub fn tally(&self) -> Tally {
        let of = self.rust.anticipation().expect("both anticipate");
        Tally { waits: of.started, successes: of.successes, failures: of.failures, ..self.tally }
    }

    /// One operation, and all questions after it.
    pub fn step(&mut self) -> Outcome {
        if self.tally.operations == 0 {
            self.settle()?;
        }
        self.tally.operations += 1;
        if self.random.below(1000) < self.chaos {
            self.anything()?
        } else {
            self.as_usual()?
        }
        self.compare()
    }

    fn compare(&mut self) -> Outcome {
        same("held", self.rust.len(), self.c.len())?;
        same("next timer", self.rust.next_timer(), self.c.next_timer())?;
        same("anticipation", self.rust.anticipation(), self.c.anticipation())?;
        for client in &self.clients {
            let of = [self.rust.may_exceed(client.number), self.c.may_exceed(client.number)];
            same("may exceed", of[0], of[1])?;
        }
        // Tunables change only where they are set, and there all are compared: one after each operation is enough.
        self.looked_at = (self.looked_at + 1) % self.kind.len();
        self.compare_tunable(self.kind[self.looked_at].name)
    }

    fn compare_tunable(&self, name: &str) -> Outcome {
        same(name, self.rust.get(name), self.c.get(name))
    }

    /// The device is given what it can take; else the next thing happens that is due.
    fn as_usual(&mut self) -> Outcome {
        if self.in_device < self.depth && self.random.percent(80) && self.dispatch()? {
            return Ok(());
        }
        let asks = self.asks.iter().flatten().min().filter(|_| !self.free.is_empty()).copied();
        let done = self.due().map(|(at, _)| at);
        let timer = self.rust.next_timer();
        let Some(at) = [asks, done, timer].into_iter().flatten().min() else {
            self.now = self.now + self.random.below(5_000_000);
            let any = self.random.below(self.clients.len() as u64) as usize;
            self.asks[any] = Some(self.now);
            return Ok(());
        };
        self.now = self.now.max(at);
        if done.is_some_and(|done| done <= at) {
            self.complete()
        } else if asks.is_some_and(|asks| asks <= at) {
            let who = self.asks.iter().position(|ask| ask.is_some_and(|ask| ask <= at)).expect("somebody asks");
            self.ask(who)
        } else {
            // Timers may come late.
            self.now = self.now + self.random.of(&[0, 0, 0, 1, 300_000, 20_000_000]);
            self.on_timer()
        }
    }

    /// Whatever may happen at any time.
    fn anything(&mut self) -> Outcome {
        match self.random.below(100) {
            0..10 => self.dispatch().map(|_| ()),
            10..20 => {
                let who = self.random.below(self.clients.len() as u64) as usize;
                self.ask(who)
            }
            20..25 => self.on_timer(),
            25..35 => {
                let jump = self.random.of(&[1, 999, 100_000, 4_000_000, 30_000_000, 700_000_000, 90_000_000_000]);
                self.now = self.now + self.random.below(jump + 1);
                Ok(())
            }
            35..60 => self.merge(),
            60..75 => self.coalesce(),
            75..80 => self.give_back(),
            80..84 => self.insert_at_head(),
            84..90 => self.exit(),
            90..97 => self.set(),
            _ => self.complete(),
        }
    }

    /// Whether there was something.
    fn dispatch(&mut self) -> Result<bool, String> {
        if self.in_device == self.depth {
            return Ok(false);
        }
        self.trace.note(Act::Dispatch(self.now));
        let given = self.rust.dispatch(self.now, &NoDisk);
        same("dispatched", given, self.c.dispatch(self.now, &NoDisk))?;
        let Some(request) = given else {
            self.tally.refused += u64::from(!self.rust.is_empty());
            return Ok(false);
        };
        let service = self.random.of(&[1000, 200_000, 5_000_000, 18_000_000]);
        let due = self.now + self.random.below(service) + 1;
        let known = self.known[request.tag as usize].as_mut().expect("what is dispatched exists");
        (known.request, known.place) = (request, Place::Device(due));
        let chosen = !known.at_head;
        self.in_device += 1;
        self.tally.dispatched += 1;
        // A request that was made after the last one of a former process had gone has been chosen: nobody waits for that one.
        let outstanding = &self.outstanding;
        let next = self.seq;
        let reusable = &mut self.reusable;
        self.former.retain_mut(|former| {
            if former.clear_from.is_some_and(|from| chosen && request.seq >= from) {
                reusable.push(former.number);
                return false;
            }
            if outstanding[former.number as usize] == 0 {
                former.clear_from.get_or_insert(next);
            }
            true
        });
        Ok(true)
    }

    /// What the device finishes next, and when.
    fn due(&self) -> Option<(Time, u32)> {
        let in_device = self.known.iter().flatten().filter_map(|known| match known.place {
            Place::Device(due) => Some((due, known.request.tag)),
            Place::Held => None,
        });
        in_device.min()
    }

    fn complete(&mut self) -> Outcome {
        let Some((_, tag)) = self.due() else { return Ok(()) };
        self.trace.note(Act::Complete(self.now, tag));
        let request = self.known[tag as usize].expect("the device has it").request;
        let done = Finished { request, issued: self.now };
        self.rust.complete(self.now, &done);
        self.c.complete(self.now, &done);
        self.in_device -= 1;
        self.gone(&request);
        if let Some(at) = self.clients.iter().position(|client| client.number == request.process)
            && self.clients[at].closed
        {
            let think = self.clients[at].think_ns;
            let think = if self.random.percent(80) {
                think + self.random.below(300_000)
            } else {
                self.random.below(30_000_000)
            };
            self.asks[at] = Some(self.now + think);
        }
        Ok(())
    }

    fn gone(&mut self, request: &BlockRequest) {
        self.known[request.tag as usize] = None;
        self.free.push(request.tag);
        self.outstanding[request.process as usize] -= 1;
    }

    fn on_timer(&mut self) -> Outcome {
        self.trace.note(Act::OnTimer(self.now));
        self.rust.on_timer(self.now);
        self.c.on_timer(self.now);
        self.tally.timers += 1;
        Ok(())
    }

    /// What a client would ask for now.
    fn wish(&mut self, who: usize) -> BlockRequest {
        let client = self.clients[who];
        let random = &mut self.random;
        let sector = if random.percent(client.sequential) {
            client.at
        } else if random.percent(3) {
            // Where another request starts: an alias.
            let other = random.below(self.known.len() as u64) as usize;
            self.known[other].map_or(client.at, |known| known.request.sector)
        } else {
            (client.at + random.below(2 * client.spread)).saturating_sub(client.spread)
        };
        BlockRequest {
            tag: u32::MAX,
            seq: self.seq,
            process: client.number,
            op: if random.percent(client.writes) { Op::Write } else { Op::Read },
            sector: sector % DISK,
            nr_sectors: random.of(&[8, 8, 8, 1, 256, 1024]),
            sync: random.percent(client.sync),
            meta: false,
            priority: Priority::default(),
            allocated: self.now,
            deadline: None,
        }
    }

    fn made(&mut self, who: usize) -> Option<BlockRequest> {
        let tag = self.free.pop()?;
        let request = BlockRequest { tag, ..self.wish(who) };
        self.seq += 1;
        self.clients[who].at = request.end() % DISK;
        self.outstanding[request.process as usize] += 1;
        self.known[tag as usize] = Some(Known { request, place: Place::Held, at_head: false });
        Some(request)
    }

    fn ask(&mut self, who: usize) -> Outcome {
        let Some(request) = self.made(who) else { return Ok(()) };
        self.trace.note(Act::Insert(self.now, request));
        self.rust.insert(self.now, request, InsertAt::Sorted);
        self.c.insert(self.now, request, InsertAt::Sorted);
        let client = self.clients[who];
        self.asks[who] = (!client.closed).then(|| self.now + client.think_ns + self.random.below(2_000_000));
        Ok(())
    }

    fn insert_at_head(&mut self) -> Outcome {
        let who = self.random.below(self.clients.len() as u64) as usize;
        // A process begins with an ordinary request: the Rust elevators take no note of a number that is given anew otherwise.
        if self.outstanding[self.clients[who].number as usize] == 0 {
            return Ok(());
        }
        let Some(request) = self.made(who) else { return Ok(()) };
        self.insert_before_all(request);
        self.tally.at_head += 1;
        Ok(())
    }

    fn give_back(&mut self) -> Outcome {
        let Some((_, tag)) = self.due() else { return Ok(()) };
        let request = self.known[tag as usize].expect("the device has it").request;
        self.insert_before_all(request);
        self.in_device -= 1;
        self.tally.given_back += 1;
        Ok(())
    }

    fn insert_before_all(&mut self, request: BlockRequest) {
        self.trace.note(Act::InsertAtHead(self.now, request));
        self.rust.insert(self.now, request, InsertAt::Head);
        self.c.insert(self.now, request, InsertAt::Head);
        self.known[request.tag as usize] = Some(Known { request, place: Place::Held, at_head: true });
    }

    /// Some request that exists.
    fn some(&mut self) -> Option<BlockRequest> {
        let from = self.random.below(self.known.len() as u64) as usize;
        let around = self.known[from..].iter().chain(&self.known[..from]);
        around.flatten().next().map(|known| known.request)
    }

    fn merge(&mut self) -> Outcome {
        let Some(request) = self.some() else { return Ok(()) };
        let who = self.random.below(self.clients.len() as u64) as usize;
        let mut piece = BlockRequest { op: request.op, nr_sectors: self.random.of(&[1, 8, 64]), ..self.wish(who) };
        let how = self.random.of(&[Merge::Back, Merge::Front]);
        piece.sector = match how {
            Merge::Back => request.end(),
            Merge::Front => request.sector.saturating_sub(u64::from(piece.nr_sectors)),
        };
        if how == Merge::Front && piece.end() != request.sector {
            return Ok(());
        }
        if self.random.percent(10) {
            piece.op = if piece.op == Op::Read { Op::Write } else { Op::Read };
        }
        self.trace.note(Act::AskToMerge(request.tag, piece, how));
        let allowed = self.rust.allow_merge(&request, &piece, how);
        same("allowed to merge", allowed, self.c.allow_merge(&request, &piece, how))?;
        self.compare_front(&piece)?;
        if !allowed || piece.op != request.op || request.nr_sectors + piece.nr_sectors > MAX_SECTORS {
            return Ok(());
        }
        self.tally.merged += 1;
        self.grow(&request, &piece)
    }

    /// The core finds a request at the piece's front if and only if the Rust elevator would let a queue join it.
    fn compare_front(&mut self, piece: &BlockRequest) -> Outcome {
        self.trace.note(Act::AskForFront(*piece, MAX_SECTORS));
        let fits = |known: &Known| {
            known.request.sector == piece.end()
                && known.request.op == piece.op
                && known.request.nr_sectors + piece.nr_sectors <= MAX_SECTORS
                && self.rust.allow_merge(&known.request, piece, Merge::Front)
        };
        let held = self.known.iter().flatten();
        let youngest = held.filter(|known| fits(known)).map(|known| known.request).max_by_key(|request| request.seq);
        same("front merge", youngest.map(|request| request.tag), self.c.front_merge(piece, MAX_SECTORS))?;
        self.tally.fronts_found += u64::from(youngest.is_some());
        Ok(())
    }

    /// A held request takes a piece that it touches.
    fn grow(&mut self, before: &BlockRequest, piece: &BlockRequest) -> Outcome {
        let sector = before.sector.min(piece.sector);
        let after = BlockRequest { sector, nr_sectors: before.nr_sectors + piece.nr_sectors, ..*before };
        self.trace.note(Act::Merge(self.now, before.tag, after));
        self.rust.merged(self.now, before, &after);
        self.c.merged(self.now, before, &after);
        self.known[before.tag as usize].as_mut().expect("what grows is held").request = after;
        Ok(())
    }

    /// Two requests that touch, if some are found quickly.
    fn neighbours(&mut self) -> Option<(BlockRequest, BlockRequest)> {
        for _ in 0..16 {
            let one = self.some()?;
            let touches = |two: &&Known| {
                let two = two.request;
                two.sector == one.end() && two.op == one.op && one.nr_sectors + two.nr_sectors <= 4 * MAX_SECTORS
            };
            if let Some(two) = self.known.iter().flatten().find(touches) {
                return Some((one, two.request));
            }
        }
        None
    }

    /// Two held requests that touch become one.
    fn coalesce(&mut self) -> Outcome {
        let Some((one, two)) = self.neighbours() else { return Ok(()) };
        for (request, piece) in [(one, two), (two, one)] {
            self.trace.note(Act::AskToMerge(request.tag, piece, Merge::Back));
            let allowed = self.rust.allow_merge(&request, &piece, Merge::Back);
            same("allowed to coalesce", allowed, self.c.allow_merge(&request, &piece, Merge::Back))?;
            if !allowed {
                return Ok(());
            }
        }
        self.trace.note(Act::Coalesce(self.now, one.tag, two.tag));
        self.rust.coalesced(self.now, &one, &two);
        self.c.coalesced(self.now, &one, &two);
        self.gone(&two);
        self.tally.coalesced += 1;
        self.compare()?;
        self.grow(&one, &two)
    }

    /// A process ends, and another one begins in its place: with a number that was never used, or one that is free again.
    fn exit(&mut self) -> Outcome {
        let who = self.random.below(self.clients.len() as u64) as usize;
        let number = self.clients[who].number;
        self.trace.note(Act::Exit(self.now, number));
        self.rust.exited(self.now, number);
        self.c.exited(self.now, number);
        self.former.push(Former { number, clear_from: None });
        self.tally.exits += 1;
        self.tally.exits_with_requests += u64::from(self.outstanding[number as usize] > 0);
        let number = match self.reusable.pop() {
            Some(number) => {
                self.tally.numbers_given_anew += 1;
                number
            }
            None => {
                self.outstanding.push(0);
                self.outstanding.len() as u32 - 1
            }
        };
        self.clients[who] = client(&mut self.random, number);
        self.asks[who] = Some(self.now + self.random.below(20_000_000));
        Ok(())
    }

    fn set(&mut self) -> Outcome {
        let which = self.random.below(self.kind.len() as u64) as usize;
        self.set_one(which)
    }

    /// Half of all worlds begin with some switches on.
    fn settle(&mut self) -> Outcome {
        let chance = self.random.of(&[0, 0, 25, 50]);
        let on = |world: &mut World, which: usize| world.kind[which].unit == "switch" && world.random.percent(chance);
        (0..self.kind.len()).try_for_each(|which| if on(self, which) { self.set_one(which) } else { Ok(()) })
    }

    fn set_one(&mut self, which: usize) -> Outcome {
        let tunable = &self.kind[which];
        let range = tunable.max - tunable.min;
        let usual = range.min(self.random.of(&[4, 20, 100, 3000]));
        let value = tunable.min
            + match self.random.below(10) {
                0 => 0,
                1 => range,
                2 => self.random.below(range + 1),
                // Where waits and seeks are.
                _ => self.random.below(usual + 1),
            };
        self.trace.note(Act::Set(tunable.name, value));
        self.rust.set(tunable.name, value);
        self.c.set(tunable.name, value);
        self.tally.tunables_set += 1;
        self.kind.iter().try_for_each(|tunable| self.compare_tunable(tunable.name))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, rust: T, c: T) -> Outcome {
    if rust == c { Ok(()) } else { Err(format!("{what}: {rust:?} in Rust, {c:?} in C")) }
}
