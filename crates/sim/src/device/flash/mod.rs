//! The flash device of crate `flash-model` as a device of the simulator.

mod read;

use elevator::{BlockRequest, Disk, Geometry, Op, Time};
use flash_model::{Completion, Flash, Origin, Transfer};

use super::model::{Command, DeviceModel, DeviceStats, nowhere};
use super::tables::{Kind, Tables};
use crate::random::stream;

pub(super) use read::read;

#[derive(Debug, Clone)]
pub(super) struct FlashDevice {
    flash: Flash,
    trial_ms: u64,
}

/// The origin of the device's random numbers in a trial.
fn origin(seed: u64) -> Origin {
    let (key, stream) = stream(seed, "device").origin();
    Origin { key, stream }
}

impl Disk for FlashDevice {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        nowhere(now, request)
    }
}

impl DeviceModel for FlashDevice {
    fn queue_depth(&self) -> u32 {
        self.flash.config().settings.queue_depth
    }

    fn queues(&self) -> u32 {
        self.flash.config().settings.queues
    }

    fn use_queues(&mut self, nr: u32) {
        self.flash.use_queues(nr);
    }

    fn suspend_limits(&self) -> [u64; 2] {
        self.flash.config().settings.priority.map_or([0, 0], |priority| {
            [priority.program_suspends.into(), priority.erase_suspends.into()]
        })
    }

    fn sectors(&self) -> u64 {
        self.flash.sectors()
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn is_flash(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, command: Command) {
        self.submit_on(now, 0, command);
    }

    fn submit_on(&mut self, now: Time, queue: u32, command: Command) {
        match command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                let op = match op {
                    Op::Read => flash_model::Op::Read,
                    Op::Write => flash_model::Op::Write,
                };
                self.flash.transfer(now.as_ns(), queue, Transfer { tag, op, sector, nr_sectors });
            }
            Command::Flush { tag } => self.flash.flush(now.as_ns(), tag),
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.flash.next_event().map(Time::from_ns)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        self.flash.advance(now.as_ns(), |Completion { tag, .. }| done.push(tag));
    }

    fn advance_inside(&mut self, end: Time) {
        self.flash.advance_inside(end.as_ns());
    }

    fn stats(&self) -> DeviceStats {
        let of = self.flash.counters();
        DeviceStats {
            transfers: of.transfers,
            bytes: of.bytes,
            busy_ns: of.busy_ns,
            cached_writes: of.cached_writes,
            moved_pages: of.moved_pages,
            erases: of.erases,
            programs: of.programs,
            suspends: of.suspends,
            ..DeviceStats::default()
        }
    }

    fn copy(&self, seed: u64) -> Option<Box<dyn DeviceModel>> {
        let mut copy = self.clone();
        copy.flash.reseed(origin(seed));
        Some(Box::new(copy))
    }

    fn tables(&self) -> Vec<u8> {
        let tables = Tables::new(Kind::Flash, self.sectors(), self.queue_depth());
        tables.numbers(&flash_model::encode(&self.flash)).finish()
    }

    fn guest_bytes(&self) -> u64 {
        self.flash.config().shape.bytes()
    }

    fn trial_ms(&self) -> u64 {
        self.trial_ms
    }
}

#[cfg(test)]
mod tests;
