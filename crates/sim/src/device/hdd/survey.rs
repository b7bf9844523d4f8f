//! Positioning times for schedulers: of one request, or of many at one moment, bounded by distance.
//!
//! The bound is the seek; rotation and settling add to it. A measured curve may fall locally, so
//! the bound for a distance is the minimum seek over it and all longer ones.

use elevator::{BlockRequest, Op, Survey, Time};

use super::Hdd;
use super::choice::Departure;

impl Hdd {
    pub(super) fn moment(&self, now: Time) -> Moment<'_> {
        let [read, write] = [self.departure_for(now, false), self.departure_for(now, true)];
        let from = self.departure(read.0);
        // Usually both are equal.
        let sides = [
            (from, read.1),
            (if write.0 == read.0 { from } else { self.departure(write.0) }, write.1),
        ];
        // Read-ahead moves the arm, and writes and reads start at different times.
        let cylinders = sides.map(|(from, _)| from.arm.cylinder);
        let (low, high) = (cylinders[0].min(cylinders[1]), cylinders[0].max(cylinders[1]));
        Moment { disk: self, sides, low, high, center: self.mechanics.first_sector(low) }
    }
}

pub(super) struct Moment<'a> {
    disk: &'a Hdd,
    /// Departure and delay after the overhead, for reads and for writes.
    sides: [(Departure, u64); 2],
    low: u32,
    high: u32,
    center: u64,
}

impl Survey for Moment<'_> {
    fn positioning_ns(&self, request: &BlockRequest) -> u64 {
        let write = request.op == Op::Write;
        let (from, waits) = &self.sides[usize::from(write)];
        waits
            + self.disk.positioning_from(from, request.sector, u64::from(request.nr_sectors), write)
    }

    fn center(&self) -> u64 {
        self.center
    }

    fn at_least_ns(&self, sector: u64) -> u64 {
        let cylinder = self.disk.mechanics.cylinder_of(sector);
        // Measured from the far end of the two cylinders on each side, so that it grows outwards.
        let distance = match sector < self.center {
            true => self.low.saturating_sub(cylinder),
            false => cylinder.saturating_sub(self.high),
        };
        self.sides[0].1.min(self.sides[1].1) + self.disk.mechanics.least_seek_ns(distance.into())
    }

    fn at_most_ns(&self) -> u64 {
        self.sides[0].1.max(self.sides[1].1) + self.disk.mechanics.longest_positioning_ns()
    }

    fn exempt(&self, each: &mut dyn FnMut(u64, u64)) {
        let read_on = self.sides[0].0.read_on.into_iter();
        read_on
            .chain(self.disk.segments.held())
            .chain(self.disk.dirty.held())
            .for_each(|(start, end)| each(start, end));
    }
}
