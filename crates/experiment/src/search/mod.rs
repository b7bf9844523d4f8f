//! The search for a good setting.
//!
//! Pure: it sees numbers and seeds, never a device. The caller runs the trials of [`Search::next`],
//! reports them to [`Search::report`], and confirms the winner against the default; [`belief`]
//! computes the final interval.

pub mod belief;
pub mod bisect;
mod chance;
mod ledger;
mod propose;
pub mod prune;
mod race;
mod space;

pub use ledger::{Candidate, Outcome, State};
pub use propose::Proposals;
pub use race::{BASELINE, Ended, Mode, Options, Request, Search};
pub use space::{Branch, Dimension, Point, Space, SpaceError};
