//! The null device: a fixed time for everything, from a given number of servers. With time 0 it costs nothing but the queue.

use elevator::{BlockRequest, Disk, Geometry, Op, Time};

use super::{Command, DeviceModel, DeviceStats, nowhere};

/// A device without a medium.
#[derive(Debug)]
pub(super) struct Null {
    depth: u32,
    sectors: u64,
    /// Tags with the time at which they are done, in that order.
    inside: std::collections::VecDeque<(Time, u32)>,
    stats: DeviceStats,
}

impl Null {
    pub(super) fn new(depth: u32, sectors: u64) -> Null {
        Null { depth, sectors, inside: std::collections::VecDeque::new(), stats: DeviceStats::default() }
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

    fn submit(&mut self, now: Time, command: Command) {
        match command {
            Command::Transfer { tag, op: Op::Read | Op::Write, nr_sectors, .. } => {
                self.stats.transfers += 1;
                self.stats.bytes += u64::from(nr_sectors) * elevator::SECTOR_BYTES;
                self.inside.push_back((now, tag));
            }
            Command::Flush { tag } => self.inside.push_back((now, tag)),
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while self.inside.front().is_some_and(|(at, _)| *at <= now) {
            done.extend(self.inside.pop_front().map(|(_, tag)| tag));
        }
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}
