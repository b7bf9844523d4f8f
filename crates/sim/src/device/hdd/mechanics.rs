//! Disk mechanics in exact integer nanoseconds: sector layout, seeks, rotation.
//!
//! Model: Ruemler & Wilkes, IEEE Computer 27(3), 1994, in the form of algorithms.md §3.6. Sectors
//! are numbered along a track, over the heads, then inwards (no serpentine). A zone's first track
//! is at angle `phase`; each track starts `track_skew` sectors after the previous one, counted in
//! sectors, never in rounded time. Seek and head switch overlap. Writes add the settle time if the
//! head has moved.

use elevator::SeekCurve;

use super::divisor::Divisor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arm {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) first_sector: u64,
    pub(super) first_cylinder: u32,
    pub(super) cylinders: u32,
    pub(super) sectors_per_track: u64,
    pub(super) sectors_per_cylinder: u64,
    pub(super) track_skew: u64,
    /// Sectors between starts of adjacent cylinders.
    pub(super) skew_per_cylinder: u64,
    pub(super) phase: u64,
    /// Tracks without numbered sectors at front and end, except spares for slipped tracks.
    pub(super) reserved_tracks: u64,
    pub(super) spare_tracks: u64,
    /// Skipped tracks from the zone's first, ascending.
    pub(super) slipped: Vec<u64>,
}

impl Zone {
    /// Returns the numbered sectors. Zones with reserved or spare tracks have no spare sectors in
    /// their cylinders.
    pub(super) fn sectors(&self) -> u64 {
        u64::from(self.cylinders) * self.sectors_per_cylinder
            - (self.reserved_tracks + self.spare_tracks) * self.sectors_per_track
    }

    fn first_track(&self, heads: u32) -> Arm {
        let (cylinder, head) =
            (self.reserved_tracks / u64::from(heads), self.reserved_tracks % u64::from(heads));
        Arm { cylinder: self.first_cylinder + cylinder as u32, head: head as u32 }
    }

    fn last_track(&self, heads: u32) -> Arm {
        let before = u64::from(self.cylinders) * u64::from(heads) - self.spare_tracks
            + self.slipped.len() as u64
            - 1;
        let (cylinder, head) = (before / u64::from(heads), before % u64::from(heads));
        Arm { cylinder: self.first_cylinder + cylinder as u32, head: head as u32 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    zone: u32,
    pub(super) arm: Arm,
    sector: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Costs {
    pub(super) seeks: u64,
    pub(super) cylinders: u64,
    pub(super) move_ns: u64,
    pub(super) rotation_ns: u64,
    pub(super) transfer_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub(super) sector: u64,
    pub(super) nr: u64,
    pub(super) write: bool,
    /// Lower bound of the first sector's start: write data still on the bus.
    pub(super) earliest_ns: u64,
    /// Sectors after which [`Walk::mark_ns`] is taken; 0: none.
    pub(super) mark: u64,
    /// Start of a write's bus transfer and ns per sector; 0: buffered. Overtaking the data costs a
    /// revolution.
    pub(super) data: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) first_ns: u64,
    /// 0 without a mark.
    pub(super) mark_ns: u64,
    pub(super) end_ns: u64,
    pub(super) arm: Arm,
    pub(super) costs: Costs,
}

/// A head reading ahead: the sector before `next` passed at `at_ns`, on track `arm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) next: u64,
    pub(super) at_ns: u64,
    pub(super) arm: Arm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) head: Head,
    /// Position if interrupted now, possibly waiting on the next track.
    pub(super) arm: Arm,
}

/// Precomputed per zone: the divisions would be a fifth of a request's cost.
#[derive(Debug, Clone)]
struct ZoneCache {
    per_cylinder: Divisor,
    per_track: Divisor,
    /// Nanoseconds for this many sectors, up to a revolution.
    passed: Vec<u64>,
    reserved: u64,
    first: Arm,
    last: Arm,
}

impl ZoneCache {
    fn new(zone: &Zone, heads: u32, revolution_ns: u64) -> ZoneCache {
        let of = zone.sectors_per_track;
        ZoneCache {
            per_cylinder: Divisor::new(zone.sectors_per_cylinder),
            per_track: Divisor::new(of),
            passed: (0..of).map(|sectors| sectors * revolution_ns / of).collect(),
            reserved: zone.reserved_tracks * of,
            first: zone.first_track(heads),
            last: zone.last_track(heads),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Mechanics {
    pub(super) zones: Vec<Zone>,
    zone_caches: Vec<ZoneCache>,
    revolution: Divisor,
    pub(super) cylinders: u32,
    pub(super) heads: u32,
    pub(super) sectors: u64,
    pub(super) revolution_ns: u64,
    pub(super) head_switch_ns: u64,
    pub(super) write_settle_ns: u64,
    pub(super) write_lead_ns: u64,
    pub(super) spare_per_cylinder: u64,
    seek: SeekCurve,
    /// Seek times up to the knee: a square root would be a third of a request's cost.
    near: Vec<u32>,
    /// Minimum seek time over each distance of `near` and all longer ones.
    least: Vec<u32>,
    longest_seek_ns: u64,
}

impl Mechanics {
    /// `zones` cover the cylinders from 0; `sectors` is at most their total.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        zones: Vec<Zone>,
        heads: u32,
        sectors: u64,
        revolution_ns: u64,
        head_switch_ns: u64,
        [write_settle_ns, write_lead_ns]: [u64; 2],
        spare_per_cylinder: u64,
        seek: SeekCurve,
    ) -> Mechanics {
        let cylinders = zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders);
        let table = (seek.knee.max(seek.first.len() as u64) + 1).min(u64::from(cylinders));
        let near: Vec<u32> = (0..table).map(|distance| seek.seek_ns(distance) as u32).collect();
        let longest_seek_ns = near.iter().map(|ns| u64::from(*ns)).max().unwrap_or(0);
        let longest_seek_ns =
            longest_seek_ns.max(seek.seek_ns(u64::from(cylinders).saturating_sub(1)));
        // Beyond the table the curve is linear and does not fall.
        let beyond = if table < u64::from(cylinders) { seek.seek_ns(table) } else { u64::MAX };
        let mut least = near.clone();
        least.iter_mut().rev().fold(beyond, |beyond, ns| {
            *ns = beyond.min(u64::from(*ns)) as u32;
            u64::from(*ns)
        });
        Mechanics {
            zone_caches: zones
                .iter()
                .map(|zone| ZoneCache::new(zone, heads, revolution_ns))
                .collect(),
            revolution: Divisor::new(revolution_ns),
            zones,
            cylinders,
            heads,
            sectors,
            revolution_ns,
            head_switch_ns,
            write_settle_ns,
            write_lead_ns,
            spare_per_cylinder,
            seek,
            near,
            least,
            longest_seek_ns,
        }
    }

    pub(super) fn curve(&self) -> &SeekCurve {
        &self.seek
    }

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

    pub(super) fn near(&self) -> &[u32] {
        &self.near
    }

    #[inline]
    pub(super) fn locate(&self, sector: u64) -> Location {
        let zone = self.zones.partition_point(|zone| zone.first_sector <= sector) - 1;
        let at = &self.zones[zone];
        let cache = &self.zone_caches[zone];
        let offset = sector - at.first_sector + cache.reserved;
        if !at.slipped.is_empty() {
            return self.locate_past_slipped(zone, offset);
        }
        let (cylinder, within) = cache.per_cylinder.split(offset);
        let (head, sector) = cache.per_track.split(within);
        Location {
            zone: zone as u32,
            arm: Arm { cylinder: at.first_cylinder + cylinder as u32, head: head as u32 },
            sector,
        }
    }

    pub(super) fn sectors_per_track(&self, sector: u64) -> u64 {
        self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1]
            .sectors_per_track
    }

    /// [`Mechanics::locate`] in a zone with slipped tracks.
    fn locate_past_slipped(&self, zone: usize, offset: u64) -> Location {
        let at = &self.zones[zone];
        let (numbered, sector) = self.zone_caches[zone].per_track.split(offset);
        let passed_over =
            |track: u64, slipped: &u64| if *slipped <= track { track + 1 } else { track };
        let track = at.slipped.iter().fold(numbered, passed_over);
        let (cylinder, head) = (track / u64::from(self.heads), track % u64::from(self.heads));
        Location {
            zone: zone as u32,
            arm: Arm { cylinder: at.first_cylinder + cylinder as u32, head: head as u32 },
            sector,
        }
    }

    /// Returns the time of seek and head switch, and a write's settle time if the head moves.
    #[inline]
    pub(super) fn move_ns(&self, from: Arm, to: Arm, write: bool) -> u64 {
        if from == to {
            return 0;
        }
        let seek = self.seek_ns(u64::from(from.cylinder.abs_diff(to.cylinder)));
        let switch = if from.head == to.head { 0 } else { self.head_switch_ns };
        let read = seek.max(switch);
        if write { (read + self.write_settle_ns).saturating_sub(self.write_lead_ns) } else { read }
    }

    #[inline]
    fn seek_ns(&self, distance: u64) -> u64 {
        match self.near.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            // The linear part of the curve in 64 bits; its values were bounded when the description
            // was read.
            None => self.seek.c_ns + self.seek.e_ps * distance / 1000,
        }
    }

    /// Returns a lower bound for a seek of at least this distance.
    #[inline]
    pub(super) fn least_seek_ns(&self, distance: u64) -> u64 {
        let read = self
            .least
            .get(distance as usize)
            .map_or_else(|| self.seek_ns(distance), |ns| u64::from(*ns));
        read.saturating_sub(self.write_lead_ns.saturating_sub(self.write_settle_ns))
    }

    /// Returns an upper bound for a seek plus the rotational wait.
    pub(super) fn longest_positioning_ns(&self) -> u64 {
        self.longest_seek_ns.max(self.head_switch_ns) + self.write_settle_ns + self.revolution_ns
    }

    #[inline]
    pub(super) fn cylinder_of(&self, sector: u64) -> u32 {
        let zone = self.zones.partition_point(|zone| zone.first_sector <= sector) - 1;
        let (at, cache) = (&self.zones[zone], &self.zone_caches[zone]);
        let offset = sector - at.first_sector + cache.reserved;
        match at.slipped.is_empty() {
            true => at.first_cylinder + cache.per_cylinder.split(offset).0 as u32,
            false => self.locate_past_slipped(zone, offset).arm.cylinder,
        }
    }

    pub(super) fn first_sector(&self, cylinder: u32) -> u64 {
        let zone = self.zones.partition_point(|zone| zone.first_cylinder <= cylinder) - 1;
        let zone = &self.zones[zone];
        zone.first_sector + u64::from(cylinder - zone.first_cylinder) * zone.sectors_per_cylinder
    }

    /// Sectors since the start of the zone, skews included: a sector's angle, without rounding.
    #[inline]
    fn angle_sectors(&self, location: Location) -> u64 {
        let zone = &self.zones[location.zone as usize];
        let cylinder = u64::from(location.arm.cylinder - zone.first_cylinder);
        zone.phase
            + cylinder * zone.skew_per_cylinder
            + u64::from(location.arm.head) * zone.track_skew
            + location.sector
    }

    /// Nanoseconds from `ns` until the sector comes round.
    #[inline]
    pub(super) fn wait_ns(&self, ns: u64, location: Location) -> u64 {
        let cache = &self.zone_caches[location.zone as usize];
        self.time_to_angle(
            ns,
            cache.passed[cache.per_track.remainder(self.angle_sectors(location)) as usize],
        )
    }

    /// Nanoseconds from `ns` until `angle`, which is less than a revolution.
    #[inline]
    fn time_to_angle(&self, ns: u64, angle: u64) -> u64 {
        let at = self.revolution.remainder(ns);
        if angle >= at { angle - at } else { angle + self.revolution_ns - at }
    }

    /// The wait for a sector, and the passing time of `nr` sectors.
    #[inline]
    fn wait_and_passing_ns(&self, ns: u64, location: Location, nr: u64) -> (u64, u64) {
        let cache = &self.zone_caches[location.zone as usize];
        let from = cache.per_track.remainder(self.angle_sectors(location));
        (self.time_to_angle(ns, cache.passed[from as usize]), self.passing_ns(cache, from, nr))
    }

    /// The passing time of `nr` sectors, `from` sectors after angle 0: a difference of rounded-down
    /// angles, so that consecutive transfers add up. Whole revolutions are exact.
    #[inline]
    fn passing_ns(&self, cache: &ZoneCache, from: u64, nr: u64) -> u64 {
        let (of, mut to, mut whole_ns) = (cache.passed.len() as u64, from + nr, 0);
        while to >= of {
            to -= of;
            whole_ns += self.revolution_ns;
        }
        whole_ns + cache.passed[to as usize] - cache.passed[from as usize]
    }

    fn left_on_track(&self, location: Location) -> u64 {
        let spare = if location.arm.head + 1 == self.heads { self.spare_per_cylinder } else { 0 };
        self.zones[location.zone as usize].sectors_per_track - spare - location.sector
    }

    fn next_track(&self, location: Location) -> Option<Location> {
        let Location { zone, mut arm, .. } = location;
        loop {
            if arm == self.zone_caches[zone as usize].last {
                let next = self.zone_caches.get(zone as usize + 1)?;
                return Some(Location { zone: zone + 1, arm: next.first, sector: 0 });
            }
            let inner = Arm { cylinder: arm.cylinder + 1, head: 0 };
            arm = if arm.head + 1 < self.heads { Arm { head: arm.head + 1, ..arm } } else { inner };
            if !self.is_slipped(zone, arm) {
                return Some(Location { zone, arm, sector: 0 });
            }
        }
    }

    fn is_slipped(&self, zone: u32, arm: Arm) -> bool {
        let zone = &self.zones[zone as usize];
        !zone.slipped.is_empty() && {
            let track = u64::from(arm.cylinder - zone.first_cylinder) * u64::from(self.heads)
                + u64::from(arm.head);
            zone.slipped.contains(&track)
        }
    }

    pub(super) fn walk(&self, ns: u64, arm: Arm, transfer: Transfer) -> Walk {
        let Transfer { sector, nr, write, earliest_ns, mark, data: (data_ns, data_sector_ns) } =
            transfer;
        let mut location = self.locate(sector);
        let mut costs = Costs::default();
        let mut at = (ns + self.step(arm, location.arm, write, &mut costs)).max(earliest_ns);
        let (mut first_ns, mut mark_ns) = (None, 0);
        let mut left = nr;
        loop {
            let take = left.min(self.left_on_track(location));
            let (wait, passing) = self.wait_and_passing_ns(at, location, take);
            costs.rotation_ns += wait;
            costs.transfer_ns += passing;
            let first_ns = *first_ns.get_or_insert(at + wait);
            // Position of the mark within this track.
            let marked = (mark + left).saturating_sub(nr);
            if mark_ns == 0 && 0 < marked && marked <= take {
                mark_ns = at
                    + wait
                    + if marked == take {
                        passing
                    } else {
                        self.wait_and_passing_ns(at, location, marked).1
                    };
            }
            at += wait + passing;
            left -= take;
            let there_ns = data_ns + (nr - left) * data_sector_ns;
            if data_sector_ns > 0 && at < there_ns {
                let lost = (there_ns - at).div_ceil(self.revolution_ns) * self.revolution_ns;
                costs.rotation_ns += lost;
                at += lost;
            }
            if left == 0 {
                return Walk { first_ns, mark_ns, end_ns: at, arm: location.arm, costs };
            }
            let next = self.next_track(location).expect("requests end within the disk");
            at += self.step(location.arm, next.arm, write, &mut costs);
            location = next;
        }
    }

    pub(super) fn track_of(&self, sector: u64) -> (u64, u64) {
        let location = self.locate(sector);
        (sector - location.sector, sector + self.left_on_track(location))
    }

    fn step(&self, from: Arm, to: Arm, write: bool, costs: &mut Costs) -> u64 {
        let ns = self.move_ns(from, to, write);
        let distance = u64::from(from.cylinder.abs_diff(to.cylinder));
        costs.seeks += u64::from(distance > 0);
        costs.cylinders += distance;
        costs.move_ns += ns;
        ns
    }

    /// Returns the progress of read-ahead at `now` if it stops before `limit`.
    pub(super) fn reading_on(&self, now: u64, from: Head, limit: u64) -> Progress {
        let mut head = from;
        while head.next < limit {
            let location = self.locate(head.next);
            let settled = head.at_ns + self.move_ns(head.arm, location.arm, false);
            if settled > now {
                break;
            }
            let take = self.left_on_track(location).min(limit - head.next);
            let (wait, passing) = self.wait_and_passing_ns(settled, location, take);
            let start = settled + wait;
            if start > now {
                // The head is on the track, but has read nothing of it.
                return Progress { head, arm: location.arm };
            }
            if start + passing > now {
                return self.within_track(now, head, location, start);
            }
            head = Head { next: head.next + take, at_ns: start + passing, arm: location.arm };
        }
        Progress { head, arm: head.arm }
    }

    /// Within a track, only whole sectors count.
    fn within_track(&self, now: u64, head: Head, location: Location, start: u64) -> Progress {
        let cache = &self.zone_caches[location.zone as usize];
        let from = cache.per_track.remainder(self.angle_sectors(location));
        let time_of = |passed| self.passing_ns(cache, from, passed);
        // Rounding of the start may add one to the quotient; correct an estimate that is at most
        // two too high.
        let (full, _) = self.revolution.split((now - start) * cache.passed.len() as u64);
        let mut passed = full + 1;
        while start + time_of(passed) > now {
            passed -= 1;
        }
        let head =
            Head { next: head.next + passed, at_ns: start + time_of(passed), arm: location.arm };
        Progress { head, arm: location.arm }
    }
}
