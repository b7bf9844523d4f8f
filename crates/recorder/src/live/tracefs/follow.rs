//! Reconstructs requests from the block layer's events.
//!
//! Events are matched by disk, direction and sector. A bio becomes part of the request that covers
//! it at issue. Concurrent requests for the same sector are matched in order.

use std::collections::BTreeMap;

use trace::{At, Flags, Io, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Queue,
    Insert,
    Issue,
    Requeue,
    Complete,
    BioComplete,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) step: Step,
    /// In nanoseconds since the start.
    pub(super) at: u64,
    pub(super) device: u16,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    pub(super) process: Option<u32>,
    pub(super) scheduler: u8,
    pub(super) priority: u16,
    pub(super) failed: bool,
}

/// Disk, whether it is a write, first sector, and a unique number.
type Key = (u16, bool, u64, u64);

#[derive(Debug, Default)]
pub(super) struct Follow {
    asked: BTreeMap<Key, Event>,
    open: BTreeMap<Key, Open>,
    /// Otherwise requests without a bio of a selected process are omitted.
    everybody: bool,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    io: Io,
    issued: bool,
    left: u32,
}

/// Tracked bios and requests. A kernel has thousands, but lost events leave some behind.
const MAX_OPEN: usize = 1 << 20;

impl Follow {
    pub(super) fn new(everybody: bool) -> Follow {
        Follow { everybody, ..Follow::default() }
    }

    /// Returns the request that the event completes.
    pub(super) fn take(&mut self, event: &Event) -> Option<Io> {
        if self.asked.len() >= MAX_OPEN {
            self.asked.pop_first();
        }
        if self.open.len() >= MAX_OPEN {
            self.open.pop_first();
        }
        self.last += 1;
        match event.step {
            Step::Queue => {
                if event.process.is_some() {
                    self.asked
                        .insert((event.device, event.is_write(), event.sector, self.last), *event);
                }
                None
            }
            Step::Insert => {
                let open = self.begin(event, None)?;
                self.put(Open {
                    io: Io { inserted: At::ns(event.at), ..open },
                    issued: false,
                    left: event.sectors,
                });
                None
            }
            Step::Issue => {
                let inserted = self.take_inserted(event);
                let io = self.begin(event, inserted)?;
                self.put(Open {
                    io: Io { issued: At::ns(event.at), ..io },
                    issued: true,
                    left: event.sectors,
                });
                None
            }
            Step::Requeue => {
                let key = self.find(event, true)?;
                let open = self.open.get_mut(&key)?;
                open.issued = false;
                open.io.issued = At::UNKNOWN;
                open.io.flags = open.io.flags.with(Flags::REQUEUED);
                None
            }
            Step::Complete => self.complete(event),
            Step::BioComplete => self.bio_complete(event),
        }
    }

    /// Number of incomplete requests.
    pub(super) fn unfinished(&self) -> u64 {
        self.open.len() as u64
    }

    fn put(&mut self, open: Open) {
        self.open
            .insert((open.io.device, open.io.kind != Kind::Read, open.io.sector, self.last), open);
    }

    /// Returns the request as inserted, or from its bios.
    fn begin(&mut self, event: &Event, inserted: Option<Io>) -> Option<Io> {
        let bios = self.take_covered_bios(event);
        let first = bios.iter().min_by_key(|bio| bio.at).copied();
        let known = inserted.or_else(|| first.map(|bio| bio.io(bio.at)));
        // A passthrough command, or queued before the trace started.
        let mut io = known.or_else(|| self.everybody.then(|| event.io(event.at)))?;
        io.queued = first.map_or(io.queued, |bio| io.queued.min(bio.at));
        let before = if inserted.is_some() { io.bios } else { 0 };
        let bios = usize::from(before) + bios.len();
        io.bios = u16::try_from(bios.max(1)).unwrap_or(u16::MAX);
        io.sector = event.sector;
        io.sectors = event.sectors;
        io.scheduler = event.scheduler;
        io.priority = event.priority;
        Some(io)
    }

    /// Removes the bios that become part of the request.
    fn take_covered_bios(&mut self, event: &Event) -> Vec<Event> {
        let from = (event.device, event.is_write(), event.sector, 0);
        let end = event.sector.saturating_add(u64::from(event.sectors.max(1)));
        let keys: Vec<Key> = self
            .asked
            .range(from..(event.device, event.is_write(), end, 0))
            .map(|(key, _)| *key)
            .collect();
        keys.iter().filter_map(|key| self.asked.remove(key)).collect()
    }

    /// One at the issued sector, or several merged since.
    fn take_inserted(&mut self, event: &Event) -> Option<Io> {
        let from = (event.device, event.is_write(), event.sector, 0);
        let end = event.sector.saturating_add(u64::from(event.sectors.max(1)));
        let of = self.open.range(from..(event.device, event.is_write(), end, 0));
        let keys: Vec<Key> = of.filter(|(_, open)| !open.issued).map(|(key, _)| *key).collect();
        let parts: Vec<Io> =
            keys.iter().filter_map(|key| self.open.remove(key)).map(|open| open.io).collect();
        let first = parts.iter().min_by_key(|io| io.queued).copied()?;
        let bios = parts.iter().map(|io| usize::from(io.bios)).sum::<usize>();
        Some(Io { bios: u16::try_from(bios).unwrap_or(u16::MAX), ..first })
    }

    /// The request that starts at the event's sector.
    fn find(&self, event: &Event, issued: bool) -> Option<Key> {
        let from = (event.device, event.is_write(), event.sector, 0);
        let to = (event.device, event.is_write(), event.sector.saturating_add(1), 0);
        self.open.range(from..to).find(|(_, open)| open.issued == issued).map(|(key, _)| *key)
    }

    fn complete(&mut self, event: &Event) -> Option<Io> {
        let Some(key) = self.find(event, true) else { return self.complete_flush(event) };
        let mut open = self.open.remove(&key)?;
        if open.left > event.sectors && event.sectors > 0 && !event.failed {
            // The rest starts after this part.
            open.left -= event.sectors;
            let (device, is_write, sector, number) = key;
            self.open.insert((device, is_write, sector + u64::from(event.sectors), number), open);
            return None;
        }
        Some(done(open.io, event))
    }

    /// The block layer issues one flush for several without data.
    fn complete_flush(&mut self, event: &Event) -> Option<Io> {
        if event.sectors > 0 {
            return None;
        }
        let is_flush = |(_, bio): &(&Key, &Event)| bio.device == event.device && bio.sectors == 0;
        let key = self.asked.iter().find(is_flush).map(|(key, _)| *key)?;
        let bio = self.asked.remove(&key)?;
        Some(done(bio.io(bio.at), event))
    }

    /// Completes a request of a bio-based disk. The bio may have advanced to its end.
    fn bio_complete(&mut self, event: &Event) -> Option<Io> {
        let ends_there = |(key, bio): &(&Key, &Event)| {
            let (device, is_write, sector, _) = **key;
            let end = sector.saturating_add(u64::from(bio.sectors));
            (device, is_write) == (event.device, event.is_write())
                && ((sector, bio.sectors) == (event.sector, event.sectors)
                    || (event.sectors == 0 && end == event.sector))
        };
        let key = self.asked.iter().find(ends_there).map(|(key, _)| *key)?;
        let bio = self.asked.remove(&key)?;
        Some(done(bio.io(bio.at), event))
    }
}

fn done(io: Io, event: &Event) -> Io {
    let flags = if event.failed { io.flags.with(Flags::FAILED) } else { io.flags };
    Io { completed: At::ns(event.at), flags, ..io }
}

impl Event {
    fn is_write(&self) -> bool {
        self.kind != Kind::Read
    }

    /// A request that starts with this event.
    fn io(&self, queued: u64) -> Io {
        let process = self.process.unwrap_or(0);
        Io {
            device: self.device,
            scheduler: self.scheduler,
            flags: self.flags,
            priority: self.priority,
            ..Io::new(queued, self.kind, self.sector, self.sectors, process)
        }
    }
}

/// `FFWSM`: preflush, write, FUA, sync, metadata.
pub(crate) fn letters(rwbs: &[u8], sectors: u32) -> (Kind, Flags) {
    let (preflush, rest) = match rwbs {
        [b'F', rest @ ..] if rest.first().is_some_and(|letter| b"FWDRN".contains(letter)) => {
            (true, rest)
        }
        whole => (false, whole),
    };
    let (kind, marks) = match rest {
        [b'R', marks @ ..] => (Kind::Read, marks),
        [b'W', marks @ ..] if sectors == 0 => (Kind::Flush, marks),
        [b'W', marks @ ..] => (Kind::Write, marks),
        [b'F', marks @ ..] => (Kind::Flush, marks),
        [b'D', b'E', marks @ ..] | [b'D', marks @ ..] => (Kind::Discard, marks),
        other => (Kind::Other, other),
    };
    let mut flags = if preflush { Flags::PREFLUSH } else { Flags::default() };
    for mark in marks {
        flags = flags.with(match mark {
            b'F' => Flags::FUA,
            b'A' => Flags::AHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            _ => Flags::default(),
        });
    }
    if kind == Kind::Read && !flags.has(Flags::AHEAD) {
        flags = flags.with(Flags::SYNC);
    }
    (kind, flags)
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
