//! The parameters of a CPU workload.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::cpu::{
    Failure, Report, build, cyclic, forks, frames, io, linpack, memory, messaging, request, spin,
    wakeup,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Spec {
    Linpack(linpack::Spec),
    Messaging(messaging::Spec),
    Wakeup(wakeup::Spec),
    Cyclic(cyclic::Spec),
    Request(request::Spec),
    Frames(frames::Spec),
    Build(build::Spec),
    /// Runs until `stop`, like the following ones.
    Spin(spin::Spec),
    Memory(memory::Spec),
    Forks(forks::Spec),
    Io(io::Spec),
}

impl Spec {
    /// Whether it runs until `stop`; other workloads are incomplete if stopped.
    pub fn is_load(&self) -> bool {
        matches!(self, Spec::Spin(_) | Spec::Memory(_) | Spec::Forks(_) | Spec::Io(_))
    }

    /// Whether its first thread, which alone can have a policy of deadline, does all the work.
    pub fn is_of_one_thread(&self) -> bool {
        match self {
            Spec::Linpack(_) => true,
            Spec::Cyclic(spec) => spec.threads == 1,
            Spec::Frames(spec) => spec.threads == 1,
            _ => false,
        }
    }
}

/// `begun` is called after the start.
pub fn run(spec: &Spec, stop: &AtomicBool, begun: impl FnOnce()) -> Result<Report, Failure> {
    begun();
    match spec {
        Spec::Linpack(spec) => linpack::run(spec, stop),
        Spec::Messaging(spec) => messaging::run(spec, stop),
        Spec::Wakeup(spec) => wakeup::run(spec, stop),
        Spec::Cyclic(spec) => cyclic::run(spec, stop),
        Spec::Request(spec) => request::run(spec, stop),
        Spec::Frames(spec) => frames::run(spec, stop),
        Spec::Build(spec) => build::run(spec, stop),
        Spec::Spin(spec) => spin::run(spec, stop),
        Spec::Memory(spec) => memory::run(spec, stop),
        Spec::Forks(spec) => forks::run(spec, stop),
        Spec::Io(spec) => io::run(spec, stop),
    }
}
