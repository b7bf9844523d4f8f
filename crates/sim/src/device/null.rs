//! The null device: several servers with a given service time. With time 0 only the queue costs
//! anything; with one server it is M/D/1 or M/M/1, which have closed-form answers.
//!
//! Keys: `service_ns` (0), `distribution` (fixed, exponential), `servers` (1), `queue_depth` (1),
//! `sectors` (2³¹), `trial_ms` (100). Commands are served in order of arrival by the first free
//! server.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use elevator::{BlockRequest, Disk, Geometry, Time};

use super::description::Description;
use super::error::DeviceError;
use super::model::{Command, DeviceModel, DeviceStats, OwnClock, nowhere};
use super::tables::{Kind, Tables};
use crate::random::{Stream, stream};

#[derive(Debug)]
pub(super) struct Null {
    depth: u32,
    sectors: u64,
    trial_ms: u64,
    service_ns: u64,
    /// `None`: constant service time.
    random: Option<Stream>,
    servers: BinaryHeap<Reverse<u64>>,
    /// Completion time, order of arrival, tag, whether a transfer.
    inside: BinaryHeap<Reverse<(u64, u64, u32, bool)>>,
    transfers: u32,
    arrivals: u64,
    clock: OwnClock,
    stats: DeviceStats,
}

pub(super) fn read(from: &mut Description, seed: u64) -> Result<Null, DeviceError> {
    let service_ns = from.number_or("service_ns", 0, 0, 60_000_000_000)?;
    let exponential = from.word_or_first("distribution", &["fixed", "exponential"])? == 1;
    let servers = from.number_or("servers", 1, 1, 4096)?;
    Ok(Null {
        depth: from.number_or("queue_depth", 1, 1, 65_535)? as u32,
        sectors: from.number_or("sectors", 1 << 31, 1, u64::MAX >> 16)?,
        trial_ms: from.number_or("trial_ms", 100, 1, 86_400_000)?,
        service_ns,
        random: exponential.then(|| stream(seed, "device")),
        servers: (0..servers).map(|_| Reverse(0)).collect(),
        inside: BinaryHeap::new(),
        transfers: 0,
        arrivals: 0,
        clock: OwnClock::default(),
        stats: DeviceStats::default(),
    })
}

impl Null {
    fn pass_time(&mut self, now: u64) {
        self.clock.advance(now, !self.inside.is_empty(), &mut self.stats);
    }
}

impl Disk for Null {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        nowhere(now, request)
    }
}

impl DeviceModel for Null {
    fn queue_depth(&self) -> u32 {
        self.depth
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn has_volatile_cache(&self) -> bool {
        false
    }

    fn submit(&mut self, now: Time, command: Command) {
        let now = now.as_ns();
        self.pass_time(now);
        self.arrivals += 1;
        let (tag, done, transfer) = match command {
            Command::Transfer { tag, sector, nr_sectors, .. } => {
                super::model::check(
                    tag,
                    sector,
                    nr_sectors,
                    self.sectors,
                    self.transfers,
                    self.depth,
                );
                self.transfers += 1;
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * elevator::SECTOR_BYTES;
                let service = match &mut self.random {
                    None => self.service_ns,
                    Some(random) => random.exponential(self.service_ns),
                };
                let Reverse(free) = self.servers.pop().expect("there is a server at least");
                let done = free.max(now) + service;
                self.servers.push(Reverse(done));
                (tag, done, true)
            }
            Command::Flush { tag } => (tag, now, false),
        };
        self.inside.push(Reverse((done, self.arrivals, tag, transfer)));
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.peek().map(|Reverse((at, ..))| Time::from_ns(*at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while let Some(Reverse((at, _, tag, transfer))) = self.inside.peek().copied() {
            if at > now.as_ns() {
                break;
            }
            self.pass_time(at);
            self.inside.pop();
            self.transfers -= u32::from(transfer);
            done.push(tag);
        }
        self.pass_time(now.as_ns());
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }

    fn tables(&self) -> Vec<u8> {
        let (key, number) = self.random.as_ref().map_or_else(Default::default, Stream::origin);
        let numbers =
            [self.service_ns, self.servers.len() as u64, u64::from(self.random.is_some())];
        Tables::new(Kind::Null, self.sectors, self.depth)
            .numbers(&numbers)
            .raw(key)
            .numbers(&[number])
            .finish()
    }

    fn trial_ms(&self) -> u64 {
        self.trial_ms
    }
}

#[cfg(test)]
mod tests {
    use elevator::{Op, Time};

    use crate::device::{Command, device};

    fn times(specification: &str, seed: u64, nr: u32) -> Vec<(u64, u32)> {
        let mut null = device(specification, seed).unwrap();
        for tag in 0..nr {
            null.submit(
                Time::ZERO,
                Command::Transfer { tag, op: Op::Read, sector: 0, nr_sectors: 8 },
            );
        }
        let (mut seen, mut done) = (Vec::new(), Vec::new());
        while let Some(at) = null.next_event() {
            null.advance(at, &mut done);
            seen.extend(done.drain(..).map(|tag| (at.as_ns(), tag)));
        }
        seen
    }

    #[test]
    fn two_servers_take_two_at_a_time_in_order_of_arrival() {
        let seen = times("null:service_ns=10:servers=2:queue_depth=5", 1, 5);
        assert_eq!(seen, [(10, 0), (10, 1), (20, 2), (20, 3), (30, 4)]);
        assert_eq!(times("null", 1, 1), [(0, 0)]);
    }

    #[test]
    fn exponential_times_come_from_the_seed() {
        let spec = "null:service_ns=1000000:distribution=exponential:queue_depth=1000";
        let (one, two) = (times(spec, 1, 1000), times(spec, 2, 1000));
        assert_eq!(one, times(spec, 1, 1000));
        assert_ne!(one, two);
        let mean = one.last().unwrap().0 as f64 / 1e9;
        assert!((mean - 1.0).abs() < 0.1, "1000 services of 1 ms take {mean} s");
    }
}
