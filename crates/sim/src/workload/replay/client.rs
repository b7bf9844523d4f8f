//! One client of a replay: a process of the trace, because schedulers account by process.
//!
//! Open loop: requests are made at their recorded times, divided by speed, with at most iodepth
//! open. Closed loop: a request is made when no more of the client's requests are open than were in
//! the trace, and its think time, divided by speed, has passed ([`trace::replay`]). The think time
//! counts from the completion itself, since it already includes the wake-up.

use std::sync::Arc;

use elevator::{Completion, Op, Request, Time};
use trace::replay::{self, Replay, Start};

use super::places::Places;
use super::setup::SPEED_ONE;
use crate::workload::client::{Client, Step};
use crate::workload::row::{Params, Seat};

struct Replayer {
    replay: Arc<Replay>,
    lane: usize,
    next: usize,
    speed_milli: u32,
    places: Places,
    depth: u16,
    origin: Option<Time>,
    since: Time,
    done: Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    Awaited,
    Thought,
}

impl Replayer {
    fn scaled(&self, ns: u64) -> u64 {
        let scaled = u128::from(ns) * u128::from(SPEED_ONE) / u128::from(self.speed_milli);
        u64::try_from(scaled).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
    }

    /// Returns the remaining wait before this request.
    fn wait(&self, now: Time, request: &replay::Request) -> u64 {
        let from = match request.start {
            Start::Recorded => self.origin.unwrap_or(now),
            Start::Answer => self.since,
        };
        from.as_ns().saturating_add(self.scaled(request.wait_ns)).saturating_sub(now.as_ns())
    }
}

impl Client for Replayer {
    fn next(&mut self, now: Time, last: Option<&Completion>) -> Step {
        self.origin.get_or_insert(now);
        if let Some(last) = last {
            self.since = self.since.max(last.completed);
        }
        let Some(&request) = self.replay.of_lane(self.lane).get(self.next) else {
            return Step::End;
        };
        if self.done == Done::Nothing && self.depth > 1 && request.start == Start::Answer {
            self.done = Done::Awaited;
            return Step::Await(u32::from(request.open.min(self.depth - 1)));
        }
        if self.done != Done::Thought {
            let wait = self.wait(now, &request);
            if wait > 0 {
                self.done = Done::Thought;
                return Step::Think(wait);
            }
        }
        self.done = Done::Nothing;
        self.next += 1;
        self.since = self.since.max(now);
        let op = if request.is_write { Op::Write } else { Op::Read };
        Step::Io(Request::new(op, self.places.map(&request), request.len))
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let own = &params.replay;
    let replay = Arc::clone(own.trace.as_ref().expect("checked: there is a trace"));
    let lane = seat.index as usize;
    let depth = super::iodepth(params, seat.index).min(u32::from(u16::MAX)) as u16;
    let places = own.places(seat.len);
    Box::new(Replayer {
        replay,
        lane,
        next: 0,
        speed_milli: own.speed_milli,
        places,
        depth,
        origin: None,
        since: Time::ZERO,
        done: Done::Nothing,
    })
}
