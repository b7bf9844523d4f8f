//! Test bench for a hard disk: reads that miss its cache, and the angle of a sector.
//!
//! A read from the medium completes a constant time after its last sector passed the head, so its
//! completion time modulo the revolution is that sector's angle. Spindles drift, so angles are
//! relative to a reference sector, re-read less often as the period becomes better known.

use crate::{Stream, stream};

use crate::fit::drive::{Drive, FitError, Read, Timed};

/// Initial and final interval between reference reads.
const SOON_NS: u64 = 1_000_000_000;
const LATE_NS: u64 = 20_000_000_000;
/// Deviation, in turns, that shortens the interval again.
const OFF: f64 = 0.01;
pub(super) const MAX_EVICTING: usize = 64;

/// Locations are in units of the smallest read.
pub(super) struct Bench<'a> {
    pub(super) drive: &'a mut dyn Drive,
    pub(super) random: Stream,
    pub(super) unit: u32,
    pub(super) units: u64,
    pub(super) hit_ns: Option<f64>,
    pub(super) evicting: usize,
    pub(super) period_ns: f64,
    /// SD of an angle, in turns.
    pub(super) noise: f64,
    /// Time of passing, and interval until the next read.
    reference: Option<(u64, u64)>,
    /// Turns over which the period was measured.
    baseline: f64,
}

impl Bench<'_> {
    pub(super) fn new(drive: &mut dyn Drive, seed: u64) -> Bench<'_> {
        let (unit, sectors) = (drive.facts().unit, drive.facts().sectors);
        Bench {
            drive,
            random: stream(seed, "fit"),
            unit,
            units: sectors / u64::from(unit),
            hit_ns: None,
            evicting: 1,
            period_ns: 0.0,
            noise: 0.0,
            reference: None,
            baseline: 0.0,
        }
    }

    pub(super) fn anywhere(&mut self) -> u64 {
        self.random.below(self.units)
    }

    /// Reads `units` from `at`, not before `not_before`.
    pub(super) fn read(&mut self, at: u64, units: u64, not_before: u64) -> Result<Timed, FitError> {
        let unit = u64::from(self.unit);
        let read = Read { sector: at * unit, sectors: (units * unit) as u32 };
        self.drive.read(read, not_before)
    }

    pub(super) fn read_one(&mut self, at: u64) -> Result<Timed, FitError> {
        self.read(at, 1, 0)
    }

    /// Evicts earlier reads by random ones.
    pub(super) fn evict(&mut self, reads: usize) -> Result<(), FitError> {
        for _ in 0..reads {
            let at = self.anywhere();
            self.read_one(at)?;
        }
        Ok(())
    }

    pub(super) fn is_hit(&self, latency_ns: u64) -> bool {
        self.hit_ns.is_some_and(|hit| (latency_ns as f64) < hit * 1.05 + 30_000.0)
    }

    pub(super) fn miss(&mut self, at: u64) -> Result<Timed, FitError> {
        // Most units are far from earlier reads; a hit shows that this one is not.
        let mut evicting = self.evicting.min(2);
        loop {
            self.evict(evicting)?;
            let timed = self.read_one(at)?;
            if !self.is_hit(timed.latency()) {
                return Ok(timed);
            }
            if evicting >= MAX_EVICTING {
                return Err(FitError::Unfit {
                    what: "the drive's cache does not evict a sector",
                    found: format!("a hit after {evicting} reads elsewhere"),
                    next: "name the device's kind with --as ssd, or fit a drive without such a cache",
                });
            }
            evicting = (evicting * 2).min(MAX_EVICTING);
        }
    }

    /// Returns the angle of the unit's end in turns from the reference, 0 to 1.
    pub(super) fn angle(&mut self, at: u64) -> Result<f64, FitError> {
        let readings = if self.noise > 5e-4 { 3 } else { 1 };
        let mut found = Vec::with_capacity(readings);
        for _ in 0..readings {
            let zero = self.reference_ns()?;
            let ended = self.miss(at)?.ended;
            found.push(turns((ended - zero) as f64 / self.period_ns));
        }
        Ok(middle(&found))
    }

    /// Returns `None` if the unit appears to be cached.
    pub(super) fn angle_of_random(&mut self, at: u64) -> Result<Option<f64>, FitError> {
        let zero = self.reference_ns()?;
        let timed = self.read_one(at)?;
        let angle = turns((timed.ended - zero) as f64 / self.period_ns);
        Ok((!self.is_hit(timed.latency())).then_some(angle))
    }

    pub(super) fn reference_ns(&mut self) -> Result<u64, FitError> {
        let now = self.drive.now();
        let Some((seen, wait)) = self.reference else {
            let ended = self.miss(0)?.ended;
            self.reference = Some((ended, SOON_NS));
            return Ok(ended);
        };
        if now - seen < wait {
            return Ok(seen);
        }
        let ended = self.miss(0)?.ended;
        let passed = (ended - seen) as f64 / self.period_ns;
        let off = apart(passed).abs();
        if off < 4.0 * OFF && passed > self.baseline {
            (self.period_ns, self.baseline) = ((ended - seen) as f64 / passed.round(), passed);
        }
        let wait = if off < OFF { (2 * wait).min(LATE_NS) } else { SOON_NS };
        self.reference = Some((ended, wait));
        Ok(ended)
    }
}

pub(super) fn turns(x: f64) -> f64 {
    x - x.floor()
}

/// A difference of angles in -½..½ turn.
pub(super) fn apart(x: f64) -> f64 {
    x - x.round()
}

fn middle(angles: &[f64]) -> f64 {
    let first = angles[0];
    let mut off: Vec<f64> = angles.iter().map(|angle| apart(angle - first)).collect();
    off.sort_by(f64::total_cmp);
    turns(first + off[off.len() / 2])
}
