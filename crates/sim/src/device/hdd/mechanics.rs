//! The mechanics of a disk: where a sector lies, how long the arm takes, when the sector comes round. All exact, all integer.
//!
//! Model: Ruemler & Wilkes, IEEE Computer 27(3), 1994, in the form of algorithms.md §3.6 (the model is the standard one; the
//! marks of the figures stand in the presets). Time in nanoseconds.
//!
//! - A zone is a run of cylinders with the same number of sectors on each track; sectors are numbered along a track, then over
//!   the heads of a cylinder, then inwards (no serpentine).
//! - The angle is the time modulo one revolution. Sector 0 of each zone's first track is at angle 0; every track starts
//!   `track_skew` sectors after the one before, the first track of a cylinder `cylinder_skew` after the last track of the
//!   cylinder before. A track's start is kept as a number of sectors since the zone's first, never as a rounded time, so that
//!   sectors that follow each other on the disk follow each other to the nanosecond.
//! - Seek and head switch go on together: the longer counts. Writes add the settle time when the head has moved at all.
//! - A transfer that passes a track's end pays the switch and waits for the next track's start; the skew is there to make that
//!   short.

use elevator::SeekCurve;

use super::divisor::Divisor;

/// Where the head is: a cylinder and a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arm {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}

/// A run of cylinders with equal tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) first_sector: u64,
    pub(super) first_cylinder: u32,
    pub(super) cylinders: u32,
    pub(super) sectors_per_track: u64,
    /// Without the spare ones.
    pub(super) sectors_per_cylinder: u64,
    pub(super) track_skew: u64,
    /// Sectors by which a cylinder's start lies behind that of the cylinder before.
    pub(super) skew_per_cylinder: u64,
}

/// Where a sector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    zone: u32,
    pub(super) arm: Arm,
    sector: u64,
}

/// What a movement or a transfer took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Costs {
    pub(super) seeks: u64,
    pub(super) cylinders: u64,
    pub(super) move_ns: u64,
    pub(super) rotation_ns: u64,
    pub(super) transfer_ns: u64,
}

/// A transfer's course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    /// When the first sector began to pass under the head.
    pub(super) first_ns: u64,
    /// When the last one had passed.
    pub(super) end_ns: u64,
    pub(super) arm: Arm,
    pub(super) costs: Costs,
}

/// A head that goes on reading: the sector before `next` had passed at `at_ns`, on the track `arm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) next: u64,
    pub(super) at_ns: u64,
    pub(super) arm: Arm,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) head: Head,
    /// Where it is now, should it be called away: perhaps on the next track already, waiting for its first sector.
    pub(super) arm: Arm,
}

/// What of a zone is asked for at every request, so that asking takes no division: they would be a fifth of a request's cost.
#[derive(Debug, Clone)]
struct Quick {
    per_cylinder: Divisor,
    per_track: Divisor,
    /// Nanoseconds until so many sectors have passed, up to a revolution.
    passed: Vec<u64>,
}

impl Quick {
    fn new(zone: &Zone, revolution_ns: u64) -> Quick {
        let of = zone.sectors_per_track;
        Quick {
            per_cylinder: Divisor::new(zone.sectors_per_cylinder),
            per_track: Divisor::new(of),
            passed: (0..of).map(|sectors| sectors * revolution_ns / of).collect(),
        }
    }
}

/// A spindle, its arm and its tracks.
#[derive(Debug, Clone)]
pub(super) struct Mechanics {
    pub(super) zones: Vec<Zone>,
    /// By zone.
    quick: Vec<Quick>,
    pub(super) cylinders: u32,
    pub(super) heads: u32,
    pub(super) sectors: u64,
    pub(super) revolution_ns: u64,
    pub(super) head_switch_ns: u64,
    pub(super) write_settle_ns: u64,
    pub(super) spare_per_cylinder: u64,
    seek: SeekCurve,
    /// Seek times up to the knee: a root for each seek would be a third of a request's cost.
    near: Vec<u32>,
}

impl Mechanics {
    /// `zones` cover the cylinders from 0 on; `sectors` is at most what they hold.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        zones: Vec<Zone>,
        heads: u32,
        sectors: u64,
        revolution_ns: u64,
        head_switch_ns: u64,
        write_settle_ns: u64,
        spare_per_cylinder: u64,
        seek: SeekCurve,
    ) -> Mechanics {
        let cylinders = zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders);
        let table = (seek.knee.max(seek.first.len() as u64) + 1).min(u64::from(cylinders));
        let near = (0..table).map(|distance| seek.seek_ns(distance) as u32).collect();
        Mechanics {
            quick: zones.iter().map(|zone| Quick::new(zone, revolution_ns)).collect(),
            zones,
            cylinders,
            heads,
            sectors,
            revolution_ns,
            head_switch_ns,
            write_settle_ns,
            spare_per_cylinder,
            seek,
            near,
        }
    }

    pub(super) fn curve(&self) -> &SeekCurve {
        &self.seek
    }

    /// What the tables for the kernel's driver begin with.
    pub(super) fn numbers(&self) -> [u64; 8] {
        [
            self.cylinders.into(),
            self.heads.into(),
            self.revolution_ns,
            self.head_switch_ns,
            self.write_settle_ns,
            self.spare_per_cylinder,
            self.seek.c_ns,
            self.seek.e_ps,
        ]
    }

    /// Seek times by distance; what is farther lies in the linear part of the curve.
    pub(super) fn near(&self) -> &[u32] {
        &self.near
    }

    /// Where a sector is.
    #[inline]
    pub(super) fn locate(&self, sector: u64) -> Spot {
        let zone = self.zones.partition_point(|zone| zone.first_sector <= sector) - 1;
        let at = &self.zones[zone];
        let offset = sector - at.first_sector;
        let quick = &self.quick[zone];
        let cylinder = quick.per_cylinder.divide(offset);
        let within = offset - cylinder * at.sectors_per_cylinder;
        let head = quick.per_track.divide(within);
        Spot {
            zone: zone as u32,
            arm: Arm { cylinder: at.first_cylinder + cylinder as u32, head: head as u32 },
            sector: within - head * at.sectors_per_track,
        }
    }

    /// Nanoseconds of seek and head switch between two tracks, with the settle of a write where the head moves.
    #[inline]
    pub(super) fn move_ns(&self, from: Arm, to: Arm, write: bool) -> u64 {
        if from == to {
            return 0;
        }
        let seek = self.seek_ns(u64::from(from.cylinder.abs_diff(to.cylinder)));
        let switch = if from.head == to.head { 0 } else { self.head_switch_ns };
        seek.max(switch) + if write { self.write_settle_ns } else { 0 }
    }

    #[inline]
    fn seek_ns(&self, distance: u64) -> u64 {
        match self.near.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            // As the curve's own linear part, in 64 bits: bounded when the drive was read.
            None => self.seek.c_ns + self.seek.e_ps * distance / 1000,
        }
    }

    /// Sectors that have passed under the head since the start of the zone, had it been read without a pause: a sector's angle,
    /// without rounding.
    #[inline]
    fn turned(&self, spot: Spot) -> u64 {
        let zone = &self.zones[spot.zone as usize];
        let cylinder = u64::from(spot.arm.cylinder - zone.first_cylinder);
        cylinder * zone.skew_per_cylinder + u64::from(spot.arm.head) * zone.track_skew + spot.sector
    }

    /// Nanoseconds that so many sectors of a zone take to pass, rounded down: sectors · revolution / sectors of a track.
    #[inline]
    fn passing_ns(&self, zone: u32, sectors: u64) -> u64 {
        let (of, quick) = (self.zones[zone as usize].sectors_per_track, &self.quick[zone as usize]);
        // Whole revolutions are exact, so only the rest is rounded.
        let whole = quick.per_track.divide(sectors);
        whole * self.revolution_ns + quick.passed[(sectors - whole * of) as usize]
    }

    /// Nanoseconds from `ns` until the sector comes round.
    #[inline]
    pub(super) fn wait_ns(&self, ns: u64, spot: Spot) -> u64 {
        self.until(ns, self.passing_ns(spot.zone, self.turned(spot)))
    }

    #[inline]
    fn until(&self, ns: u64, phase: u64) -> u64 {
        (phase as i64 - ns as i64).rem_euclid(self.revolution_ns as i64) as u64
    }

    /// The wait for a sector, and the time that `nr` sectors from there on take.
    #[inline]
    fn pass(&self, ns: u64, spot: Spot, nr: u64) -> (u64, u64) {
        let sectors = self.turned(spot);
        let start = self.passing_ns(spot.zone, sectors);
        (self.until(ns, start), self.passing_ns(spot.zone, sectors + nr) - start)
    }

    /// Sectors from here to the end of the track.
    fn left_on_track(&self, spot: Spot) -> u64 {
        let spare = if spot.arm.head + 1 == self.heads { self.spare_per_cylinder } else { 0 };
        self.zones[spot.zone as usize].sectors_per_track - spare - spot.sector
    }

    /// The first sector of the next track; None at the end of the disk.
    fn next_track(&self, spot: Spot) -> Option<Spot> {
        let Arm { cylinder, head } = spot.arm;
        if head + 1 < self.heads {
            return Some(Spot { arm: Arm { cylinder, head: head + 1 }, sector: 0, ..spot });
        }
        let zone = &self.zones[spot.zone as usize];
        let inner = cylinder + 1 == zone.first_cylinder + zone.cylinders;
        let zone = spot.zone + u32::from(inner);
        (cylinder + 1 < self.cylinders).then_some(Spot {
            zone,
            arm: Arm { cylinder: cylinder + 1, head: 0 },
            sector: 0,
        })
    }

    /// Moves the arm from `arm`, beginning at `ns`, to `sector`, and transfers `nr` sectors from there on. The first sector
    /// cannot start before `earliest_ns` (a write whose data are still on the bus).
    pub(super) fn walk(&self, ns: u64, arm: Arm, sector: u64, nr: u64, write: bool, earliest_ns: u64) -> Walk {
        let mut spot = self.locate(sector);
        let mut costs = Costs::default();
        let mut at = (ns + self.step(arm, spot.arm, write, &mut costs)).max(earliest_ns);
        let mut first_ns = None;
        let mut left = nr;
        loop {
            let take = left.min(self.left_on_track(spot));
            let (wait, passing) = self.pass(at, spot, take);
            costs.rotation_ns += wait;
            costs.transfer_ns += passing;
            let first_ns = *first_ns.get_or_insert(at + wait);
            at += wait + passing;
            left -= take;
            if left == 0 {
                return Walk { first_ns, end_ns: at, arm: spot.arm, costs };
            }
            let next = self.next_track(spot).expect("requests end within the disk");
            at += self.step(spot.arm, next.arm, write, &mut costs);
            spot = next;
        }
    }

    fn step(&self, from: Arm, to: Arm, write: bool, costs: &mut Costs) -> u64 {
        let ns = self.move_ns(from, to, write);
        let distance = u64::from(from.cylinder.abs_diff(to.cylinder));
        costs.seeks += u64::from(distance > 0);
        costs.cylinders += distance;
        costs.move_ns += ns;
        ns
    }

    /// How far a read that goes on has come at `now`, if it stops before `limit`.
    pub(super) fn reading_on(&self, now: u64, from: Head, limit: u64) -> Reached {
        let mut head = from;
        while head.next < limit {
            let spot = self.locate(head.next);
            let settled = head.at_ns + self.move_ns(head.arm, spot.arm, false);
            if settled > now {
                break;
            }
            let take = self.left_on_track(spot).min(limit - head.next);
            let (wait, passing) = self.pass(settled, spot, take);
            let start = settled + wait;
            if start > now {
                // The head is on the track, but has read nothing of it.
                return Reached { head, arm: spot.arm };
            }
            if start + passing > now {
                return self.within_track(now, head, spot, start);
            }
            head = Head { next: head.next + take, at_ns: start + passing, arm: spot.arm };
        }
        Reached { head, arm: head.arm }
    }

    /// The end of [`Mechanics::reading_on`] somewhere on a track, of which not all has passed: whole sectors count.
    fn within_track(&self, now: u64, head: Head, spot: Spot, start: u64) -> Reached {
        let sectors = self.turned(spot);
        let of = self.zones[spot.zone as usize].sectors_per_track;
        let phase = self.passing_ns(spot.zone, sectors);
        let time_of = |passed| self.passing_ns(spot.zone, sectors + passed) - phase;
        // One more than the quotient can have passed, by the rounding of its start; then at most two too many.
        let mut passed = (now - start) * of / self.revolution_ns + 1;
        while start + time_of(passed) > now {
            passed -= 1;
        }
        let head = Head { next: head.next + passed, at_ns: start + time_of(passed), arm: spot.arm };
        Reached { head, arm: spot.arm }
    }
}
