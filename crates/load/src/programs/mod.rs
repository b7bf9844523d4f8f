//! Real programs as workloads.
//!
//! There is one file and one row in [`RUNNERS`] per program, independent of schedulers, plans and
//! statistics. The [`Session`](machine::Session) ends its processes and file systems.
//! [`Runner::prepare`] is called once; then, for each trial, [`Runner::reset`], after which no
//! process remains, and [`Runner::measure`], with dropped caches.

mod cache;
mod command;
pub mod cpu;
mod error;
mod fio;
mod hdparm;
mod kind;
mod options;
mod pgbench;
mod postmark;
mod startup;
#[allow(unsafe_code)]
mod sys;
mod table;

pub use command::RUN_OF_VARIANT;
pub use error::RunnerError;
pub use kind::{Bench, Measurement, Moved, Needs, ProcessStats, Runner, RunnerKind, Trial};
pub use options::{Options, OptionsError};
pub use table::{RUNNERS, find};
