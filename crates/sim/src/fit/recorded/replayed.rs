//! Replays requests at their recorded times on a model of their device.

use std::collections::BTreeMap;

use crate::DeviceModel;
use crate::device::{Command, device_from_toml};
use elevator::{Op, Time};
use trace::Kind;

use crate::fit::drive::FitError;
use crate::fit::inside::Served;

/// If the model is full, a request is issued, and timed, once there is room.
pub(super) fn latencies(
    description: &str,
    seed: u64,
    slices: &[Vec<Served>],
) -> Result<Vec<(Kind, u64)>, FitError> {
    let made = device_from_toml(description, &[], seed)
        .map_err(|e| FitError::Description(e.to_string()))?;
    let mut bench = Bench {
        free: (0..made.queue_depth()).rev().collect(),
        model: made,
        now: 0,
        inside: BTreeMap::new(),
        found: Vec::new(),
    };
    for served in slices.iter().flatten().filter(|served| served.kind != Kind::Flush) {
        bench.issue(served);
    }
    while bench.step() {}
    Ok(bench.found)
}

struct Bench {
    model: Box<dyn DeviceModel>,
    now: u64,
    free: Vec<u32>,
    inside: BTreeMap<u32, (Kind, u64)>,
    found: Vec<(Kind, u64)>,
}

impl Bench {
    fn issue(&mut self, served: &Served) {
        while self.model.next_event().is_some_and(|at| at.as_ns() <= served.at) {
            self.step();
        }
        self.now = self.now.max(served.at);
        while self.free.is_empty() {
            self.step();
        }
        let tag = self.free.pop().expect("there is room");
        let op = if served.kind == Kind::Write { Op::Write } else { Op::Read };
        self.inside.insert(tag, (served.kind, self.now));
        let command =
            Command::Transfer { tag, op, sector: served.sector, nr_sectors: served.sectors };
        self.model.submit(Time::from_ns(self.now), command);
    }

    fn step(&mut self) -> bool {
        let Some(at) = self.model.next_event() else { return false };
        self.now = self.now.max(at.as_ns());
        let mut done = Vec::new();
        self.model.advance(at, &mut done);
        for tag in done {
            if let Some((kind, began)) = self.inside.remove(&tag) {
                self.found.push((kind, self.now - began));
                self.free.push(tag);
            }
        }
        true
    }
}
