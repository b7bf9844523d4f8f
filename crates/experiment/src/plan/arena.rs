//! Where trials take place: a row of facts for each arena.
//!
//! Callers ask a fact, never which arena it is, so that a new arena is a row here and a directory
//! in `lab::arena`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Plan;

/// The device of a plan in the cpu arena.
pub const CPU_DEVICE: &str = "cpu";

/// The arenas by the word in a plan; only `lab::arena`, which opens them, tells them apart by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArenaKind {
    /// [`DISK`]
    Disk,
    /// [`CPU`]
    Cpu,
    /// [`SIM`]
    Sim,
    /// [`KERNEL`]
    Kernel,
}

/// What trials measure: a block device or the CPUs of this machine, or a model in virtual time.
#[derive(PartialEq, Eq)]
enum Subject {
    Disk,
    Cpus,
    Model,
}

/// Whose schedulers are compared: those of this machine's kernel, of one that the plan chooses, or
/// our own, without a kernel.
#[derive(PartialEq, Eq)]
enum Kernel {
    Running,
    Chosen,
    None,
}

/// What there is to know of an arena.
#[derive(PartialEq, Eq)]
pub struct ArenaFacts {
    /// Its word in a plan.
    pub kind: ArenaKind,
    /// In plans, on the command line and in analysis.json.
    pub name: &'static str,
    subject: Subject,
    kernel: Kernel,
    /// For `--help`.
    pub help: &'static str,
    /// Whose schedulers run, in a sentence.
    pub schedulers: &'static str,
    /// What is measured, in the facts of a report.
    pub about: &'static str,
    /// What is measured, in a paper; empty on this machine, where the drive is named.
    pub paper: &'static str,
    /// Why nothing here can be watched over weeks; none: it can.
    pub watch_refusal: Option<&'static str>,
}

/// The block layer of this machine's kernel and a real device.
pub static DISK: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Disk,
    name: "disk",
    subject: Subject::Disk,
    kernel: Kernel::Running,
    help: "The block layer of this machine's kernel on a real device",
    schedulers: "the schedulers of this machine's kernel",
    about: "this machine's own kernel and a real device",
    paper: "",
    watch_refusal: None,
};

/// The CPU scheduler of this machine's kernel and its CPUs.
pub static CPU: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Cpu,
    name: "cpu",
    subject: Subject::Cpus,
    kernel: Kernel::Running,
    help: "The CPU scheduler of this machine's kernel; takes no --device",
    schedulers: "the CPU scheduler of this machine's kernel",
    about: "this machine's own kernel and its CPUs",
    paper: "",
    watch_refusal: Some(
        "--arena cpu: a watch is bound to the identity of a device, which CPUs do not have; start `schedlab compare --arena cpu` from a timer",
    ),
};

/// Elevators written in Rust and a modelled device, in virtual time.
pub static SIM: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Sim,
    name: "sim",
    subject: Subject::Model,
    kernel: Kernel::None,
    help: "schedlab's own schedulers on a modelled device, in virtual time: needs no root, changes nothing, repeatable bit for bit",
    schedulers: "schedlab's own schedulers",
    about: "schedlab's own schedulers and a modelled device, in virtual time; nothing was measured on a machine",
    paper: "a modelled device in virtual time: ",
    watch_refusal: Some(MODELS_STAY),
};

/// The elevators of a real Linux that runs as a process, and a modelled device, in virtual time.
pub static KERNEL: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Kernel,
    name: "kernel",
    subject: Subject::Model,
    kernel: Kernel::Chosen,
    help: "The schedulers of a real Linux kernel that runs as a process, on a modelled device, in virtual time: needs no root, changes nothing, repeatable bit for bit. The first use builds the kernel, which takes minutes",
    schedulers: "the schedulers of a real kernel",
    about: "the schedulers of a real Linux, run as a process, and a modelled device, in virtual time; nothing was measured on a machine",
    paper: "a modelled device under a real Linux in virtual time: ",
    watch_refusal: Some(MODELS_STAY),
};

const MODELS_STAY: &str = "--arena: a modelled device never changes; watch a real one";

/// All arenas, in the order of [`ArenaKind`].
pub static ARENAS: [&ArenaFacts; 4] = [&DISK, &CPU, &SIM, &KERNEL];

impl ArenaFacts {
    /// The arena of this name, as an analysis or a file has it.
    pub fn find(name: &str) -> Option<&'static ArenaFacts> {
        ARENAS.into_iter().find(|arena| arena.name == name)
    }

    /// Whether time is virtual: it begins at 0, passes as fast as it can be computed, and is the
    /// same in every run. The device is a model then.
    pub fn is_virtual(&self) -> bool {
        self.subject == Subject::Model
    }

    /// Whether CPUs are under test and no block device.
    pub fn is_cpu(&self) -> bool {
        self.subject == Subject::Cpus
    }

    /// Whether a block device of this machine is under test, with data that can be lost.
    pub fn has_disk(&self) -> bool {
        self.subject == Subject::Disk
    }

    /// Whether the plan chooses the kernel, which is part of the experiment then.
    pub fn chooses_kernel(&self) -> bool {
        self.kernel == Kernel::Chosen
    }

    /// Whether everything is computed in this process, which needs no rights and starts nothing.
    pub fn is_in_process(&self) -> bool {
        self.kernel == Kernel::None
    }
}

impl Plan {
    /// Whether the device is a loop device that is made for the experiment.
    pub fn has_temporary_device(&self) -> bool {
        self.arena.has_disk() && self.device.starts_with("loop:")
    }
}

impl fmt::Debug for ArenaFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Default for &'static ArenaFacts {
    fn default() -> Self {
        &DISK
    }
}

impl Serialize for ArenaFacts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.kind.serialize(to)
    }
}

impl<'de> Deserialize<'de> for &'static ArenaFacts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ArenaKind::deserialize(from).map(|kind| ARENAS[kind as usize])
    }
}
