//! Two elevators, one in Rust and one in C, with equal inputs and equal results.
//!
//! Most operations are those of a few processes and a device (requests, think times, close
//! requests; completions; timers), because only they begin and end waits; in between there are
//! merges, requeues, exits, tunables and long pauses. All queries are compared after each
//! operation. A number is reused only when its former process has no requests and is not awaited:
//! otherwise the two differ by design (see kernel/core/antic.c).
#![allow(dead_code, unreachable_pub)]

mod acts;
pub mod random;
mod seeks;
mod world;

use std::collections::VecDeque;
use std::fmt::Write as _;

use elevator::{BlockRequest, ElevatorKind, Merge, Time};
use kernel_model::Ops;

pub use seeks::seeks_agree;
pub use world::World;

const TRACED: usize = 20;

#[derive(Debug, Clone, Copy)]
pub enum Act {
    Insert(Time, BlockRequest),
    InsertAtHead(Time, BlockRequest),
    Dispatch(Time),
    Complete(Time, u32),
    OnTimer(Time),
    AskToMerge(u32, BlockRequest, Merge),
    AskForFront(BlockRequest, u32),
    Merge(Time, u32, BlockRequest),
    Coalesce(Time, u32, u32),
    Exit(Time, u32),
    Set(&'static str, u64),
}

/// To check that a test is not vacuous.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub operations: u64,
    pub dispatched: u64,
    pub refused: u64,
    pub merged: u64,
    pub fronts_found: u64,
    pub coalesced: u64,
    pub given_back: u64,
    pub at_head: u64,
    pub exits: u64,
    pub exits_with_requests: u64,
    pub numbers_given_anew: u64,
    pub tunables_set: u64,
    pub timers: u64,
    pub waits: u64,
    pub successes: u64,
    pub failures: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        macro_rules! sum { ($($field:ident),*) => { $(self.$field += other.$field;)* } }
        sum!(
            operations,
            dispatched,
            refused,
            merged,
            fronts_found,
            coalesced,
            given_back,
            at_head,
            exits
        );
        sum!(
            exits_with_requests,
            numbers_given_anew,
            tunables_set,
            timers,
            waits,
            successes,
            failures
        );
    }
}

#[derive(Debug, Default)]
struct Trace(VecDeque<Act>);

impl Trace {
    fn note(&mut self, act: Act) {
        if self.0.len() == TRACED {
            self.0.pop_front();
        }
        self.0.push_back(act);
    }

    fn told(&self, what: &str, seed: u64, nr: u64) -> String {
        let mut text = format!("{what}\nat operation {nr} of seed {seed}; the last ones:");
        for act in &self.0 {
            write!(text, "\n  {act:?}").expect("a string takes everything");
        }
        text
    }
}

/// Returns the tally, or the first difference.
pub fn run(
    rust: &ElevatorKind,
    c: &'static Ops,
    seed: u64,
    operations: u64,
) -> Result<Tally, String> {
    let mut world = World::new(rust, c, seed);
    for nr in 0..operations {
        world.step().map_err(|what| world.trace().told(&what, seed, nr))?;
    }
    Ok(world.tally())
}
