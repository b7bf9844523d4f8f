//! Where trials take place.
//!
//! Four arenas are peers; what differs between them is a method here, so that callers ask for the
//! difference and not for the name.

use serde::{Deserialize, Serialize};

/// The device of a plan in the cpu arena.
pub const CPU_DEVICE: &str = "cpu";

/// Where trials take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ArenaKind {
    /// The block layer of this machine's kernel and a real device.
    #[default]
    Disk,
    /// The CPU scheduler of this machine's kernel and its CPUs.
    Cpu,
    /// Elevators written in Rust and a modelled device, in virtual time.
    Sim,
    /// The elevators of a real Linux that runs as a process, and a modelled device, in virtual
    /// time.
    Kernel,
}

impl ArenaKind {
    /// Its name in plans, on the command line and in analysis.json.
    pub fn name(self) -> &'static str {
        match self {
            ArenaKind::Disk => "disk",
            ArenaKind::Cpu => "cpu",
            ArenaKind::Sim => "sim",
            ArenaKind::Kernel => "kernel",
        }
    }

    /// Whether time is virtual: it begins at 0, passes as fast as it can be computed, and is the
    /// same in every run.
    pub fn is_virtual(self) -> bool {
        matches!(self, ArenaKind::Sim | ArenaKind::Kernel)
    }

    /// Whether CPUs are under test and no block device.
    pub fn is_cpu(self) -> bool {
        self == ArenaKind::Cpu
    }
}
