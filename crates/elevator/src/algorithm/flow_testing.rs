//! Shared test support for flow schedulers: an elevator with weighted flows, and a device of 1 ms
//! per request.

use crate::kind::{Build, ElevatorKind};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{FlowSpec, InsertAt, NoDisk};
use crate::testing::{Keeper, request};
use crate::vocabulary::Time;

pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn of(process: u32, tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { process, ..request(tag, sector) }
}

/// Process n is flow n.
pub(crate) struct Drive {
    pub(crate) elevator: Keeper,
    pub(crate) now: Time,
    pub(crate) service_ns: u64,
    seq: u64,
}

impl Drive {
    pub(crate) fn new(row: &ElevatorKind, weights: &[u32], set: &[(&str, u64)]) -> Drive {
        let specs: Vec<FlowSpec> = weights
            .iter()
            .map(|weight| FlowSpec { weight: Some(*weight), ..FlowSpec::default() })
            .collect();
        Drive::guaranteeing(row, &specs, set)
    }

    pub(crate) fn guaranteeing(
        row: &ElevatorKind,
        specs: &[FlowSpec],
        set: &[(&str, u64)],
    ) -> Drive {
        let mut elevator = Keeper::new((row.build)(&Build::default()));
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        for (process, spec) in (0..).zip(specs) {
            elevator.flow(process, process, spec);
        }
        Drive { elevator, now: Time::ZERO, service_ns: MS, seq: 0 }
    }

    pub(crate) fn insert(&mut self, request: BlockRequest) {
        let request = BlockRequest { seq: self.seq, allocated: self.now, ..request };
        self.seq += 1;
        self.elevator.insert(self.now, request, InsertAt::Sorted);
    }

    /// Completes it a millisecond later. None: neither a request nor a timer.
    pub(crate) fn serve(&mut self) -> Option<BlockRequest> {
        let given = loop {
            if let Some(given) = self.elevator.dispatch(self.now, &NoDisk) {
                break given;
            }
            self.now = self.now.max(self.elevator.next_timer()?);
            self.elevator.on_timer(self.now);
        };
        let issued = self.now;
        self.now = self.now + self.service_ns;
        self.elevator.complete(self.now, &Finished { request: given, issued });
        Some(given)
    }

    pub(crate) fn processes(&mut self, nr: usize) -> Vec<u32> {
        (0..nr).filter_map(|_| self.serve()).map(|request| request.process).collect()
    }

    pub(crate) fn sectors(&mut self, nr: usize) -> Vec<u64> {
        (0..nr).filter_map(|_| self.serve()).map(|request| request.sector).collect()
    }

    /// Sectors served per process among `nr` requests, with `waiting` requests of `sectors` always
    /// queued for each.
    pub(crate) fn shares(&mut self, flows: u32, waiting: u32, sectors: u32, nr: usize) -> Vec<u64> {
        let at = |process: u32, tag: u32| BlockRequest {
            nr_sectors: sectors,
            ..of(process, tag, u64::from(process * 1_000_000 + tag * 2 * sectors))
        };
        for process in 0..flows {
            (0..waiting).for_each(|nr| self.insert(at(process, process * waiting + nr)));
        }
        let mut served = vec![0; flows as usize];
        for _ in 0..nr {
            let Some(done) = self.serve() else { break };
            served[done.process as usize] += u64::from(done.nr_sectors);
            self.insert(at(done.process, done.tag));
        }
        served
    }
}
