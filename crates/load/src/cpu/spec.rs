//! What a process has to do, and doing it.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::cpu::{Failure, Report, cyclic, forks, io, linpack, memory, messaging, spin, wakeup};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Spec {
    /// Solves systems of linear equations, and ends by itself.
    Linpack(linpack::Spec),
    /// Sends messages between processes or threads, and ends by itself.
    Messaging(messaging::Spec),
    /// Wakes threads, and ends by itself.
    Wakeup(wakeup::Spec),
    /// Sleeps until moments, and ends by itself.
    Cyclic(cyclic::Spec),
    /// Computes until `stop` is set.
    Spin(spin::Spec),
    /// Streams through memory until `stop` is set.
    Memory(memory::Spec),
    /// Forks until `stop` is set.
    Forks(forks::Spec),
    /// Writes files until `stop` is set.
    Io(io::Spec),
}

impl Spec {
    /// Whether it goes on until `stop` is set; what ends by itself has not done its work when it
    /// is.
    pub fn is_load(&self) -> bool {
        matches!(self, Spec::Spin(_) | Spec::Memory(_) | Spec::Forks(_) | Spec::Io(_))
    }
}

/// Runs it; `begun` is called when it has started. A load ends when `stop` is set.
pub fn run(spec: &Spec, stop: &AtomicBool, begun: impl FnOnce()) -> Result<Report, Failure> {
    begun();
    match spec {
        Spec::Linpack(spec) => linpack::run(spec, stop),
        Spec::Messaging(spec) => messaging::run(spec, stop),
        Spec::Wakeup(spec) => wakeup::run(spec, stop),
        Spec::Cyclic(spec) => cyclic::run(spec, stop),
        Spec::Spin(spec) => spin::run(spec, stop),
        Spec::Memory(spec) => memory::run(spec, stop),
        Spec::Forks(spec) => forks::run(spec, stop),
        Spec::Io(spec) => io::run(spec, stop),
    }
}
