//! Selects the drive's next action: the nearest command in time (RPO, algorithms.md §5.2: shortest
//! positioning time first over at most the queue depth; a proposal), the oldest command, or a
//! write-cache run.
//!
//! Nearest-first can delay a command without bound; no limit of real drives is known.
//! `order_window` restricts the selection to the oldest few commands.

use super::mechanics::Arm;
use super::{Hdd, Waiting, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Command(usize),
    Dirty(usize),
}

impl Hdd {
    pub(super) fn pick(&mut self, now: u64) {
        self.admit_writes(now);
        self.end_flushes(now);
        while self.current.is_none() {
            match self.choose(now) {
                Some(Choice::Command(at)) => {
                    let command = self.waiting.remove(at);
                    self.catch_up(now);
                    if command.write || !self.hit(now, &command, now.max(command.ready_ns)) {
                        self.start(now, command);
                    }
                }
                Some(Choice::Dirty(at)) => self.destage(now, at),
                None => return,
            }
        }
    }

    pub(super) fn admit_writes(&mut self, now: u64) {
        let mut at = 0;
        while at < self.waiting.len() {
            let command = self.waiting[at];
            if !(command.write && self.caches(command.nr)) {
                at += 1;
            } else if self.dirty.take(
                command.sector,
                command.nr,
                command.ready_ns,
                self.earliest_ns(&command),
            ) {
                self.waiting.remove(at);
                self.invalidate(now, command.sector, command.nr);
                self.stats.cached_writes += 1;
                self.leave(&command);
            } else {
                return;
            }
        }
    }

    pub(super) fn end_flushes(&mut self, now: u64) {
        while let Some((tag, covers)) =
            self.flushes.front().copied().filter(|(_, covers)| self.dirty.clean_up_to(*covers))
        {
            if matches!(self.current, Some((_, Work::Destage(extent))) if extent.last <= covers) {
                return;
            }
            self.flushes.pop_front();
            self.leave_at(now + self.electronics.write_overhead_ns[0], tag, true);
        }
    }

    /// Whether writes of this size are reported done once cached.
    pub(super) fn caches(&self, nr: u64) -> bool {
        self.electronics.immediate_reporting && nr <= self.dirty.room
    }

    /// A run if nothing else waits or a flush does; while a write waits for room, the nearer of the
    /// two.
    fn choose(&self, now: u64) -> Option<Choice> {
        let extents = &self.dirty.extents;
        let dirty = || {
            let time = |at: usize| self.positioning(now, extents[at].sector, extents[at].nr, true);
            (0..extents.len()).map(|at| (time(at), at)).min()
        };
        if !self.flushes.is_empty() {
            return dirty().map(|(_, at)| Choice::Dirty(at));
        }
        let blocked = |command: &Waiting| command.write && self.caches(command.nr);
        let time = |at: usize| {
            let command = &self.waiting[at];
            let begin = now.max(command.ready_ns);
            begin - now + self.positioning(begin, command.sector, command.nr, command.write)
        };
        let mut free = (0..self.waiting.len()).filter(|at| !blocked(&self.waiting[*at]));
        let command = if self.waiting.len() == 1 || !self.electronics.nearest_first {
            free.next().map(|at| (0, at))
        } else {
            free.take(self.electronics.order_window as usize).map(|at| (time(at), at)).min()
        };
        match command {
            None => dirty().map(|(_, at)| Choice::Dirty(at)),
            Some((_, at)) if !self.waiting.iter().any(blocked) => Some(Choice::Command(at)),
            Some((_, at)) => match dirty() {
                Some((away, extent)) if away < time(at) => Some(Choice::Dirty(extent)),
                _ => Some(Choice::Command(at)),
            },
        }
    }

    /// Returns the time until the first sector is under the head; 0 if cached or being read.
    pub(super) fn positioning(&self, begin: u64, sector: u64, nr: u64, write: bool) -> u64 {
        self.positioning_from(&self.departure(begin), sector, nr, write)
    }

    pub(super) fn departure(&self, begin: u64) -> Departure {
        match self.ahead {
            None => Departure { begin, arm: self.arm, read_on: None },
            Some(ahead) => {
                let reached = self.mechanics.reading_on(begin, ahead.head, ahead.limit);
                let held = self.segments.get(ahead.segment);
                Departure {
                    begin,
                    arm: reached.arm,
                    read_on: Some((held.start, reached.head.next)),
                }
            }
        }
    }

    pub(super) fn positioning_from(
        &self,
        from: &Departure,
        sector: u64,
        nr: u64,
        write: bool,
    ) -> u64 {
        if !write {
            let going_on =
                from.read_on.is_some_and(|(start, next)| start <= sector && sector <= next);
            if going_on
                || self.segments.hold(sector, sector + nr).is_some()
                || self.dirty.hold(sector, sector + nr)
            {
                return 0;
            }
        }
        let spot = self.mechanics.locate(sector);
        let moving = self.mechanics.move_ns(from.arm, spot.arm, write);
        moving + self.mechanics.wait_ns(from.begin + moving, spot)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    pub(super) begin: u64,
    pub(super) arm: Arm,
    /// A read that begins there needs no movement.
    pub(super) read_on: Option<(u64, u64)>,
}
