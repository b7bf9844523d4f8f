//! The environment of the two elevators.

use elevator::testing::request;
use elevator::{
    BlockRequest, Build, Elevator, ElevatorKind, Finished, Geometry, NoDisk, Op, SeekCurve, Time,
    Tunable,
};
use kernel_model::{CElevator, Ops};

use super::random::Random;
use super::{Act, Tally, Trace};

pub(super) const DISK: u64 = 1 << 22;
pub(super) const MAX_SECTORS: u32 = 1024;

pub(super) type Outcome = Result<(), String>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    /// A process number; its successor may get a new one.
    pub(super) number: u32,
    pub(super) at: u64,
    /// In percent.
    pub(super) sequential: u64,
    /// Of other requests.
    pub(super) spread: u64,
    pub(super) think_ns: u64,
    /// In percent.
    pub(super) writes: u64,
    pub(super) sync: u64,
    /// It waits for each request to complete.
    pub(super) closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Held,
    /// In the device until then.
    Device(Time),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) request: BlockRequest,
    pub(super) place: State,
    /// Not on the dispatch list by a decision.
    pub(super) at_head: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Former {
    pub(super) number: u32,
    /// Requests from this sequence number on were created after the process's last one was gone.
    pub(super) clear_from: Option<u64>,
}

/// Processes, a device, and two elevators between them.
#[derive(Debug)]
pub struct World {
    pub(super) kind: &'static [Tunable],
    pub(super) rust: Box<dyn Elevator>,
    pub(super) c: CElevator,
    pub(super) random: Random,
    pub(super) now: Time,
    pub(super) depth: usize,
    /// Unusual operations per 1000.
    /// Seldom a random read, among the many writes of another.
    pub(super) among_writes: bool,
    pub(super) chaos: u64,
    pub(super) clients: Vec<Client>,
    pub(super) asks: Vec<Option<Time>>,
    pub(super) known: Vec<Option<Known>>,
    pub(super) in_device: usize,
    pub(super) free: Vec<u32>,
    /// Existing requests by number.
    pub(super) outstanding: Vec<u32>,
    pub(super) former: Vec<Former>,
    pub(super) reusable: Vec<u32>,
    pub(super) seq: u64,
    pub(super) tally: Tally,
    pub(super) trace: Trace,
    pub(super) looked_at: usize,
    /// The core learns from the device, so service is sequential, with times by distance.
    pub(super) shares: bool,
    device: Device,
}

#[derive(Debug, Clone, Copy, Default)]
struct Device {
    near_ns: u64,
    far_ns: u64,
    sector_ns: u64,
    end: u64,
    busy_until: Time,
}

impl Device {
    fn any(random: &mut Random) -> Device {
        Device {
            near_ns: random.pick(&[50_000, 80_000, 400_000]),
            far_ns: random.pick(&[80_000, 8_000_000, 12_000_000]),
            sector_ns: random.pick(&[0, 1000, 5000]),
            ..Device::default()
        }
    }

    fn serve(&mut self, random: &mut Random, now: Time, request: &BlockRequest) -> Time {
        let way = if self.end.abs_diff(request.sector) < 4096 { self.near_ns } else { self.far_ns };
        let takes = way + self.sector_ns * u64::from(request.nr_sectors) + random.below(way / 8);
        // Some complete together with the previous one.
        let takes = if random.percent(5) { 1 } else { takes };
        self.end = request.end();
        self.busy_until = self.busy_until.max(now) + takes;
        self.busy_until
    }
}

fn geometry(random: &mut Random) -> Geometry {
    let mut seek = SeekCurve {
        first: vec![],
        knee: 383,
        a_ns: 3_240_000,
        b_ns: 400_000,
        c_ns: 8_000_000,
        e_ps: 8_000_000,
    };
    match random.below(8) {
        0 => return Geometry::default(),
        // Far from the curve, so that dropping them shows.
        1 | 2 => seek.first = (1..=40).map(|distance| 20_000 * distance).collect(),
        3 => {
            (seek.knee, seek.b_ns, seek.e_ps) =
                (random.below(5000), random.below(1_000_000), random.below(9_999_999))
        }
        _ => {}
    }
    let sectors_per_cylinder = random.pick(&[1368, 64, 5000, 800_000]);
    Geometry {
        cylinders: DISK / sectors_per_cylinder,
        sectors_per_cylinder,
        seek,
        ..Geometry::default()
    }
}

pub(super) fn client(random: &mut Random, number: u32) -> Client {
    Client {
        number,
        at: random.below(DISK / 8) * 8,
        sequential: random.pick(&[100, 95, 60, 0]),
        spread: random.pick(&[64, 4096, 100_000, DISK]),
        think_ns: random.pick(&[0, 200_000, 1_000_000, 3_500_000, 7_000_000, 40_000_000]),
        writes: random.pick(&[0, 0, 0, 20, 100]),
        sync: random.pick(&[0, 50, 100, 100]),
        closed: random.percent(70),
    }
}

impl World {
    pub fn new(rust: &ElevatorKind, c: &'static Ops, seed: u64) -> World {
        let mut random = Random::new(seed);
        let nr_tags = random.pick(&[4, 16, 64, 128]);
        let build = Build {
            hz: random.pick(&[100, 250, 300, 1000, 1000]),
            nr_tags,
            geometry: geometry(&mut random),
            ..Build::default()
        };
        let nr = random.between(1, 6) as u32;
        let mut clients: Vec<Client> = (0..nr).map(|number| client(&mut random, number)).collect();
        // Now and then a random read among the many writes of another.
        let among_writes = seed % 8 == 7;
        if among_writes {
            let far = |client| Client { sequential: 0, spread: DISK, ..client };
            let [reader, writer] = [0, 1].map(|number| far(client(&mut random, number)));
            let reader = Client { writes: 0, think_ns: 7_000_000, closed: true, ..reader };
            clients = vec![reader, Client { writes: 100, think_ns: 0, closed: false, ..writer }];
        }
        World {
            kind: rust.tunables,
            rust: (rust.build)(&build),
            c: CElevator::new(c, &build),
            // A world may be old already: ticks count from boot.
            now: Time::from_ns(random.pick(&[0, 0, 123_456_789, 1 << 50, 10_000_000_000_000_000])),
            depth: if among_writes { 32 } else { random.pick(&[1, 1, 1, 2, 4, 32, 64]) },
            among_writes,
            chaos: random.pick(&[5, 50, 300]),
            asks: vec![Some(Time::ZERO); clients.len()],
            clients,
            known: vec![None; nr_tags as usize],
            in_device: 0,
            free: (0..nr_tags).rev().collect(),
            outstanding: vec![0; nr.max(2) as usize],
            former: Vec::new(),
            reusable: Vec::new(),
            seq: 0,
            tally: Tally::default(),
            trace: Trace::default(),
            looked_at: 0,
            shares: c.shares(),
            device: if c.shares() && (among_writes || random.percent(70)) {
                Device::any(&mut random)
            } else {
                Device::default()
            },
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

    pub fn step(&mut self) -> Outcome {
        if self.tally.operations == 0 {
            self.settle()?;
        }
        self.tally.operations += 1;
        if self.random.below(1000) < self.chaos {
            self.step_random()?
        } else {
            self.step_normal()?
        }
        self.compare()
    }

    pub(super) fn compare(&mut self) -> Outcome {
        same("held", self.rust.len(), self.c.len())?;
        same("next timer", self.rust.next_timer(), self.c.next_timer())?;
        same("anticipation", self.rust.anticipation(), self.c.anticipation())?;
        for client in &self.clients {
            for op in [Op::Read, Op::Write].into_iter().take(1 + usize::from(self.shares)) {
                let request = BlockRequest { process: client.number, op, ..request(0, 0) };
                let limits = [&*self.rust, &self.c].map(|of| of.limit_depth(&request, 16));
                same("depth limit", limits[0], limits[1])?;
            }
        }
        // Tunables change only where they are set and compared; otherwise one per operation
        // suffices.
        self.looked_at = (self.looked_at + 1) % self.kind.len();
        self.compare_tunable(self.kind[self.looked_at].name)
    }

    pub(super) fn compare_tunable(&self, name: &str) -> Outcome {
        same(name, self.rust.get(name), self.c.get(name))
    }

    /// Or handles the next event due.
    fn step_normal(&mut self) -> Outcome {
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
            let who = self
                .asks
                .iter()
                .position(|ask| ask.is_some_and(|ask| ask <= at))
                .expect("somebody asks");
            self.ask(who)
        } else {
            // Timers may be late.
            self.now = self.now + self.random.pick(&[0, 0, 0, 1, 300_000, 20_000_000]);
            self.on_timer()
        }
    }

    fn step_random(&mut self) -> Outcome {
        match self.random.below(100) {
            0..10 => self.dispatch().map(|_| ()),
            10..20 => {
                let who = self.random.below(self.clients.len() as u64) as usize;
                self.ask(who)
            }
            20..25 => self.on_timer(),
            25..35 => {
                let jump = self.random.pick(&[
                    1,
                    999,
                    100_000,
                    4_000_000,
                    30_000_000,
                    700_000_000,
                    90_000_000_000,
                ]);
                let by = self.random.below(jump + 1);
                // A core that learns from a clock must tolerate one that jumps back.
                self.now = match self.shares && self.random.percent(30) {
                    true => Time::from_ns(self.now.as_ns().saturating_sub(by)),
                    false => self.now + by,
                };
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

    fn dispatch(&mut self) -> Result<bool, String> {
        if self.in_device == self.depth {
            return Ok(false);
        }
        self.trace.note(Act::Dispatch(self.now));
        let given = self.rust.dispatch(self.now, &NoDisk);
        same("dispatched", given, self.c.dispatch(self.now, &NoDisk))?;
        let Some(tag) = given else {
            self.tally.refused += u64::from(!self.rust.is_empty());
            return Ok(false);
        };
        let known = self.known[tag as usize].as_mut().expect("what is dispatched exists");
        let request = known.request;
        let due = if self.device.near_ns > 0 {
            self.device.serve(&mut self.random, self.now, &request)
        } else {
            let service = self.random.pick(&[1000, 200_000, 5_000_000, 18_000_000]);
            self.now + self.random.below(service) + 1
        };
        known.place = State::Device(due);
        let chosen = !known.at_head;
        self.in_device += 1;
        self.tally.dispatched += 1;
        // That process is not awaited: the chosen request was created after its last one.
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

    /// The next completion.
    pub(super) fn due(&self) -> Option<(Time, u32)> {
        let in_device = self.known.iter().flatten().filter_map(|known| match known.place {
            State::Device(due) => Some((due, known.request.tag)),
            State::Held => None,
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

    pub(super) fn gone(&mut self, request: &BlockRequest) {
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
}

pub(super) fn same<T: PartialEq + std::fmt::Debug>(what: &str, rust: T, c: T) -> Outcome {
    if rust == c { Ok(()) } else { Err(format!("{what}: {rust:?} in Rust, {c:?} in C")) }
}
