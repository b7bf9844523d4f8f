//! Compares schedulers with their original kernel, by replaying the same script on both.
//!
//! A [`Script`] lists the events around a queue. [`drive`] replays it on a [`elevator::Queue`]; an
//! oracle replays it on the original code and prints the [`Dispatch`]es in the same format.
//! [`generate`] makes scripts from seeds, and [`minimise`] shortens one that shows a difference. A
//! [`corpus`](Corpus) stores scripts with digests of the original's dispatches, for comparison
//! without the original.

mod corpus;
mod drive;
mod generate;
mod minimise;
mod script;

pub use corpus::{Case, Column, Corpus, digest};
pub use drive::{Dispatch, Planted, drive, drive_with, shown};
pub use generate::generate;
pub use minimise::minimise;
pub use script::{Event, Kind, Script};
