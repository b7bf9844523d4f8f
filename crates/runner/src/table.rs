//! The table of runners.

use crate::kind::RunnerKind;
use crate::{command, fio, hdparm, pgbench, postmark, processor, startup};

/// Every runner.
pub static RUNNERS: &[&RunnerKind] = &[
    &fio::FIO,
    &hdparm::HDPARM,
    &pgbench::PGBENCH,
    &postmark::POSTMARK,
    &startup::STARTUP,
    &command::COMMAND,
    &processor::LINPACK,
    &processor::MESSAGING,
    &processor::WAKEUP,
    &processor::CYCLIC,
];

/// The row of a runner.
pub fn find(name: &str) -> Option<&'static RunnerKind> {
    RUNNERS.iter().copied().find(|row| row.name == name)
}
