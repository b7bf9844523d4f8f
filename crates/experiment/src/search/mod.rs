//! The search for a good setting.
//!
//! Pure: it sees numbers and seeds, never a device. The caller asks for the next trials
//! ([`Search::next`]), measures them, and reports what they showed ([`Search::tell`]), and takes
//! the winner to a fresh comparison with the default; what may be believed of the winner after that
//! is computed in [`belief`].

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
