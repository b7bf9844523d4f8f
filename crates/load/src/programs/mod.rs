//! Real programs as workloads: starting, input, measuring and stopping.
//!
//! One file and one row in [`RUNNERS`] per program. A runner is independent of schedulers, plans
//! and statistics. Its processes and file systems belong to the [`Session`](machine::Session),
//! which ends them. An experiment calls [`Runner::prepare`] once; then for each trial
//! [`Runner::reset`], after which no process of the program remains, the arena drops the caches,
//! and [`Runner::measure`] runs.

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

pub use error::RunnerError;
pub use kind::{Bench, Measurement, Moved, Needs, ProcessStats, Runner, RunnerKind, Trial};
pub use options::{Options, OptionsError};
pub use table::{RUNNERS, find};
