//! Random input with extreme tunables: nothing is lost, duplicated or forgotten.

use super::*;

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn drawn(draw: &mut Draw, tag: u32, seq: u64, now: Time) -> BlockRequest {
    let classes =
        [PrioClass::BestEffort, PrioClass::BestEffort, PrioClass::RealTime, PrioClass::Idle];
    let process = draw.below(6) as u32;
    let class = classes[draw.below(4) as usize];
    let priority = Priority { class, level: (process + 1) as u8 };
    let op = if draw.below(3) == 0 { Op::Write } else { Op::Read };
    let sync = op == Op::Read || draw.below(2) == 0;
    let meta = draw.below(9) == 0;
    let sector = 8 * draw.below(60);
    BlockRequest { process, priority, op, sync, meta, seq, allocated: now, ..request(tag, sector) }
}

/// Requests in the scheduler and in the driver.
struct World {
    cfq: Keeper<Cfq>,
    free: Vec<u32>,
    held: std::collections::BTreeMap<u32, BlockRequest>,
    driver: Vec<BlockRequest>,
    depth: usize,
}

impl World {
    fn pull(&mut self, now: Time) {
        while self.driver.len() < self.depth {
            let Some(request) = self.cfq.dispatch(now, &NoDisk) else {
                assert_eq!(self.cfq.dispatch(now, &NoDisk), None, "asking again changes nothing");
                let forgotten = self.driver.is_empty()
                    && !self.cfq.is_empty()
                    && self.cfq.next_timer().is_none();
                assert!(!forgotten, "it refuses with nothing in flight, and has no timer");
                break;
            };
            assert_eq!(
                self.held.remove(&request.tag),
                Some(request),
                "what is dispatched was held, as it is"
            );
            self.driver.push(request);
        }
        assert_eq!(self.cfq.len(), self.held.len());
    }

    /// Grows a request at its end or start, as the queue does after a merge, and merges an adjacent
    /// neighbour.
    fn merge(&mut self, now: Time, at: usize, front: bool) {
        let Some((_, &before)) = self.held.iter().nth(at) else { return };
        if !self.cfq.allow_merge(&before, &before, Merge::Back) || before.sector < 8 {
            return;
        }
        let sector = if front { before.sector - 8 } else { before.sector };
        let after = BlockRequest { sector, nr_sectors: before.nr_sectors + 8, ..before };
        self.cfq.merged(now, &before, &after);
        self.held.insert(after.tag, after);
        let touching = |other: &&BlockRequest| {
            other.sector == after.end()
                && other.op == after.op
                && self.cfq.allow_merge(&after, other, Merge::Back)
        };
        let Some(gone) = self.held.values().find(touching).copied() else { return };
        self.cfq.coalesced(now, &after, &gone);
        let grown = BlockRequest { nr_sectors: after.nr_sectors + gone.nr_sectors, ..after };
        self.cfq.merged(now, &after, &grown);
        self.held.insert(grown.tag, grown);
        self.held.remove(&gone.tag);
        self.free.push(gone.tag);
    }
}

fn traffic(hz: u32, depth: usize, seed: u64, prepare: impl Fn(&mut Keeper<Cfq>)) {
    let mut cfq = made(hz);
    prepare(&mut cfq);
    let mut world = World {
        cfq,
        free: Vec::from_iter(0..40),
        held: Default::default(),
        driver: Vec::new(),
        depth,
    };
    let (mut draw, mut now, mut seq) = (Draw(seed), Time::ZERO, 0);
    for step in 0..4_000 {
        now = now + draw.below(3_000_000);
        match draw.below(10) {
            0..5 => {
                if let Some(tag) = world.free.pop() {
                    let new = drawn(&mut draw, tag, seq, now);
                    seq += 1;
                    world.held.insert(tag, new);
                    world.cfq.insert(now, new, InsertAt::Sorted);
                }
            }
            5..8 if !world.driver.is_empty() => {
                let at = draw.below(world.driver.len() as u64) as usize;
                let done = world.driver.swap_remove(at);
                complete(&mut world.cfq, now, done);
                world.free.push(done.tag);
            }
            8 => world.merge(now, draw.below(40) as usize, draw.below(2) == 0),
            _ => {}
        }
        if step == 3_000 {
            world.cfq.exited(now, 2);
        }
        if world.cfq.next_timer().is_some_and(|at| at <= now) {
            world.cfq.on_timer(now);
        }
        world.pull(now);
    }
    while !world.cfq.is_empty() || !world.driver.is_empty() {
        match world.driver.pop() {
            Some(done) => complete(&mut world.cfq, now, done),
            None => {
                now = world.cfq.next_timer().expect("a timer").max(now);
                world.cfq.on_timer(now);
            }
        }
        world.pull(now);
    }
    assert!(
        world.cfq.lists.is_empty()
            && world.cfq.queues.iter().all(|queue| queue.in_flight + queue.meta_pending == 0)
    );
    let counted = world.cfq.anticipation;
    assert!(
        counted.started - counted.successes - counted.failures <= 1,
        "every wait has one outcome: {counted:?}"
    );
}

#[test]
fn whatever_happens_nothing_is_lost_and_no_wait_is_without_a_timer() {
    for (seed, hz) in [100, 250, 300, 1000].into_iter().enumerate() {
        for depth in [1, 3, 31] {
            traffic(hz, depth, seed as u64, |_| {});
        }
    }
}

#[test]
fn extremes_of_every_tunable_break_nothing() {
    for row in ROW.tunables {
        for value in [row.min, row.max] {
            traffic(1000, 3, value, |cfq| cfq.set(row.name, value));
        }
    }
    traffic(250, 2, 1, |cfq| ROW.tunables.iter().for_each(|row| cfq.set(row.name, row.min)));
    traffic(250, 2, 2, |cfq| ROW.tunables.iter().for_each(|row| cfq.set(row.name, row.max)));
}
