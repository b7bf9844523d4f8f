//! Writes, directly to the medium or from the write cache, and their effect on the read cache.

use super::dirty::Extent;
use super::mechanics::{Transfer, Walk};
use super::{Hdd, Waiting, Work};

impl Hdd {
    /// All data must have crossed the bus when the last sector passes (assuming tracks like the
    /// first one).
    pub(super) fn earliest_ns(&self, command: &Waiting) -> u64 {
        let passing = command.nr * self.mechanics.revolution_ns
            / self.mechanics.sectors_per_track(command.sector);
        command.ready_ns
            + self
                .bus_ns(true, command.nr.min(self.electronics.write_watermark))
                .max(self.bus_ns(true, command.nr).saturating_sub(passing))
    }

    pub(super) fn start_write(&mut self, now: u64, command: Waiting) {
        let Waiting { tag, sector, nr, ready_ns, .. } = command;
        let earliest_ns = ready_ns + self.bus_ns(true, nr.min(self.electronics.write_watermark));
        let data = (ready_ns, self.bus_sector[1].0);
        let walk = self.write(
            now,
            now.max(ready_ns),
            Transfer { sector, nr, write: true, earliest_ns, mark: 0, data },
        );
        let done =
            walk.end_ns + self.electronics.reconnect_ns + self.electronics.write_completion_ns;
        self.current = Some((done, Work::Write { tag, sector, end: sector + nr }));
    }

    pub(super) fn destage(&mut self, now: u64, at: usize) {
        let extent = self.dirty.start(at);
        let Extent { sector, nr, ready_ns, earliest_ns, .. } = extent;
        let run = Transfer { sector, nr, write: true, earliest_ns, mark: 0, data: (0, 0) };
        let walk = self.write(now, now.max(ready_ns), run);
        self.current = Some((walk.end_ns, Work::Destage(extent)));
    }

    fn write(&mut self, now: u64, begin: u64, transfer: Transfer) -> Walk {
        self.stop_reading_on(now);
        let earliest_ns = transfer.earliest_ns.max(begin + self.electronics.write_seek_least_ns);
        let walk = self.mechanics.walk(begin, self.arm, Transfer { earliest_ns, ..transfer });
        self.account(walk.costs);
        self.arm = walk.arm;
        walk
    }

    /// Invalidates these sectors in the read cache.
    pub(super) fn invalidate(&mut self, now: u64, sector: u64, nr: u64) {
        let mut stop = false;
        let reading_on = self.ahead.map(|ahead| ahead.segment);
        self.segments.overwrite(sector, sector + nr, |segment| stop |= Some(segment) == reading_on);
        if let Some((_, Work::Read { sector: first, end, segment, stale, .. })) = &mut self.current
        {
            let emptied = segment.is_some_and(|segment| self.segments.get(segment).end == 0);
            *stale |= emptied || sector < *end && *first < sector + nr;
        }
        if stop && let Some(ahead) = self.ahead.take() {
            self.arm = self.mechanics.reading_on(now, ahead.head, ahead.limit).arm;
        }
    }
}
