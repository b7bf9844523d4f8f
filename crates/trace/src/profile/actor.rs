//! Counters of one process on one disk.

use super::anticipation::History;
use super::counts::Counts;
use super::shape;
use super::terms::NEAR;
use crate::io::{Flags, Io, Kind};

#[derive(Debug, Clone, Default)]
pub(super) struct Actor {
    threads: u64,
    requests: [u64; 3],
    bytes: [u64; 2],
    sync: u64,
    failed: u64,
    requeued: u64,
    sequential: u64,
    near: u64,
    backward: u64,
    runs: u64,
    used: Option<(u64, u64)>,
    times: Option<(u64, u64)>,
    pub(super) device_ns: u64,
    overlapping: u64,
    depth_sum: u64,
    depth_max: u32,
    think: Counts,
    between: Counts,
    distance: Counts,
    size: Counts,
    latency: Counts,
    pub(super) history: History,
    last_end: Option<u64>,
    pub(super) outstanding: u32,
    /// Set while the process makes no request.
    pub(super) idle_since: Option<u64>,
}

impl Actor {
    pub(super) fn one_thread() -> Actor {
        Actor { threads: 1, ..Actor::default() }
    }

    /// Requests that never complete do not become outstanding.
    pub(super) fn queue(&mut self, io: &Io) {
        let kind = match io.kind {
            Kind::Read => 0,
            Kind::Write => 1,
            _ => 2,
        };
        self.requests[kind] += 1;
        if let Some(bytes) = self.bytes.get_mut(kind) {
            *bytes = bytes.saturating_add(u64::from(io.sectors) * 512);
        }
        self.sync += u64::from(is_sync(io));
        self.failed += u64::from(io.flags.has(Flags::FAILED));
        self.requeued += u64::from(io.flags.has(Flags::REQUEUED));
        if let Some((_, last)) = self.times {
            self.between.add(io.queued.saturating_sub(last));
        }
        self.times = Some((self.times.map_or(io.queued, |(first, _)| first), io.queued));
        if kind < 2 && io.sectors > 0 {
            self.moves(io);
        }
        if let Some(latency) = io.completed.get().map(|at| at.saturating_sub(io.queued)) {
            self.latency.add(latency);
        }
    }

    fn moves(&mut self, io: &Io) {
        self.size.add(u64::from(io.sectors));
        let (low, high) = self.used.unwrap_or((io.sector, io.sector));
        self.used = Some((low.min(io.sector), high.max(io.end().saturating_sub(1))));
        match self.last_end {
            Some(end) => {
                let distance = io.sector.abs_diff(end);
                self.distance.add(distance);
                self.sequential += u64::from(distance == 0);
                self.near += u64::from(distance <= NEAR);
                self.backward += u64::from(io.sector < end);
                self.runs += u64::from(distance != 0);
                self.history.record_distance(distance);
            }
            None => self.runs += 1,
        }
        self.last_end = Some(io.end());
    }

    /// Returns the preceding think time.
    pub(super) fn start(&mut self, io: &Io) -> Option<u64> {
        let think = self.idle_since.take().map(|since| io.queued.saturating_sub(since));
        match think {
            Some(think) => {
                self.think.add(think);
                if is_sync(io) {
                    self.history.record_think(think);
                }
            }
            None => self.overlapping += u64::from(self.outstanding > 0),
        }
        self.outstanding = self.outstanding.saturating_add(1);
        self.depth_sum = self.depth_sum.saturating_add(u64::from(self.outstanding));
        self.depth_max = self.depth_max.max(self.outstanding);
        think
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    pub(super) fn merge(&mut self, other: &Actor) {
        self.threads += other.threads;
        let pairs = self
            .requests
            .iter_mut()
            .zip(other.requests)
            .chain(self.bytes.iter_mut().zip(other.bytes));
        pairs.for_each(|(ours, theirs)| *ours = ours.saturating_add(theirs));
        for (ours, theirs) in [
            (&mut self.sync, other.sync),
            (&mut self.failed, other.failed),
            (&mut self.requeued, other.requeued),
            (&mut self.sequential, other.sequential),
            (&mut self.near, other.near),
            (&mut self.backward, other.backward),
            (&mut self.runs, other.runs),
            (&mut self.device_ns, other.device_ns),
            (&mut self.overlapping, other.overlapping),
            (&mut self.depth_sum, other.depth_sum),
        ] {
            *ours = ours.saturating_add(theirs);
        }
        self.depth_max = self.depth_max.max(other.depth_max);
        self.used = wider(self.used, other.used);
        self.times = wider(self.times, other.times);
        for (ours, theirs) in [
            (&mut self.think, &other.think),
            (&mut self.between, &other.between),
            (&mut self.distance, &other.distance),
            (&mut self.size, &other.size),
            (&mut self.latency, &other.latency),
        ] {
            ours.merge(theirs);
        }
        self.history.totals.merge(&other.history.totals);
    }

    pub(super) fn shape(&self) -> shape::Actor {
        let [reads, writes, others] = self.requests;
        let (lowest_sector, highest_sector) = self.used.unwrap_or_default();
        let (first_ns, last_ns) = self.times.unwrap_or_default();
        shape::Actor {
            threads: self.threads,
            reads,
            writes,
            others,
            read_bytes: self.bytes[0],
            write_bytes: self.bytes[1],
            sync: self.sync,
            failed: self.failed,
            requeued: self.requeued,
            sequential: self.sequential,
            near: self.near,
            backward: self.backward,
            runs: self.runs,
            lowest_sector,
            highest_sector,
            first_ns,
            last_ns,
            device_ns: self.device_ns,
            think_ns: self.think.distribution(),
            overlapping: self.overlapping,
            depth_mean: self.depth_sum as f64 / (self.latency.len().max(1)) as f64,
            depth_max: self.depth_max,
            between_ns: self.between.distribution(),
            distance_sectors: self.distance.distribution(),
            size_sectors: self.size.distribution(),
            latency_ns: self.latency.distribution(),
            anticipation: self.history.totals.shape(),
            ..shape::Actor::default()
        }
    }
}

fn wider(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (one, other) => one.or(other),
    }
}

/// Whether the kernel counts it as synchronous: a read, or a write with SYNC (fsync, O_DIRECT), FUA
/// or a flush.
pub(super) fn is_sync(io: &Io) -> bool {
    let marks = [Flags::SYNC, Flags::FUA, Flags::PREFLUSH];
    (io.kind == Kind::Read && !io.flags.has(Flags::AHEAD))
        || marks.into_iter().any(|mark| io.flags.has(mark))
}
