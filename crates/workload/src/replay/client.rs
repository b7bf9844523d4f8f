//! One process of a trace, replayed.
//!
//! **Open loop**: each request is made at its recorded time, divided by speed, whatever became of the earlier ones. Each process
//! of the trace is a client of its own, because schedulers keep accounts by process; all count time from the same moment.
//! A client keeps at most iodepth requests open: where the device falls behind further than that, requests come late.
//!
//! **Closed loop**: each process makes its next request when the previous one has completed and the recorded gap has passed: the
//! time between the two, less what the earlier one took where the format says so (MSR), divided by speed [P]. Without that
//! knowledge the gap contains the old device's time, and replay on a faster device is slower than the programs would be.
//!
//! `wrap` maps what lies beyond the target's end to offset modulo length [P]; otherwise such requests are refused beforehand.

use std::sync::Arc;

use elevator::{Completion, Request, Time};

use super::setup::{LoopMode, SPEED_ONE};
use super::trace::{Record, Trace};
use crate::client::{Client, Step};
use crate::row::{Params, Seat};

/// Regions are wrapped at a multiple of this, so that wrapped offsets stay aligned.
const WRAP_UNIT: u64 = 4096;

struct Replay {
    trace: Arc<Trace>,
    process: usize,
    /// The next of the process's records.
    next: usize,
    mode: LoopMode,
    speed_milli: u32,
    /// The length of the region if requests are wrapped into it.
    wrap: Option<u64>,
    /// When the client was asked first.
    origin: Option<Time>,
    /// Whether the wait before the next request is over.
    waited: bool,
}

impl Replay {
    fn record(&self, number: usize) -> Option<&Record> {
        let record = *self.trace.by_process[self.process].get(number)?;
        Some(&self.trace.records[record as usize])
    }

    /// Recorded nanoseconds at the replay's speed.
    fn scaled(&self, ns: u64) -> u64 {
        let scaled = u128::from(ns) * u128::from(SPEED_ONE) / u128::from(self.speed_milli);
        u64::try_from(scaled).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
    }

    /// How long to wait before this record.
    fn wait(&self, now: Time, record: &Record) -> u64 {
        let before = self.next.checked_sub(1).and_then(|before| self.record(before));
        match (self.mode, before) {
            (LoopMode::Closed, Some(before)) => {
                self.scaled((record.at_ns - before.at_ns).saturating_sub(before.took_ns))
            }
            (LoopMode::Open, _) | (LoopMode::Closed, None) => {
                let origin = self.origin.unwrap_or(now);
                (origin.as_ns() + self.scaled(record.at_ns)).saturating_sub(now.as_ns())
            }
        }
    }

    fn request(&self, record: &Record) -> Request {
        let len = u64::from(record.len);
        let offset = match self.wrap {
            Some(region) if record.offset + len > region => {
                let whole = (region / WRAP_UNIT * WRAP_UNIT).max(len);
                (record.offset % whole).min(whole - len)
            }
            _ => record.offset,
        };
        Request::new(record.op, offset, record.len)
    }
}

impl Client for Replay {
    fn next(&mut self, now: Time, _last: Option<&Completion>) -> Step {
        self.origin.get_or_insert(now);
        let Some(&record) = self.record(self.next) else { return Step::End };
        if !self.waited {
            let wait = self.wait(now, &record);
            if wait > 0 {
                self.waited = true;
                return Step::Think(wait);
            }
        }
        self.waited = false;
        self.next += 1;
        Step::Io(self.request(&record))
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let replay = &params.replay;
    Box::new(Replay {
        trace: Arc::clone(replay.trace.as_ref().expect("checked: there is a trace")),
        process: seat.index as usize,
        next: 0,
        mode: replay.loop_mode,
        speed_milli: replay.speed_milli,
        wrap: replay.wrap.then_some(seat.len),
        origin: None,
        waited: false,
    })
}
