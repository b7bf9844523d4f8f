//! The table of runners.

use crate::command;
use crate::fio;
use crate::hdparm;
use crate::kind::RunnerKind;
use crate::pgbench;

/// Every runner.
pub static RUNNERS: &[&RunnerKind] = &[&command::COMMAND, &fio::FIO, &hdparm::HDPARM, &pgbench::PGBENCH];

/// The row of a runner.
pub fn find(name: &str) -> Option<&'static RunnerKind> {
    RUNNERS.iter().copied().find(|row| row.name == name)
}
