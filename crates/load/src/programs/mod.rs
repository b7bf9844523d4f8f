//! Real programs as workloads: how each is started, fed, measured and stopped.
//!
//! One file a program, one row each in [`RUNNERS`]. A runner knows its program and nothing of
//! schedulers, plans or statistics; every process it starts and every file system it makes goes
//! through the [`Session`](machine::Session), which ends it. The order of an experiment is:
//! [`Runner::prepare`] once, then for each trial [`Runner::reset`] (nothing of the program is
//! running afterwards), the arena empties the caches, and [`Runner::measure`].

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
