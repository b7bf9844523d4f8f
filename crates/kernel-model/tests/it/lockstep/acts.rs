//! Operations other than dispatches, completions and timers: arrivals, merges, exits and tunables.

use elevator::testing::request;
use elevator::{BlockRequest, Elevator, InsertAt, Merge, Op, PrioClass, Priority};

use super::Act;
use super::world::{DISK, Former, Known, MAX_SECTORS, Outcome, State, World, client, same};

fn priority(process: u32) -> Priority {
    match process % 8 {
        1 => Priority { class: PrioClass::BestEffort, level: 7 },
        3 => Priority { class: PrioClass::Idle, level: 0 },
        4 => Priority { class: PrioClass::BestEffort, level: 0 },
        6 => Priority { class: PrioClass::RealTime, level: 2 },
        _ => Priority::default(),
    }
}

impl World {
    fn next_request(&mut self, who: usize) -> BlockRequest {
        let client = self.clients[who];
        let random = &mut self.random;
        let sector = if random.percent(client.sequential) {
            client.at
        } else if random.percent(3) {
            // The start of another request: an alias.
            let other = random.below(self.known.len() as u64) as usize;
            self.known[other].map_or(client.at, |known| known.request.sector)
        } else {
            (client.at + random.below(2 * client.spread)).saturating_sub(client.spread)
        };
        BlockRequest {
            seq: self.seq,
            process: client.number,
            op: if random.percent(client.writes) { Op::Write } else { Op::Read },
            nr_sectors: random.pick(&[8, 8, 8, 1, 256, 1024]),
            sync: random.percent(client.sync),
            allocated: self.now,
            priority: if self.among_writes { Priority::default() } else { priority(client.number) },
            ..request(u32::MAX, sector % DISK)
        }
    }

    fn made(&mut self, who: usize) -> Option<BlockRequest> {
        let tag = self.free.pop()?;
        let request = BlockRequest { tag, ..self.next_request(who) };
        self.seq += 1;
        self.clients[who].at = request.end() % DISK;
        self.outstanding[request.process as usize] += 1;
        self.known[tag as usize] = Some(Known { request, place: State::Held, at_head: false });
        Some(request)
    }

    pub(super) fn ask(&mut self, who: usize) -> Outcome {
        let Some(request) = self.made(who) else { return Ok(()) };
        self.trace.note(Act::Insert(self.now, request));
        self.rust.insert(self.now, &request, InsertAt::Sorted);
        self.c.insert(self.now, &request, InsertAt::Sorted);
        let client = self.clients[who];
        self.asks[who] =
            (!client.closed).then(|| self.now + client.think_ns + self.random.below(2_000_000));
        Ok(())
    }

    pub(super) fn insert_at_head(&mut self) -> Outcome {
        let who = self.random.below(self.clients.len() as u64) as usize;
        // A process starts with an ordinary request: otherwise the Rust elevators miss a reuse of
        // its number.
        if self.outstanding[self.clients[who].number as usize] == 0 {
            return Ok(());
        }
        let Some(request) = self.made(who) else { return Ok(()) };
        self.insert_before_all(request);
        self.tally.at_head += 1;
        Ok(())
    }

    pub(super) fn give_back(&mut self) -> Outcome {
        let Some((_, tag)) = self.due() else { return Ok(()) };
        let request = self.known[tag as usize].expect("the device has it").request;
        self.insert_before_all(request);
        self.in_device -= 1;
        self.tally.given_back += 1;
        Ok(())
    }

    fn insert_before_all(&mut self, request: BlockRequest) {
        self.trace.note(Act::InsertAtHead(self.now, request));
        self.rust.insert(self.now, &request, InsertAt::Head);
        self.c.insert(self.now, &request, InsertAt::Head);
        self.known[request.tag as usize] =
            Some(Known { request, place: State::Held, at_head: true });
    }

    fn some(&mut self) -> Option<BlockRequest> {
        let from = self.random.below(self.known.len() as u64) as usize;
        let around = self.known[from..].iter().chain(&self.known[..from]);
        around.flatten().next().map(|known| known.request)
    }

    pub(super) fn merge(&mut self) -> Outcome {
        let Some(request) = self.some() else { return Ok(()) };
        let who = self.random.below(self.clients.len() as u64) as usize;
        let mut bio = BlockRequest {
            op: request.op,
            nr_sectors: self.random.pick(&[1, 8, 64]),
            ..self.next_request(who)
        };
        let how = self.random.pick(&[Merge::Back, Merge::Front]);
        bio.sector = match how {
            Merge::Back => request.end(),
            Merge::Front => request.sector.saturating_sub(u64::from(bio.nr_sectors)),
        };
        if how == Merge::Front && bio.end() != request.sector {
            return Ok(());
        }
        if self.random.percent(10) {
            bio.op = if bio.op == Op::Read { Op::Write } else { Op::Read };
        }
        self.trace.note(Act::AskToMerge(request.tag, bio, how));
        let allowed = self.rust.allow_merge(&request, &bio, how);
        same("allowed to merge", allowed, self.c.allow_merge(&request, &bio, how))?;
        self.compare_front(&bio)?;
        if !allowed || bio.op != request.op || request.nr_sectors + bio.nr_sectors > MAX_SECTORS {
            return Ok(());
        }
        self.tally.merged += 1;
        self.grow(&request, &bio)
    }

    /// Where the Rust elevator would let a queue merge, and only there.
    fn compare_front(&mut self, bio: &BlockRequest) -> Outcome {
        self.trace.note(Act::AskForFront(*bio, MAX_SECTORS));
        let fits = |known: &Known| {
            known.request.sector == bio.end()
                && known.request.op == bio.op
                && known.request.nr_sectors + bio.nr_sectors <= MAX_SECTORS
                && self.rust.allow_merge(&known.request, bio, Merge::Front)
        };
        let held = self.known.iter().flatten();
        let youngest = held
            .filter(|known| fits(known))
            .map(|known| known.request)
            .max_by_key(|request| request.seq);
        same(
            "front merge",
            youngest.map(|request| request.tag),
            self.c.front_merge(bio, MAX_SECTORS),
        )?;
        self.tally.fronts_found += u64::from(youngest.is_some());
        Ok(())
    }

    fn grow(&mut self, before: &BlockRequest, bio: &BlockRequest) -> Outcome {
        let sector = before.sector.min(bio.sector);
        let after =
            BlockRequest { sector, nr_sectors: before.nr_sectors + bio.nr_sectors, ..*before };
        self.trace.note(Act::Merge(self.now, before.tag, after));
        self.rust.merged(self.now, before, &after);
        self.c.merged(self.now, before, &after);
        self.known[before.tag as usize].as_mut().expect("what grows is held").request = after;
        Ok(())
    }

    /// If found quickly.
    fn neighbours(&mut self) -> Option<(BlockRequest, BlockRequest)> {
        for _ in 0..16 {
            let one = self.some()?;
            let touches = |two: &&Known| {
                let two = two.request;
                two.sector == one.end()
                    && two.op == one.op
                    && one.nr_sectors + two.nr_sectors <= 4 * MAX_SECTORS
            };
            if let Some(two) = self.known.iter().flatten().find(touches) {
                return Some((one, two.request));
            }
        }
        None
    }

    pub(super) fn coalesce(&mut self) -> Outcome {
        let Some((one, two)) = self.neighbours() else { return Ok(()) };
        for (request, bio) in [(one, two), (two, one)] {
            self.trace.note(Act::AskToMerge(request.tag, bio, Merge::Back));
            let allowed = self.rust.allow_merge(&request, &bio, Merge::Back);
            same("allowed to coalesce", allowed, self.c.allow_merge(&request, &bio, Merge::Back))?;
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

    /// With a new or a reused number.
    pub(super) fn exit(&mut self) -> Outcome {
        let who = self.random.below(self.clients.len() as u64) as usize;
        let number = self.clients[who].number;
        if self.shares && self.outstanding[number as usize] > 0 {
            return Ok(());
        }
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

    pub(super) fn set(&mut self) -> Outcome {
        let which = self.random.below(self.kind.len() as u64) as usize;
        self.set_one(which)
    }

    /// Half of all worlds start with some switches on.
    pub(super) fn settle(&mut self) -> Outcome {
        let chance = self.random.pick(&[0, 0, 25, 50]);
        let on = |world: &mut World, which: usize| {
            let row = &world.kind[which];
            row.unit == "switch" && world.random.percent(chance)
                || world.among_writes && row.name == "slack_costs"
        };
        (0..self.kind.len())
            .try_for_each(|which| if on(self, which) { self.set_one(which) } else { Ok(()) })
    }

    fn set_one(&mut self, which: usize) -> Outcome {
        let tunable = &self.kind[which];
        let range = tunable.max - tunable.min;
        let usual = range.min(self.random.pick(&[4, 20, 100, 3000]));
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
