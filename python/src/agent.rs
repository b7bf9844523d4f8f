//! The scheduler that requests decisions.
//!
//! It holds requests in order of arrival and makes no decisions: at each one it sends its requests
//! and waits for the answer. Observations describe the queue and the oldest requests;
//! `schedlab.gym` names the features. Without an open environment it dispatches in order of
//! arrival.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender};

use elevator::{
    BlockRequest, Build, Disk, Elevator, ElevatorKind, Evidence, Finished, InsertAt, Op, Origin,
    Time,
};

const NAME: &str = "agent";

/// Number of features per row of an observation. The first row describes the queue, the others
/// describe candidates.
pub(super) const FEATURES: usize = 7;

pub(super) static ROW: ElevatorKind = ElevatorKind {
    name: NAME,
    origin: Origin::Literature,
    help: "decided by a Gymnasium environment; otherwise in arrival order",
    source: "schedlab's Python package",
    evidence: Evidence::Proposed,
    guarantees: &[],
    tunables: &[],
    build,
};

thread_local! {
    static NEXT: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// Connects the next scheduler made by this thread.
pub(super) fn ask_next(asked: Asked) {
    NEXT.with(|next| next.replace(Some(asked)));
}

fn build(_build: &Build) -> Box<dyn Elevator> {
    Box::new(Agent::new(NEXT.with(RefCell::take)))
}

/// The connection of a scheduler, and its bounds.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) questions: Sender<Question>,
    pub(super) answers: Receiver<Option<usize>>,
    pub(super) candidates: usize,
    pub(super) wait_ns: u64,
    /// Sectors of the device.
    pub(super) sectors: u64,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) now_ns: u64,
    pub(super) observation: Vec<f32>,
    pub(super) candidates: usize,
    /// Bytes completed since the trial began.
    pub(super) done_bytes: u64,
    /// Integral of the number of open requests, in request-nanoseconds.
    pub(super) open_ns: u128,
}

#[derive(Debug)]
struct Agent {
    asked: Option<Asked>,
    /// Oldest first.
    held: Vec<BlockRequest>,
    in_flight: usize,
    waits_until: Option<Time>,
    wait_expired: bool,
    last: Option<BlockRequest>,
    last_dispatch: Time,
    done_bytes: u64,
    open_ns: u128,
    counted_until: Time,
}

impl Agent {
    fn new(asked: Option<Asked>) -> Agent {
        Agent {
            asked,
            held: Vec::new(),
            in_flight: 0,
            waits_until: None,
            wait_expired: false,
            last: None,
            last_dispatch: Time::ZERO,
            done_bytes: 0,
            open_ns: 0,
            counted_until: Time::ZERO,
        }
    }

    /// Integrates the number of open requests until `now`.
    fn count(&mut self, now: Time) {
        let open = (self.held.len() + self.in_flight) as u128;
        self.open_ns += open * u128::from(now - self.counted_until);
        self.counted_until = now;
    }

    fn question(&self, now: Time, asked: &Asked) -> Question {
        let candidates = self.held.len().min(asked.candidates);
        let mut observation = Vec::with_capacity((1 + asked.candidates) * FEATURES);
        let flag = |is: bool| f32::from(u8::from(is));
        let ms = |ns: u64| ns as f32 / 1e6;
        observation.extend([
            1.0,
            self.held.len() as f32,
            self.in_flight as f32,
            ms(now - self.last_dispatch),
            flag(self.wait_expired),
            flag(self.last.is_some_and(|last| last.op == Op::Read)),
            self.last.map_or(0.0, |last| last.end() as f32 / asked.sectors as f32),
        ]);
        for request in &self.held[..candidates] {
            let distance = self.last.map_or(0.0, |last| request.sector as f64 - last.end() as f64);
            observation.extend([
                1.0,
                (distance / asked.sectors as f64) as f32,
                flag(self.last.is_some_and(|last| last.end() == request.sector)),
                request.bytes() as f32 / (1 << 20) as f32,
                ms(now.as_ns().saturating_sub(request.allocated.as_ns())),
                flag(request.op == Op::Read),
                flag(self.last.is_some_and(|last| last.process == request.process)),
            ]);
        }
        observation.resize((1 + asked.candidates) * FEATURES, 0.0);
        Question {
            now_ns: now.as_ns(),
            observation,
            candidates,
            done_bytes: self.done_bytes,
            open_ns: self.open_ns,
        }
    }

    /// The index of the request to dispatch, or None to wait. Without a connection, the oldest
    /// request.
    fn decide(&mut self, now: Time) -> Option<usize> {
        let Some(asked) = &self.asked else { return Some(0) };
        let question = self.question(now, asked);
        let candidates = question.candidates;
        let wait_ns = asked.wait_ns;
        let answer = asked.questions.send(question).ok().and_then(|()| asked.answers.recv().ok());
        match answer {
            // The environment was closed; the trial ends when it next checks the flag.
            None => {
                self.asked = None;
                Some(0)
            }
            Some(Some(candidate)) => Some(if candidate < candidates { candidate } else { 0 }),
            Some(None) => {
                self.waits_until = Some(now + wait_ns);
                None
            }
        }
    }
}

impl Elevator for Agent {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        self.count(now);
        match at {
            InsertAt::Sorted => self.held.push(*request),
            InsertAt::Head => self.held.insert(0, *request),
        }
        (self.waits_until, self.wait_expired) = (None, false);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        self.count(now);
        if self.held.is_empty() || self.waits_until.is_some_and(|until| now < until) {
            return None;
        }
        let chosen = self.decide(now)?;
        let request = self.held.remove(chosen);
        self.in_flight += 1;
        (self.last, self.last_dispatch) = (Some(request), now);
        (self.waits_until, self.wait_expired) = (None, false);
        Some(request.tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        self.count(now);
        self.in_flight -= 1;
        self.done_bytes += done.request.bytes();
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.waits_until
    }

    fn on_timer(&mut self, _now: Time) {
        (self.waits_until, self.wait_expired) = (None, true);
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let at = self
            .held
            .iter()
            .position(|held| held.tag == before.tag)
            .expect("the request that grows is held");
        self.held[at] = *after;
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.count(now);
        let place = |held: &[BlockRequest], tag| {
            held.iter().position(|one| one.tag == tag).expect("both are held")
        };
        let (own, other) = (place(&self.held, survivor.tag), place(&self.held, gone.tag));
        self.held[own.min(other)] = *survivor;
        self.held.remove(own.max(other));
    }

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("{NAME} has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("{NAME} has no tunable {tunable}")
    }
}
