//! Reads: cache hits and read-ahead.
//!
//! Read-ahead goes `read_ahead` sectors beyond the last read, or to the end of the following
//! sector's track, and over the next track too if the segment began before (as in DiskSim). A hit
//! moves the limit; `read_on_idle_hit` restarts finished read-ahead. A partial hit takes the rest
//! from the medium. A read that begins with the sector under the head continues the read-ahead
//! (`almost_hits`, a proposal): otherwise sequential reads lose a revolution and reach 4 to 7 MB/s
//! on drives specified at 8 to 21 MB/s.

use super::mechanics::{Costs, Head, Transfer};
use super::{Ahead, Hdd, Waiting, Work};

impl Hdd {
    pub(super) fn catch_up(&mut self, now: u64) {
        if let Some(ahead) = &mut self.ahead
            && ahead.updated_ns < now
        {
            let reached = self.mechanics.reading_on(now, ahead.head, ahead.limit);
            (ahead.head, ahead.arm, ahead.updated_ns) = (reached.head, reached.arm, now);
            self.segments.grow(ahead.segment, reached.head.next);
        }
    }

    pub(super) fn stop_reading_on(&mut self, now: u64) {
        self.catch_up(now);
        if let Some(ahead) = self.ahead.take() {
            self.arm = ahead.arm;
        }
    }

    pub(super) fn read_on(&mut self, head: Head, segment: usize) {
        let limit = self.limit(head.next, segment);
        self.ahead = Some(Ahead { head, arm: head.arm, updated_ns: head.at_ns, limit, segment });
    }

    /// Returns where read-ahead stops after a read that ends at `end`.
    fn limit(&self, end: u64, segment: usize) -> u64 {
        if !self.electronics.read_to_track_end || end >= self.mechanics.sectors {
            return (end + self.electronics.read_ahead).min(self.mechanics.sectors);
        }
        let (first, past) = self.mechanics.track_of(end);
        if self.segments.get(segment).start >= first || past >= self.mechanics.sectors {
            return past.min(self.mechanics.sectors);
        }
        self.mechanics.track_of(past).1.min(self.mechanics.sectors)
    }

    pub(super) fn reading_segment(&self) -> Option<usize> {
        self.ahead.filter(|ahead| ahead.head.next < ahead.limit).map(|ahead| ahead.segment)
    }

    pub(super) fn partial(&self, sector: u64) -> Option<usize> {
        let almost = |at| self.electronics.almost_hits && self.segments.get(at).end == sector;
        self.reading_segment()
            .filter(|at| almost(*at))
            .or_else(|| self.segments.hold(sector, sector + 1))
    }

    /// Serves a cache hit. Read-ahead may continue; if it had ended, from `restart_ns`.
    pub(super) fn hit(&mut self, now: u64, command: &Waiting, restart_ns: u64) -> bool {
        let end = command.end();
        let segment = self.segments.hold(command.sector, end);
        if segment.is_none() && !self.dirty.hold(command.sector, end) {
            return false;
        }
        self.stats.cache_hits += 1;
        self.leave(command);
        let Some(segment) = segment else { return true };
        self.segments.touch(segment);
        match self.reading_segment() {
            Some(reading) if reading == segment => {
                let limit = self.limit(end, segment);
                let ahead = self.ahead.as_mut().expect("it was just looked at");
                ahead.limit = ahead.limit.max(limit);
            }
            None if self.electronics.read_on_idle_hit && self.current.is_none() => {
                self.stop_reading_on(now);
                let next = self.segments.get(segment).end;
                let limit = self.limit(end, segment);
                if next < limit {
                    let head = Head { next, at_ns: restart_ns, arm: self.arm };
                    self.ahead =
                        Some(Ahead { head, arm: self.arm, updated_ns: restart_ns, limit, segment });
                }
            }
            _ => {}
        }
        true
    }

    pub(super) fn start_read(&mut self, now: u64, command: Waiting) {
        let Waiting { tag, sector, nr, .. } = command;
        let end = sector + nr;
        let begin = now.max(command.ready_ns);
        let size = self.segments.size;
        let segment = self.partial(sector);
        let (walk, data_ns) = if let Some(segment) = segment {
            (self.read_rest(now, begin, end, segment), begin)
        } else {
            self.stop_reading_on(now);
            let mark = self.electronics.mark(nr, size);
            let walk = self.mechanics.walk(
                begin,
                self.arm,
                Transfer { sector, nr, write: false, earliest_ns: 0, mark, data: (0, 0) },
            );
            self.account(walk.costs);
            (walk, walk.mark_ns + self.electronics.reconnect_ns)
        };
        self.arm = walk.arm;
        let on_bus =
            (walk.end_ns + self.bus_ns(false, 1)).max(data_ns + self.bus_ns(false, nr)).max(begin);
        let done = on_bus + self.electronics.read_completion_ns;
        self.current = Some((
            done,
            Work::Read { tag, sector, end, segment, media_end_ns: walk.end_ns, stale: false },
        ));
    }

    fn read_rest(
        &mut self,
        now: u64,
        begin: u64,
        end: u64,
        segment: usize,
    ) -> super::mechanics::Walk {
        let going_on = self.ahead.filter(|ahead| ahead.segment == segment);
        let reading = self.reading_segment() == Some(segment);
        let (from, arm, next) = if let Some(Ahead { head, .. }) = going_on {
            // A running read-ahead continues; a finished one is restarted by the command.
            self.ahead = None;
            (if reading { head.at_ns } else { head.at_ns.max(begin) }, head.arm, head.next)
        } else {
            self.stop_reading_on(now);
            (begin, self.arm, self.segments.get(segment).end)
        };
        self.segments.touch(segment);
        let rest = Transfer {
            sector: next,
            nr: end - next,
            write: false,
            earliest_ns: 0,
            mark: 0,
            data: (0, 0),
        };
        let walk = self.mechanics.walk(from, arm, rest);
        // Positioning that read-ahead would have done anyway is not charged to this command.
        let waited = walk.end_ns.saturating_sub(now).min(walk.costs.transfer_ns);
        self.account(if reading {
            Costs { transfer_ns: waited, ..Costs::default() }
        } else {
            walk.costs
        });
        walk
    }
}
