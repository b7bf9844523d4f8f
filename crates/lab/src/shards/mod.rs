//! A plan of virtual time in pieces, which any batch system, queue or set of machines measures.
//!
//! **Problem.** In virtual time a trial is a function of plan, workload, round and variant, so that
//! an analysis can be measured on as many machines as there are. Whatever starts work on them
//! (Slurm, Kubernetes, GNU parallel, Ray) exists; what is missing is a form of work that may be cut
//! anywhere, arrive in any order, twice or not at all, and still gives the analysis of one machine.
//!
//! **Approach.** [`Prepared`] is a plan with everything that a trial depends on, under one
//! identity. [`measure`] makes a *segment* of some of its trials: bytes with that identity and a
//! checksum. [`merge`] takes any segments and conducts the experiment over them: [`crate::conduct`]
//! itself asks for the trials, round by round, and compares as it would on one machine. What it
//! asks for and is not there is named; what it never asks for (rounds beyond a verdict, pieces
//! measured twice) is left out. [`Live`] is the same while the trials arrive.
//!
//! **Properties.** The results file is that of one machine, byte for byte, since the same code
//! writes it; no clock, network or queue is involved. Segments are input from outside: `segment`
//! bounds and checks what they say.

mod live;
mod measure;
mod merge;
mod pool;
mod prepared;
mod remote;
mod segment;
mod sketch;
mod transcript;

use std::ops::Range;

use experiment::plan::Variant;
use serde::{Deserialize, Serialize};

pub use live::{Live, LiveStatus};
pub use measure::{Shard, ShardRequest, measure, shard};
pub use merge::{Merged, Missing, merge};
pub use prepared::Prepared;
pub(crate) use prepared::check_virtual;
pub use segment::Segment;

/// Trials to measure: each of these variants in each of these rounds of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The workload's label.
    pub workload: String,
    pub rounds: Range<u32>,
    /// Variants of the plan, or of a search over it.
    pub variants: Vec<Variant>,
}

impl Unit {
    /// How many trials it has.
    pub fn trials(&self) -> u64 {
        self.variants.len() as u64 * u64::from(self.rounds.end.saturating_sub(self.rounds.start))
    }
}
