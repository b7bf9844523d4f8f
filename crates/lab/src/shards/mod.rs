//! Splits a virtual-time plan into units that any batch system (Slurm, Kubernetes, GNU parallel,
//! Ray) can measure.
//!
//! A virtual trial is a function of plan, workload, round and variant. [`Prepared`] is a plan with
//! everything that its trials depend on, [`measure`] makes a *segment* of some trials, and
//! [`merge`] runs [`crate::conduct`] over any segments. Duplicate and unused trials are ignored,
//! missing ones are listed. [`Live`] does the same while trials arrive. The results file equals
//! that of one machine, byte for byte. Segments are untrusted input, which `segment` bounds and
//! checks.

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

/// Trials to measure: these variants in these rounds of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    pub workload: String,
    pub rounds: Range<u32>,
    /// Variants of the plan, or of a search over it.
    pub variants: Vec<Variant>,
}

impl Unit {
    pub fn trials(&self) -> u64 {
        self.variants.len() as u64 * u64::from(self.rounds.end.saturating_sub(self.rounds.start))
    }
}
