//! The drive interface of a fit: single timed reads, and many reads at a given depth.
//!
//! A real device and a model both implement it. A fit can be tested on models with known
//! parameters, and a fitted model is measured with the same reads as the device.

use crate::DeviceModel;
use crate::device::Command;
use elevator::{Op, SECTOR_BYTES, Time};

#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The device refused or failed; the text names it and the remedy.
    #[error("{0}")]
    Device(String),
    /// Stopped by the user or a time limit.
    #[error("fit: ended before a model was found: {0}")]
    Stopped(String),
    /// The measurements fit no model of this kind.
    #[error("fit: {what} (found {found}); {next}")]
    Unfit { what: &'static str, found: String, next: &'static str },
    /// The written description is rejected: a bug.
    #[error("fit: the description was rejected: {0}; please report this with the device's model")]
    Description(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// First sector of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
}

/// Submission and completion time of a read, in ns of the drive's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    pub began: u64,
    pub ended: u64,
}

impl Timed {
    pub fn latency(self) -> u64 {
        self.ended - self.began
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The name that the user gave.
    pub name: String,
    pub sectors: u64,
    /// Sectors of the smallest read; all reads are aligned to it.
    pub unit: u32,
    /// Sectors of the largest read that reaches the drive unsplit.
    pub largest: u32,
    pub queue_depth: u32,
    pub rotational: bool,
}

pub trait Drive {
    fn facts(&self) -> &Facts;

    fn now(&self) -> u64;

    /// Runs a read, not before this time of the drive's clock.
    fn read(&mut self, read: Read, not_before: u64) -> Result<Timed, FitError>;

    /// Runs all reads in order with `depth` open.
    fn read_many(&mut self, depth: u32, reads: &[Read]) -> Result<Vec<Timed>, FitError>;
}

/// A model in virtual time.
#[derive(Debug)]
pub struct ModelDrive {
    model: Box<dyn DeviceModel>,
    facts: Facts,
    now: u64,
}

impl ModelDrive {
    pub fn new(name: &str, model: Box<dyn DeviceModel>) -> ModelDrive {
        let facts = Facts {
            name: name.to_owned(),
            sectors: model.sectors(),
            unit: 1,
            largest: 1024,
            queue_depth: model.queue_depth(),
            rotational: model.geometry().cylinders > 0,
        };
        ModelDrive { model, facts, now: 0 }
    }

    /// Adopts the original drive's read unit.
    #[must_use]
    pub fn with_facts(mut self, facts: &Facts) -> ModelDrive {
        self.facts.unit = facts.unit;
        self
    }

    fn submit(&mut self, tag: u32, read: Read) {
        let command =
            Command::Transfer { tag, op: Op::Read, sector: read.sector, nr_sectors: read.sectors };
        self.model.submit(Time::from_ns(self.now), command);
    }

    fn step(&mut self, done: &mut Vec<u32>) {
        let at = self.model.next_event().expect("a command inside has an event to come");
        self.now = at.as_ns();
        self.model.advance(at, done);
    }
}

impl Drive for ModelDrive {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn read(&mut self, read: Read, not_before: u64) -> Result<Timed, FitError> {
        if not_before > self.now {
            self.now = not_before;
            self.model.advance(Time::from_ns(not_before), &mut Vec::new());
        }
        let began = self.now;
        self.submit(0, read);
        let mut done = Vec::new();
        while done.is_empty() {
            self.step(&mut done);
        }
        Ok(Timed { began, ended: self.now })
    }

    fn read_many(&mut self, depth: u32, reads: &[Read]) -> Result<Vec<Timed>, FitError> {
        let depth = depth.clamp(1, self.facts.queue_depth) as usize;
        let mut timed = vec![Timed { began: 0, ended: 0 }; reads.len()];
        let (mut next, mut inside, mut done) = (0, 0, Vec::new());
        while next < reads.len() || inside > 0 {
            while next < reads.len() && inside < depth {
                timed[next].began = self.now;
                self.submit(next as u32, reads[next]);
                (next, inside) = (next + 1, inside + 1);
            }
            self.step(&mut done);
            inside -= done.len();
            for tag in done.drain(..) {
                timed[tag as usize].ended = self.now;
            }
        }
        Ok(timed)
    }
}

pub fn bytes(read: Read) -> u64 {
    u64::from(read.sectors) * SECTOR_BYTES
}
