//! The table of runners.

use crate::programs::kind::RunnerKind;
use crate::programs::{command, cpu, fio, hdparm, pgbench, postmark, startup};

pub static RUNNERS: &[&RunnerKind] = &[
    &fio::FIO,
    &hdparm::HDPARM,
    &pgbench::PGBENCH,
    &postmark::POSTMARK,
    &startup::STARTUP,
    &command::COMMAND,
    &cpu::LINPACK,
    &cpu::MESSAGING,
    &cpu::WAKEUP,
    &cpu::CYCLIC,
    &cpu::REQUEST,
    &cpu::FRAMES,
    &cpu::BUILD,
];

pub fn find(name: &str) -> Option<&'static RunnerKind> {
    RUNNERS.iter().copied().find(|row| row.name == name)
}
