//! linus-2.4: one roughly sorted list in which each request may be passed a limited number of
//! times, as set by elvtune. Linux 2.4. Insertion scans from the list's end for a position by
//! sector.
//!
//! Source: Linux 2.4.32 drivers/block/elevator.c; confirmed. 2.4.18's rules are a switch.
//! Parameters, named as in elvtune:
//!
//! | name | unit | 2.4.32 | 2.4.18 | meaning |
//! |---|---|---|---|---|
//! | `read_latency` | requests | 128 | 8192 | how often a read may be passed |
//! | `write_latency` | requests | 256 | 16384 | how often a write may be passed |
//! | `max_bomb_segments` | weighted writes | 4 | 6 | writes that stay ahead of a new read; 0: the rule is off |
//! | `variant_2_4_18` | switch | 0 | 1 | selects the kernel's rules |
//!
//! elvtune's "latencies" are counts, assigned at creation. The switch changes only the rules; for
//! 2.4.18 set all four. Its rules: every request visited by the scan loses one from its count,
//! passed or not; a used-up count (or one below the bio's sectors) allows only merges, and the scan
//! continues; a new read is inserted before writes even if it has passed a read.
//!
//! Cost: insertion is linear in the number of held requests; unsuitable for 4096.
//!
//! The row's bound is derived for 128 requests per direction: 256 counted passings of a write, and
//! reads inserted near the head by `max_bomb_segments`, which no count covers: one per older write
//! ahead (127), and a pool of them (128) while a used-up write hides the reads before it.
//!
//! Departures: requests of one device only. A request being served has left the list; the source
//! keeps it at the head, excluded from scans, which is equivalent. The source merges two requests
//! only if adjacent in the list; here any two contiguous ones, and the survivor keeps its position.

use std::collections::VecDeque;

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, InsertAt, Merge, Search};
use crate::vocabulary::{Op, Time};

const INT_MAX: u64 = i32::MAX as u64;
/// Additional weight per this many sectors.
const SECTORS_PER_WEIGHT: u64 = 64;

const fn tunable(name: &'static str, unit: &'static str, max: u64, help: &'static str) -> Tunable {
    Tunable { name, unit, min: 0, max, evidence: Evidence::Confirmed, help, role: Role::Knob }
}

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "linus-2.4",
    origin: Origin::LegacyLinux,
    help: "one sorted list, in which each request is passed a limited number of times; cost grows with the list's length",
    source: "Linux 2.4.32 drivers/block/elevator.c",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving, Guarantee::PassedAtMost { requests: 512 }],
    tunables: &[
        tunable("read_latency", "requests", INT_MAX, "how often a new read may be passed"),
        tunable("write_latency", "requests", INT_MAX, "how often a new write may be passed"),
        tunable(
            "max_bomb_segments",
            "writes",
            INT_MAX,
            "writes that stay ahead of a new read; 0: all",
        ),
        tunable(
            "variant_2_4_18",
            "switch",
            1,
            "0: rules of 2.4.32; 1: of 2.4.18, whose values are 8192, 16384 and 6",
        )
        .with_role(Role::Reading),
    ],
    build,
};

/// Small, because every insertion reads every entry.
#[derive(Debug, Clone, Copy)]
struct Held {
    sector: u64,
    end: u64,
    /// How often it may still be passed.
    passes: i64,
    tag: u32,
    op: Op,
}

impl Held {
    fn new(request: &BlockRequest, passes: i64) -> Held {
        Held {
            sector: request.sector,
            end: request.end(),
            passes,
            tag: request.tag,
            op: request.op,
        }
    }

    fn nr_sectors(&self) -> u64 {
        self.end - self.sector
    }

    /// Whether `bio` fits by direction and total size.
    fn fits(&self, bio: &BlockRequest, max_sectors: u32) -> bool {
        self.op == bio.op && self.nr_sectors() + u64::from(bio.nr_sectors) <= u64::from(max_sectors)
    }

    /// How `bio` merges into it, if merging is enabled and possible.
    fn joins(&self, bio: &BlockRequest, max_sectors: Option<u32>) -> Option<Merge> {
        let how = match bio.sector == self.end {
            true => Merge::Back,
            false if bio.end() == self.sector => Merge::Front,
            false => return None,
        };
        self.fits(bio, max_sectors?).then_some(how)
    }

    /// Whether a request belongs right after this one; never after the last.
    fn precedes(&self, sector: u64, next: Option<u64>) -> bool {
        let Some(next) = next else { return false };
        let this = self.sector;
        // Ascending: strictly between; where the order wraps: above this one or below the next.
        (this < sector && sector < next) || (next <= this && (sector > this || sector < next))
    }
}

#[derive(Debug, Clone, Copy)]
struct Found {
    /// The request to merge into, by position.
    join: Option<(usize, Merge)>,
    /// Position before a new request; None: at the tail.
    behind: Option<usize>,
}

#[derive(Debug)]
struct Linus {
    list: VecDeque<Held>,
    place: Option<(BlockRequest, Found)>,
    latency: [i64; 2],
    max_bomb_segments: u64,
    variant_2_4_18: bool,
}

fn build(_build: &Build) -> Box<dyn Elevator> {
    Box::new(Linus::new())
}

impl Linus {
    fn new() -> Linus {
        Linus {
            list: VecDeque::new(),
            place: None,
            latency: [128, 256],
            max_bomb_segments: 4,
            variant_2_4_18: false,
        }
    }

    fn position(&self, request: &BlockRequest) -> usize {
        self.list.iter().position(|held| held.tag == request.tag).expect("the request is held")
    }

    /// Scans from the tail, and counts passed requests.
    fn scan(&mut self, bio: &BlockRequest, max_sectors: Option<u32>) -> Found {
        let mut found = Found { join: None, behind: None };
        let mut passed_a_read = false;
        if self.variant_2_4_18 {
            self.scan_2_4_18(bio, max_sectors, &mut found);
        } else {
            passed_a_read = self.scan_2_4_32(bio, max_sectors, &mut found);
            if let Some(place) = found.join.map(|(at, _)| at).or(found.behind) {
                self.list.range_mut(place + 1..).for_each(|passed| passed.passes -= 1);
            }
        }
        if bio.op == Op::Read
            && found.join.is_none()
            && !passed_a_read
            && self.max_bomb_segments > 0
        {
            self.promote(&mut found);
        }
        found
    }

    /// Returns whether a read was passed.
    fn scan_2_4_32(
        &mut self,
        bio: &BlockRequest,
        max_sectors: Option<u32>,
        found: &mut Found,
    ) -> bool {
        let (mut passed_a_read, mut next) = (false, None);
        for (at, held) in self.list.iter_mut().enumerate().rev() {
            let used_up = held.passes <= 0;
            if found.behind.is_none() && !used_up && held.precedes(bio.sector, next) {
                found.behind = Some(at);
            }
            next = Some(held.sector);
            passed_a_read |= held.op == Op::Read;
            match held.joins(bio, max_sectors) {
                Some(Merge::Back) => found.join = Some((at, Merge::Back)),
                Some(Merge::Front) if !used_up => {
                    held.passes -= 1;
                    found.join = Some((at, Merge::Front));
                }
                _ => {}
            }
            if used_up || found.join.is_some() {
                break;
            }
        }
        passed_a_read
    }

    fn scan_2_4_18(&mut self, bio: &BlockRequest, max_sectors: Option<u32>, found: &mut Found) {
        let (mut merge_only, mut next) = (false, None);
        for (at, held) in self.list.iter_mut().enumerate().rev() {
            merge_only |= held.passes <= 0;
            held.passes -= 1;
            if found.behind.is_none() && !merge_only && held.precedes(bio.sector, next) {
                found.behind = Some(at);
            }
            next = Some(held.sector);
            if held.fits(bio, max_sectors.unwrap_or(u32::MAX)) {
                merge_only |= held.passes < i64::from(bio.nr_sectors);
            }
            if let Some(how) = held.joins(bio, max_sectors) {
                found.join = Some((at, how));
                break;
            }
        }
    }

    /// Moves a new read ahead of writes, unless its sorted place is earlier.
    fn promote(&self, found: &mut Found) {
        let mut ahead = 0;
        for (at, held) in self.list.iter().enumerate() {
            if found.behind == Some(at) {
                return;
            }
            if held.op == Op::Write {
                ahead += 1 + held.nr_sectors() / SECTORS_PER_WEIGHT;
                if ahead >= self.max_bomb_segments {
                    found.behind = Some(at);
                    return;
                }
            }
        }
    }
}

impl Elevator for Linus {
    fn insert(&mut self, _now: Time, request: &BlockRequest, at: InsertAt) {
        let held = Held::new(request, self.latency[usize::from(request.op == Op::Write)]);
        if at == InsertAt::Head {
            self.place = None;
            self.list.push_front(held);
            return;
        }
        // The queue has just searched for this bio, unless merging is disabled.
        let same = |searched: &BlockRequest| {
            (searched.sector, searched.nr_sectors, searched.op)
                == (request.sector, request.nr_sectors, request.op)
        };
        let found = match self.place.take() {
            Some((searched, found)) if same(&searched) => found,
            _ => self.scan(request, None),
        };
        self.list.insert(found.behind.map_or(self.list.len(), |at| at + 1), held);
    }

    fn dispatch(&mut self, _now: Time, _disk: &dyn Disk) -> Option<u32> {
        self.place = None;
        self.list.pop_front().map(|head| head.tag)
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    fn bio_merge(&mut self, bio: &BlockRequest, max_sectors: u32) -> Search {
        let found = self.scan(bio, Some(max_sectors));
        self.place = found.join.is_none().then_some((*bio, found));
        Search::Own(found.join.map(|(at, how)| (self.list[at].tag, how)))
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.place = None;
        let at = self.position(before);
        self.list[at] = Held::new(after, self.list[at].passes);
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.place = None;
        let at = self.position(gone);
        let gone = self.list.remove(at).expect("the position was just found");
        let at = self.position(survivor);
        self.list[at].passes = self.list[at].passes.min(gone.passes);
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "read_latency" => self.latency[0] as u64,
            "write_latency" => self.latency[1] as u64,
            "max_bomb_segments" => self.max_bomb_segments,
            "variant_2_4_18" => u64::from(self.variant_2_4_18),
            _ => unreachable!("linus-2.4 has no tunable {tunable}"),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "read_latency" => self.latency[0] = value as i64,
            "write_latency" => self.latency[1] = value as i64,
            "max_bomb_segments" => self.max_bomb_segments = value,
            "variant_2_4_18" => self.variant_2_4_18 = value != 0,
            _ => unreachable!("linus-2.4 has no tunable {tunable}"),
        }
    }
}

#[cfg(test)]
mod tests;
