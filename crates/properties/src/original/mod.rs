//! Schedulers held against the kernel that they come from: the same script for both, and the order
//! in which each dispatches.
//!
//! A [`Script`] is what happens around a queue: submissions, completions, requeues, exits, changes
//! of priorities and tunables, ticks. [`drive`] replays it on a [`elevator::Queue`]; an oracle is a
//! program that replays it on the original code and prints the [`Dispatch`]es in the same format.
//! [`generate`] makes scripts from seeds, and [`minimise`] shortens one that shows a difference. A
//! [`corpus`](Corpus) is a file of scripts with digests of what the original did, so that the
//! comparison needs no original.

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
